"""A call of each function of ``jax.scipy``, and of each method of its distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.jax.rows.numpy import P, Row, S, V, X, Y, call, names

U = np.array([[0.2, 0.5, 0.7], [0.1, 0.9, 0.35]])
SIGNAL = np.sin(np.arange(64.0) * 0.7) + 0.1 * np.cos(np.arange(64.0))
WAVES = np.outer(np.sin(np.arange(9.0)), np.cos(np.arange(8.0)))
T = np.array([[2.0, 0.3, -0.1], [0.0, 1.5, 0.4], [0.0, 0.0, 0.7]])

_ONE = """dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit fresnel gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr
loggamma
logit logsumexp log_softmax ndtr ndtri sici softmax spence wofz"""
_TWO = "beta betaln boxcox boxcox1p gammainc gammaincc kl_div owens_t poch rel_entr xlog1py xlogy zeta"
SPECIAL: dict[str, Row] = {
    **{name: call(name, U) for name in names(_ONE)},
    **{name: call(name, U + 1, U) for name in names(_TWO)},
    "bernoulli": call("bernoulli", 6),
    "bessel_jn": call("bessel_jn", V, v=3),
    "betainc": call("betainc", P, P + 1, U),
    "comb": call("comb", np.array([5.0, 7.0]), np.array([2.0, 3.0])),
    "expn": call("expn", 2, U),
    "factorial": call("factorial", np.array([0.0, 3.0, 5.0])),
    "hyp1f1": call("hyp1f1", 1.5, 2.5, V),
    "hyp2f1": call("hyp2f1", 1.5, 0.5, 2.5, V[:2] / 2),
    "multigammaln": call("multigammaln", U + 3, 2),
    "polygamma": call("polygamma", 2, U),
    "sph_harm_y": lambda m: m.sph_harm_y(np.array([2]), np.array([1]), np.array([0.5]), np.array([0.3]), n_max=2),
}
_OF_SIZE = "dft hadamard helmert hilbert invhilbert invpascal"
LINALG: dict[str, Row] = {
    **{name: call(name, 4) for name in names(_OF_SIZE)},
    **{name: call(name, S) for name in names("det expm inv sqrtm")},
    **{name: call(name, V) for name in names("circulant companion fiedler fiedler_companion toeplitz hankel")},
    "block_diag": call("block_diag", S, X),
    "cho_factor": lambda m: m.cho_factor(S)[0][np.triu_indices(3)],
    "cho_solve": lambda m: m.cho_solve(m.cho_factor(S), V[:3]),
    "cholesky": call("cholesky", S, lower=True),
    "convolution_matrix": call("convolution_matrix", V, 3),
    "eigh": lambda m: (m.eigh(S)[0], abs(m.eigh(S)[1])),
    "eigh.skewed": call("eigh", S + T, eigvals_only=True),
    "cholesky.skewed": call("cholesky", S + T),
    "eigh_tridiagonal": call("eigh_tridiagonal", V, V[:3], eigvals_only=True),
    "expm_frechet": call("expm_frechet", S, T),
    "funm": lambda m: m.funm(T, lambda t: t**2),
    "hessenberg": lambda m: abs(m.hessenberg(S)),
    "leslie": call("leslie", V, V[:3]),
    "lu": call("lu", T + S),
    "lu_factor": call("lu_factor", T + S),
    "lu_solve": lambda m: m.lu_solve(m.lu_factor(T + S), V[:3]),
    # JAX computes it in float32.
    "pascal": lambda m: np.round(np.asarray(m.pascal(4), float)),
    "polar": call("polar", T),
    "qr": lambda m: [abs(each) for each in m.qr(T + S)],
    "qr_multiply": lambda m: [abs(each) for each in m.qr_multiply(T + S, X, mode="right")],
    "rsf2csf": lambda m: [abs(each) for each in m.rsf2csf(T, np.eye(3))],
    "schur": lambda m: [abs(each) for each in m.schur(S)],
    "solve": call("solve", S, V[:3]),
    "solve_sylvester": call("solve_sylvester", S, T, X.T @ Y),
    "solve_triangular": call("solve_triangular", T, V[:3], trans=1),
    "svd": lambda m: [abs(each) for each in m.svd(X, full_matrices=False)],
}
SIGNALS: dict[str, Row] = {
    "convolve": call("convolve", SIGNAL, V, mode="same"),
    "convolve2d": call("convolve2d", WAVES, X),
    "correlate": call("correlate", SIGNAL, V, mode="valid"),
    "correlate2d": call("correlate2d", WAVES, X),
    "csd": call("csd", SIGNAL, SIGNAL**2, nperseg=16),
    "detrend": call("detrend", SIGNAL),
    "fftconvolve": call("fftconvolve", SIGNAL, V),
    "istft": lambda m: m.istft(m.stft(SIGNAL, nperseg=16)[2], nperseg=16),
    "stft": call("stft", SIGNAL, nperseg=16),
    "welch": call("welch", SIGNAL, nperseg=16),
}
GRID = np.linspace(0.0, 1.0, 9), np.linspace(-1.0, 1.0, 8)
OTHERS: dict[str, dict[str, Row]] = {
    "fft": {name: call(name, WAVES) for name in names("dct dctn idct idctn")},
    "integrate": {"trapezoid": call("trapezoid", SIGNAL, dx=0.1)},
    "interpolate": {
        "RegularGridInterpolator": lambda m: m.RegularGridInterpolator(GRID, WAVES)(
            np.array([[0.21, 0.35], [0.8, -0.4]])
        )
    },
    "ndimage": {
        "map_coordinates": call("map_coordinates", WAVES, [np.array([1.5, 3.2]), np.array([0.7, 5.1])], order=1)
    },
    "optimize": {
        "minimize": lambda m: (
            m.minimize(lambda x: ((x - 1.5) ** 2).sum() + x[0] * x[1], np.ones(2), method="BFGS", tol=1e-10).x
        )
    },
}


def _methods(name: str, x: Any, *shapes: Any) -> dict[str, Row]:
    """Return a row for each method of a distribution of JAX, at points and with shape parameters."""
    return {
        f"{name}.{method}": (lambda m, method=method: getattr(getattr(m, name), method)(x, *shapes))
        for method in METHODS[name]
    }


_CONTINUOUS = names("cdf logcdf logpdf logsf pdf sf")
_WITH_QUANTILES = [*_CONTINUOUS, *names("isf ppf")]
_DENSITY = names("logpdf pdf")
METHODS: dict[str, list[str]] = {
    "bernoulli": names("cdf logpmf pmf"),
    "betabinom": names("logpmf pmf"),
    "binom": names("logpmf pmf"),
    "geom": names("logpmf pmf"),
    "multinomial": names("logpmf pmf"),
    "nbinom": names("logpmf pmf"),
    "poisson": names("cdf logpmf pmf"),
    "beta": _CONTINUOUS,
    "cauchy": _WITH_QUANTILES,
    "chi2": _CONTINUOUS,
    "dirichlet": _DENSITY,
    "expon": [*_CONTINUOUS, "ppf"],
    "gamma": _CONTINUOUS,
    "gumbel_l": [*_CONTINUOUS, "ppf"],
    "gumbel_r": [*_CONTINUOUS, "ppf"],
    "laplace": names("cdf logpdf pdf"),
    "logistic": names("cdf isf logpdf pdf ppf sf"),
    "multivariate_normal": _DENSITY,
    "norm": _WITH_QUANTILES,
    "pareto": [*_CONTINUOUS, "ppf"],
    "t": _DENSITY,
    "truncnorm": _CONTINUOUS,
    "uniform": names("cdf logpdf pdf ppf"),
    "vonmises": _DENSITY,
}
COUNTS = np.array([0, 1, 3])
SPARSE: dict[str, Row] = {
    "bicgstab": lambda m: m.bicgstab(lambda x: S @ x, V[:3], tol=1e-10)[0],
    "cg": lambda m: m.cg(S, V[:3], tol=1e-10)[0],
    "gmres": lambda m: m.gmres(lambda x: S @ x, V[:3], tol=1e-10)[0],
}
CLUSTERS: dict[str, Row] = {"vq": call("vq", X.T, X.T[:2] + 0.1)}
SAMPLE = np.sin(np.arange(16.0) ** 2).reshape(2, 8)
KEY = np.array([0, 7], np.uint32)
STATS: dict[str, Row] = {
    **_methods("bernoulli", np.array([0, 1, 1]), 0.3),
    "bernoulli.ppf": lambda m: m.bernoulli.ppf(np.array([0.2, 0.8]), 0.3),
    **_methods("betabinom", COUNTS, 5, 1.5, 2.5),
    **_methods("binom", COUNTS, 5, 0.3),
    **_methods("geom", COUNTS + 1, 0.3),
    **_methods("multinomial", COUNTS, 4, np.array([0.2, 0.5, 0.3])),
    **_methods("nbinom", COUNTS, 3, 0.4),
    **_methods("poisson", COUNTS, 1.7),
    **_methods("beta", U, 1.5, 2.5),
    **_methods("cauchy", U, 0.1, 2.0),
    **_methods("chi2", U, 3.0),
    **_methods("dirichlet", np.array([0.2, 0.5, 0.3]), np.array([1.5, 2.5, 0.8])),
    **_methods("expon", U, 0.1, 2.0),
    **_methods("gamma", U, 1.5, 0.0, 2.0),
    **_methods("gumbel_l", U, 0.1, 2.0),
    **_methods("gumbel_r", U, 0.1, 2.0),
    **_methods("laplace", U, 0.1, 2.0),
    **_methods("logistic", U, 0.1, 2.0),
    **_methods("multivariate_normal", X, V[:3], S),
    **_methods("norm", U, 0.1, 2.0),
    **_methods("pareto", U + 1, 2.5),
    **_methods("t", U, 3.0, 0.1, 2.0),
    **_methods("truncnorm", U, -1.0, 2.0),
    **_methods("uniform", U, 0.1, 2.0),
    **_methods("vonmises", U, 1.5),
    "gennorm.logpdf": lambda m: m.gennorm.logpdf(U, 1.3),
    "gennorm.cdf": lambda m: m.gennorm.cdf(U, 1.3),
    "wrapcauchy.pdf": lambda m: m.wrapcauchy.pdf(U, 0.3),
    "mode": call("mode", np.array([[1, 2, 2], [3, 3, 1]]), axis=1),
    "rankdata": call("rankdata", V),
    "rankdata.method": call("rankdata", np.array([3.0, 1.0, 1.0, 2.0]), method="min"),
    "gaussian_kde": lambda m: m.gaussian_kde(SAMPLE)(X[:, :2].T[:, :2]),
    "gaussian_kde.logpdf": lambda m: m.gaussian_kde(SAMPLE, "silverman", np.arange(1.0, 9.0)).logpdf(np.ones((2, 3))),
    "gaussian_kde.integrals": lambda m: [
        m.gaussian_kde(SAMPLE).integrate_gaussian(np.zeros(2), np.eye(2)),
        m.gaussian_kde(SAMPLE).integrate_kde(m.gaussian_kde(2 * SAMPLE)),
        m.gaussian_kde(SAMPLE[0], 0.3).integrate_box_1d(-1.0, 0.5),
    ],
    "gaussian_kde.resample": lambda m: m.gaussian_kde(SAMPLE, lambda k: k.neff**-0.2).resample(KEY, (3,)),
    "sem": call("sem", X),
}
