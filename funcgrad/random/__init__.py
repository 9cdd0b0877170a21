"""Random numbers from explicit keys, with the bits of ``jax.random``: on NumPy without JAX, under every transform.

A key is an array, ``uint32[2]``; the same key gives the same numbers on every engine, eagerly and compiled. dtypes
default to float64 and int64, as ``jax.random``'s do in JAX's 64-bit mode.
"""

from funcgrad._public import publish
from funcgrad.random._continuous import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    multivariate_normal,
    normal,
    truncated_normal,
)
from funcgrad.random._discrete import categorical, choice, permutation
from funcgrad.random._gamma import beta, dirichlet, gamma, loggamma, poisson
from funcgrad.random._keys import fold_in, key, split
from funcgrad.random._uniform import bernoulli, bits, rademacher, randint, uniform

__all__ = [
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "gumbel",
    "key",
    "laplace",
    "loggamma",
    "multivariate_normal",
    "normal",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
]

__dir__ = publish(__name__)
