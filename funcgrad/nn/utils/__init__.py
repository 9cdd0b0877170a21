"""Clip gradients, exchange parameters with vectors, pack sequences, and parametrize or prune weights.

The names are those of ``torch.nn.utils``.
"""

from funcgrad._public import publish
from funcgrad.nn._deprecated import deprecated
from funcgrad.nn.utils import parametrizations, parametrize, prune, rnn
from funcgrad.nn.utils._clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from funcgrad.nn.utils._fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
    skip_init,
)
from funcgrad.nn.utils._norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from funcgrad.nn.utils._vectors import parameters_to_vector, vector_to_parameters

clip_grad_norm = deprecated(clip_grad_norm_, "torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad_norm_")

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

__dir__ = publish(__name__)
