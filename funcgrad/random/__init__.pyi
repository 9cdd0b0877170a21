# The public names of funcgrad.random. `__init__.py` loads each one from the module named here when it is first used.

from ._continuous import (
    cauchy as cauchy,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    multivariate_normal as multivariate_normal,
    normal as normal,
    truncated_normal as truncated_normal,
)
from ._discrete import categorical as categorical, choice as choice, permutation as permutation
from ._gamma import beta as beta, dirichlet as dirichlet, gamma as gamma, loggamma as loggamma, poisson as poisson
from ._keys import fold_in as fold_in, key as key, split as split
from ._uniform import (
    bernoulli as bernoulli,
    bits as bits,
    rademacher as rademacher,
    randint as randint,
    uniform as uniform,
)

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
