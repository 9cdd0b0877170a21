"""Activation functions, attention and normalization with the defaults of ``jax.nn``, and `initializers`."""

from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.nn import initializers as initializers

# fmt: off
from funcgrad.jax.nn._functions import (
    celu as celu, dot_product_attention as dot_product_attention, elu as elu, gelu as gelu, glu as glu,
    hard_sigmoid as hard_sigmoid, hard_silu as hard_silu, hard_silu as hard_swish, hard_tanh as hard_tanh,
    identity as identity, leaky_relu as leaky_relu, log1mexp as log1mexp, log_sigmoid as log_sigmoid,
    log_softmax as log_softmax, logmeanexp as logmeanexp, logsumexp as logsumexp, mish as mish, one_hot as one_hot,
    relu6 as relu6, selu as selu, silu as silu, silu as swish, soft_sign as soft_sign, softmax as softmax,
    softplus as softplus, sparse_plus as sparse_plus, sparse_sigmoid as sparse_sigmoid, squareplus as squareplus,
    standardize as standardize,
)
from funcgrad.nn import relu as relu, sigmoid as sigmoid, tanh as tanh
# fmt: on

__dir__, __getattr__ = _publish(__name__)
