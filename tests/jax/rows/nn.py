"""A call of each function of ``jax.nn``, ``jax.nn.initializers`` and ``jax.random``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.jax.rows.numpy import B, P, Row, S, V, X, call, names

Q = np.sin(np.arange(2 * 5 * 4 * 3.0)).reshape(2, 5, 4, 3)
K = np.cos(np.arange(2 * 6 * 2 * 3.0)).reshape(2, 6, 2, 3)
W = np.cos(1 + np.arange(2 * 6 * 2 * 3.0)).reshape(2, 6, 2, 3)
WIDE = np.linspace(-8.0, 8.0, 12).reshape(3, 4)

_ELEMENTWISE = names(
    """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish relu relu6 selu
    sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh log_softmax softmax logsumexp
    logmeanexp standardize glu"""
)
ROWS: dict[str, Row] = {
    **{name: call(name, WIDE) for name in _ELEMENTWISE},
    "gelu.exact": call("gelu", WIDE, approximate=False),
    "log1mexp": call("log1mexp", np.array([1e-9, 0.1, 0.6931, 0.7, 40.0])),
    "one_hot": call("one_hot", np.array([0, 2, 5, -1]), 4),
    "one_hot.axis": call("one_hot", np.array([[0, 2]]), 4, axis=0, dtype=np.int32),
    "softmax.where": call("softmax", X, where=B),
    "log_softmax.where": call("log_softmax", X, where=B),
    "logsumexp.where": call("logsumexp", X, axis=1, where=B, keepdims=True),
    "logsumexp.sign": call("logsumexp", X, axis=0, b=X, return_sign=True),
    "logmeanexp.where": call("logmeanexp", X, axis=1, where=B),
    "standardize.where": call("standardize", X, axis=1, where=B, epsilon=0.1),
    "dot_product_attention": call("dot_product_attention", Q, K, W),
    "dot_product_attention.masked": call(
        "dot_product_attention", Q, K, W, np.ones((1, 1, 5, 6)), Q[:, :1, 0, :1, None] < 0.9, scale=0.3, is_causal=True
    ),
    "dot_product_attention.lengths": call(
        "dot_product_attention",
        *(Q, K, W),
        query_seq_lengths=np.array([3, 5], np.int32),
        key_value_seq_lengths=np.array([4, 6], np.int32),
    ),
    "dot_product_attention.window": call("dot_product_attention", Q[0], K[0], W[0], local_window_size=(1, 2)),
}


def _initialized(make: Any, *args: Any, shape: tuple[int, ...] = (4, 6), **options: Any) -> Row:
    return lambda m: getattr(m, make)(*args, **options)(np.array([0, 7], np.uint32), shape)


_SCALED = names(
    """glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform
    xavier_normal xavier_uniform normal truncated_normal uniform orthogonal"""
)
INITIALIZERS: dict[str, Row] = {
    **{name: _initialized(name) for name in _SCALED},
    "constant": _initialized("constant", 3.5),
    "delta_orthogonal": _initialized("delta_orthogonal", shape=(3, 3, 2, 4)),
    "variance_scaling": _initialized(
        "variance_scaling", 2.0, "fan_geo_avg", "normal", in_axis=1, out_axis=0, shape=(4, 6, 2)
    ),
    "variance_scaling.float32": _initialized("variance_scaling", 2.0, "fan_out", "uniform", dtype=np.float32),
    "ones": call("ones", None, (2, 3)),
    "zeros": call("zeros", None, (2, 3)),
}

KEY = np.array([0, 7], np.uint32)
_SHAPED = names("""bits cauchy exponential gumbel laplace logistic maxwell normal rademacher uniform""")
RANDOM: dict[str, Row] = {
    **{name: call(name, KEY, (3, 2)) for name in _SHAPED},
    "PRNGKey": call("PRNGKey", 42),
    "ball": call("ball", KEY, 3, shape=(2,)),
    "bernoulli": call("bernoulli", KEY, 0.3, (5,)),
    "beta": call("beta", KEY, P, P + 1),
    "binomial": call("binomial", KEY, 10.0, 0.3, (4,)),
    "categorical": call("categorical", KEY, X, axis=1),
    "chisquare": call("chisquare", KEY, P),
    "choice": call("choice", KEY, V, (3,), replace=False),
    "clone": call("clone", KEY),
    "dirichlet": call("dirichlet", KEY, P[0]),
    "double_sided_maxwell": call("double_sided_maxwell", KEY, 0.5, 2.0, (3,)),
    "f": call("f", KEY, 3.0, 4.0, (3,)),
    "fold_in": call("fold_in", KEY, 5),
    "gamma": call("gamma", KEY, P),
    "generalized_normal": call("generalized_normal", KEY, 1.5, (3,)),
    "geometric": call("geometric", KEY, 0.3, (4,)),
    "key": lambda m: m.key_data(m.key(42)),
    "key_data": lambda m: m.key_data(m.split(m.key(1), 3)),
    "loggamma": call("loggamma", KEY, P),
    "lognormal": call("lognormal", KEY, 0.7, (3,)),
    "multinomial": call("multinomial", KEY, 10.0, np.array([0.2, 0.5, 0.3])),
    "multivariate_normal": call("multivariate_normal", KEY, V[:3], S, (2,)),
    "orthogonal": call("orthogonal", KEY, 3),
    "pareto": call("pareto", KEY, 2.5, (3,)),
    "permutation": call("permutation", KEY, V),
    "poisson": call("poisson", KEY, 3.0, (4,)),
    "randint": call("randint", KEY, (5,), 0, 10),
    "rayleigh": call("rayleigh", KEY, 2.0, (3,)),
    "split": call("split", KEY, 3),
    "t": call("t", KEY, 3.0, (3,)),
    "triangular": call("triangular", KEY, 0.0, 0.3, 1.0, (3,)),
    "truncated_normal": call("truncated_normal", KEY, -1.0, 2.0, (3,)),
    "wald": call("wald", KEY, 1.5, (3,)),
    "weibull_min": call("weibull_min", KEY, 2.0, 1.5, (3,)),
    "wrap_key_data": lambda m: m.normal(m.wrap_key_data(KEY), (2,)),
}
