"""``scipy.stats`` for arrays of either engine and for tracers: densities, distribution functions, quantiles, moments.

Distributions have SciPy's names, arguments and values, in double precision, frozen or not:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.scipy.stats import norm
    >>> x = np.array([0.5, 1.5, 2.5])
    >>> fg.grad(lambda m, s: np.sum(norm.logpdf(x, m, s)), (0, 1))(1.5, 1.0)
    (np.float64(0.0), np.float64(-1.0))
    >>> float(norm(loc=1.0, scale=2.0).cdf(1.0))
    0.5

Outside of a support a density is 0 and its logarithm minus infinity, with a derivative of 0; parameters that are not
allowed give NaN. Samples are in ``funcgrad.random``.
"""

from funcgrad._public import publish
from funcgrad.scipy.stats._base import INSTEAD as INSTEAD
from funcgrad.scipy.stats._bounded import beta, loguniform, powerlaw, truncnorm, uniform
from funcgrad.scipy.stats._discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from funcgrad.scipy.stats._estimates import bayes_mvs, boxcox_llf, siegelslopes, weightedtau
from funcgrad.scipy.stats._half import (
    chi,
    chi2,
    expon,
    exponweib,
    f,
    gamma,
    genpareto,
    halfcauchy,
    halfnorm,
    invgamma,
    lognorm,
    pareto,
    rayleigh,
    weibull_max,
    weibull_min,
)
from funcgrad.scipy.stats._hypotheses import f_oneway, kendalltau, shapiro
from funcgrad.scipy.stats._lifetimes import (
    burr12,
    fisk,
    gengamma,
    gompertz,
    invgauss,
    levy,
    lomax,
    maxwell,
    nakagami,
)
from funcgrad.scipy.stats._line import (
    cauchy,
    genextreme,
    genlogistic,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    moyal,
    norm,
    skewnorm,
    t,
    vonmises,
)
from funcgrad.scipy.stats._loggamma import loggamma
from funcgrad.scipy.stats._multivariate import (
    dirichlet,
    multinomial,
    multivariate_normal,
    multivariate_t,
    wishart,
)
from funcgrad.scipy.stats._samples import iqr, pearsonr, spearmanr

__all__ = [
    "bayes_mvs",
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "boxcox_llf",
    "burr12",
    "cauchy",
    "chi",
    "chi2",
    "dirichlet",
    "expon",
    "exponweib",
    "f",
    "f_oneway",
    "fisk",
    "gamma",
    "genextreme",
    "gengamma",
    "genlogistic",
    "genpareto",
    "geom",
    "gompertz",
    "gumbel_l",
    "gumbel_r",
    "halfcauchy",
    "halfnorm",
    "invgamma",
    "invgauss",
    "iqr",
    "kendalltau",
    "laplace",
    "levy",
    "loggamma",
    "logistic",
    "lognorm",
    "loguniform",
    "lomax",
    "maxwell",
    "moyal",
    "multinomial",
    "multivariate_normal",
    "multivariate_t",
    "nakagami",
    "nbinom",
    "norm",
    "pareto",
    "pearsonr",
    "poisson",
    "powerlaw",
    "rayleigh",
    "shapiro",
    "siegelslopes",
    "skewnorm",
    "spearmanr",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "weibull_max",
    "weibull_min",
    "weightedtau",
    "wishart",
]

# SciPy's own function of this name compares, so it takes traced values element by element.
TAKE_ELEMENTS = frozenset({"kendalltau"})

__dir__ = publish(__name__)
