"""Distributions and statistics: those of ``funcgrad.scipy.stats``, with JAX's arrays."""

from __future__ import annotations

from typing import Any

from funcgrad.jax._array import arrays, with_arrays
from funcgrad.jax._bridge import of_jax
from funcgrad.jax._names import publish_as_jax
from funcgrad.jax.scipy._density import gaussian_kde
from funcgrad.scipy import stats

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]


class Distribution:
    """A distribution of ``funcgrad.scipy.stats``, whose methods take and return JAX's arrays."""

    def __init__(self, name: str) -> None:
        self._found = getattr(stats, name)
        self.__doc__ = f"``jax.scipy.stats.{name}``: the distribution ``funcgrad.scipy.stats.{name}``."

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        value = getattr(self._found, method)
        return with_arrays(value) if callable(value) else arrays(value)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._found) if not name.startswith("_")]


class DistributionOfJax:
    """A distribution of ``jax.scipy.stats``, whose functions are JAX's own."""

    def __init__(self, name: str, methods: dict[str, tuple[str, ...]]) -> None:
        self.__doc__ = f"``jax.scipy.stats.{name}``: JAX's own."
        self._methods = {key: with_arrays(of_jax(f"scipy.stats.{name}.{key}", *args)) for key, args in methods.items()}

    def __getattr__(self, method: str) -> Any:
        if method in vars(self).get("_methods", {}):
            return self._methods[method]
        raise AttributeError(f"{self.__doc__} It has no {method!r}; there are {', '.join(self.__dir__())}.")

    def __dir__(self) -> list[str]:
        return sorted(vars(self).get("_methods", {}))


bernoulli = Distribution("bernoulli")
beta = Distribution("beta")
betabinom = Distribution("betabinom")
binom = Distribution("binom")
cauchy = Distribution("cauchy")
chi2 = Distribution("chi2")
dirichlet = Distribution("dirichlet")
expon = Distribution("expon")
gamma = Distribution("gamma")
geom = Distribution("geom")
gumbel_l = Distribution("gumbel_l")
gumbel_r = Distribution("gumbel_r")
laplace = Distribution("laplace")
logistic = Distribution("logistic")
multinomial = Distribution("multinomial")
multivariate_normal = Distribution("multivariate_normal")
nbinom = Distribution("nbinom")
norm = Distribution("norm")
pareto = Distribution("pareto")
poisson = Distribution("poisson")
t = Distribution("t")
truncnorm = Distribution("truncnorm")
uniform = Distribution("uniform")
vonmises = Distribution("vonmises")
# JAX's own functions.
gennorm = DistributionOfJax("gennorm", dict.fromkeys(("cdf", "logpdf", "pdf"), ("x", "beta")))
wrapcauchy = DistributionOfJax("wrapcauchy", dict.fromkeys(("logpdf", "pdf"), ("x", "c")))
mode = of_jax("scipy.stats.mode", "a")
rankdata = of_jax("scipy.stats.rankdata", "a")
sem = of_jax("scipy.stats.sem", "a")

__dir__, __getattr__ = publish_as_jax(__name__)
