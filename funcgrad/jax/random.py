"""Random numbers by keys, with the bits of ``jax.random`` in 64-bit mode.

A key is an array ``uint32[2]``. Samplers that ``funcgrad.random`` lacks are JAX's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array, ArrayLike, DTypeLike, Key, ShapeLike
from funcgrad.jax._bridge import of_jax
from funcgrad.jax._names import publish_as_jax
from funcgrad.random import (
    bernoulli,
    beta,
    categorical,
    cauchy,
    choice,
    dirichlet,
    exponential,
    fold_in,
    gamma,
    gumbel,
    laplace,
    loggamma,
    multivariate_normal,
    normal,
    permutation,
    poisson,
    rademacher,
    randint,
    split,
    truncated_normal,
    uniform,
)
from funcgrad.random import bits as _bits
from funcgrad.random import key as _key

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]


def key(seed: ArrayLike, *, impl: str | None = None) -> Array:
    """``jax.random.key``: a key for a seed, as an array ``uint32[2]``."""
    if impl not in (None, "threefry2x32"):
        raise ValueError(f'key: impl is {impl!r}; funcgrad has the generator "threefry2x32" alone. Leave impl out.')
    return _key(seed)


def PRNGKey(seed: ArrayLike, *, impl: str | None = None) -> Array:  # noqa: N802  (JAX's name)
    """``jax.random.PRNGKey``: a key for a seed, as an array ``uint32[2]``."""
    return key(seed, impl=impl)


def key_data(keys: Key) -> Array:
    """``jax.random.key_data``: the numbers of a key, which is the key itself."""
    return keys


def wrap_key_data(key_bits_array: ArrayLike, *, impl: str | None = None) -> Any:
    """``jax.random.wrap_key_data``: the key of these numbers, which they are themselves."""
    key(0, impl=impl)
    return key_bits_array


def clone(key: Key) -> Any:
    """``jax.random.clone``: the same key."""
    return key


def bits(key: Key, shape: ShapeLike = (), dtype: DTypeLike = None) -> Any:
    """``jax.random.bits``: random bits, of 64-bit integers unless asked otherwise."""
    return _bits(key, shape, np.uint64 if dtype is None else dtype)


def _sampler(name: str, *arrays: str) -> Callable[..., Any]:
    return of_jax(f"random.{name}", "key", *arrays)


ball = _sampler("ball")
binomial = _sampler("binomial", "n", "p")
chisquare = _sampler("chisquare", "df")
double_sided_maxwell = _sampler("double_sided_maxwell", "loc", "scale")
f = _sampler("f", "dfnum", "dfden")
generalized_normal = _sampler("generalized_normal")
geometric = _sampler("geometric", "p")
logistic = _sampler("logistic")
lognormal = _sampler("lognormal", "sigma")
maxwell = _sampler("maxwell")
multinomial = _sampler("multinomial", "n", "p")
orthogonal = _sampler("orthogonal")
pareto = _sampler("pareto", "b")
rayleigh = _sampler("rayleigh", "scale")
t = _sampler("t", "df")
triangular = _sampler("triangular", "left", "mode", "right")
wald = _sampler("wald", "mean")
weibull_min = _sampler("weibull_min", "scale", "concentration")

__dir__, __getattr__ = publish_as_jax(__name__)
