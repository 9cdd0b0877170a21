"""Rows for ``funcgrad._ops.elementwise.special``."""

import numpy as np

from funcgrad._ops.elementwise.special import (
    bessel,
    beta,
    complexes,
    elliptic,
    entropy,
    gamma,
    hypergeometric,
    incomplete,
    integrals,
    normal,
    polynomials,
    power,
    skewed,
    students,
)
from funcgrad._ops.elementwise.special.beta_slope import betainc_slope_p
from tests.laws.rows._row import Row


def _fractions(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.uniform(0.2, 0.8, shape).astype(dtype)


def _between_poles(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.uniform(0.3, 0.7, shape) + rng.integers(-3, 1, shape)).astype(dtype)


def _far_left(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.uniform(-40, -2, shape).astype(dtype)


def _far_right(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.uniform(10.5, 60, shape).astype(dtype)


ORDERS = np.array([[0.5], [2.25]])
DEGREES = np.array([[0.0], [3.0]])
WITH_PARAMETER = (polynomials.eval_gegenbauer_p, polynomials.eval_genlaguerre_p)
POLYNOMIALS = (
    polynomials.eval_legendre_p,
    polynomials.eval_chebyt_p,
    polynomials.eval_chebyu_p,
    polynomials.eval_hermite_p,
    polynomials.eval_hermitenorm_p,
    polynomials.eval_laguerre_p,
)
FRACTIONS = np.array([0.2, 0.7, 0.4])
PARAMETERS = np.array([[1.5, 0.7, 4.0], [2.0, 9.0, 0.3]])
GAMMAS = (incomplete.gammainc_p, incomplete.gammaincc_p, incomplete.gammaincinv_p, incomplete.gammainccinv_p)
SKEWED = (skewed.skewed_ndtr_p, skewed.log_skewed_ndtr_p, skewed.skewed_ratio_p)
BETAS = (beta.betainc_p, beta.betaincc_p, beta.betaincinv_p, beta.betainccinv_p)
BY_PARAMETER = "the second derivative by a parameter is refused; tests/scipy/special holds the first"
# SciPy computes these in double precision alone.
DOUBLE = ("float64", "complex128")
BY_FIRST = "the derivative is refused"

GAMMAS_OF_COMPLEX = (complexes.complex_gamma_p, complexes.complex_loggamma_p, complexes.complex_rgamma_p)
BY_COMPLEX = "the second derivative is refused; tests/scipy/test_special_complex.py holds the first"

ROWS = [
    Row(complexes.wofz_p, ((2, 3),), complex="only"),
    *[Row(p, ((2, 3),), complex="only", elsewhere=BY_COMPLEX) for p in GAMMAS_OF_COMPLEX],
    Row(complexes.complex_digamma_p, ((2, 3),), complex="only", elsewhere=BY_FIRST),
    *[Row(p, ((2, 3),)) for p in (normal.erfc_p, normal.ndtr_p, bessel.i0_p, bessel.i1_p)],
    *[Row(p, ((2, 3),), sample="positive", name="positive") for p in (bessel.i0e_p, bessel.i1e_p)],
    Row(normal.erfinv_p, ((2, 3),), sample="unit"),
    Row(normal.erfc_p, ((),), name="scalar"),
    Row(normal.ndtri_p, ((2, 3),), sample=_fractions),
    Row(beta.betaln_p, ((2, 1), (3,)), sample="positive"),
    Row(gamma.log_rising_p, ((2, 1), (3,)), sample="positive"),
    Row(entropy.logit_p, ((2, 3),), sample=_fractions),
    Row(gamma.gammaln_p, ((2, 3),), sample="positive"),
    Row(gamma.digamma_p, ((2, 3),), sample="positive"),
    Row(gamma.polygamma_p, ((2, 3),), {"order": 1}, sample="above_one"),
    Row(gamma.polygamma_p, ((2, 3),), {"order": 2}, sample="above_one", name="second"),
    Row(gamma.polygamma_p, ((2, 3),), {"order": 2}, sample=_between_poles, name="below zero"),
    Row(gamma.gamma_p, ((2, 3),), sample="positive"),
    Row(gamma.gamma_p, ((2, 3),), sample=_between_poles, name="between poles"),
    Row(entropy.xlogy_p, ((2, 3), (2, 3)), sample="positive"),
    Row(entropy.xlogy_p, ((2, 1), (3,)), sample="positive", name="broadcast"),
    Row(entropy.xlog1py_p, ((2, 3), (2, 3)), sample="positive"),
    Row(entropy.entr_p, ((2, 3),), sample="positive"),
    *[Row(p, ((2, 3), (2, 3)), sample="positive") for p in (power.boxcox_p, power.boxcox1p_p, power.inv_boxcox_p)],
    *[Row(p, ((2, 1), (3,)), sample="positive") for p in (power.inv_boxcox1p_p, power.rel_entr_p, power.kl_div_p)],
    Row(power.pseudo_huber_p, ((2, 3), (2, 3)), sample="positive"),
    *[Row(p, ((2, 3),)) for p in (normal.erfcx_p, normal.erfi_p, normal.dawsn_p, normal.log_ndtr_p)],
    *[Row(p, ((2, 3),)) for p in (entropy.exprel_p, entropy.cosm1_p, bessel.j0_p, bessel.j1_p, gamma.rgamma_p)],
    Row(normal.log_ndtr_p, ((2, 3),), sample=_far_left, name="far left"),
    Row(normal.erfcx_p, ((2, 3),), sample=_far_right, name="far right"),
    Row(normal.dawsn_p, ((2, 3),), sample=_far_right, name="far right"),
    Row(normal.erfcinv_p, ((2, 3),), sample=_fractions),
    Row(normal.ndtri_exp_p, ((2, 3),), sample=_far_left),
    *[Row(p, ((2, 3),), sample="positive") for p in (bessel.y0_p, bessel.y1_p, bessel.k0_p, bessel.k1_p)],
    *[Row(p, ((2, 3),), sample="positive") for p in (bessel.k0e_p, bessel.k1e_p, integrals.exp1_p, integrals.expi_p)],
    *[Row(p, (ORDERS, (3,)), sample="positive") for p in (bessel.jv_p, bessel.yv_p, bessel.iv_p, bessel.ive_p)],
    *[Row(p, (ORDERS, (3,)), sample="positive") for p in (bessel.kv_p, bessel.kve_p, hypergeometric.hyp0f1_p)],
    Row(integrals.expn_p, (np.array([[0.0], [3.0]]), (3,)), sample="positive"),
    Row(integrals.spence_p, ((2, 3),), sample="positive"),
    Row(gamma.riemann_zeta_p, (np.array([1.5, 4.0]),), elsewhere=BY_FIRST),
    Row(gamma.zeta_p, (np.array([[1.5], [4.0]]), (3,)), sample="positive"),
    Row(beta.beta_p, ((2, 1), (3,)), sample="positive"),
    Row(beta.binom_p, ((2, 1), (3,)), sample="positive"),
    *[Row(p, ((2, 3), (3,)), sample="positive", elsewhere=BY_PARAMETER) for p in GAMMAS[:2]],
    *[Row(p, (PARAMETERS, (3,)), sample=_fractions, name="inverse") for p in GAMMAS],
    *[Row(p, (PARAMETERS, PARAMETERS[:, :1], (3,)), sample=_fractions) for p in BETAS],
    Row(betainc_slope_p, (PARAMETERS, PARAMETERS[:, :1], FRACTIONS), {"of": "a"}, elsewhere=BY_PARAMETER),
    *[Row(p, ((2, 3),), sample=_fractions) for p in (elliptic.ellipk_p, elliptic.ellipkm1_p, elliptic.ellipe_p)],
    Row(elliptic.elliptic_difference_p, ((2, 3),), sample=_fractions),
    Row(students.stdtr_p, (ORDERS, (3,)), name="by the point"),
    Row(students.stdtr_p, ((2, 1), (3,)), sample="positive", elsewhere=BY_PARAMETER),
    Row(students.stdtrit_p, (ORDERS, (3,)), sample=_fractions),
    Row(polynomials.eval_jacobi_p, (DEGREES, ORDERS, ORDERS + 1, (3,)), sample="unit"),
    *[Row(p, (DEGREES, ORDERS, (3,)), sample="unit") for p in WITH_PARAMETER],
    *[Row(p, (DEGREES, (3,)), sample="unit") for p in POLYNOMIALS],
    *[Row(p, ((2, 3), np.array([0.2, -1.5, 0.7]))) for p in (elliptic.ellipkinc_p, elliptic.ellipeinc_p)],
    Row(students.owens_t_p, ((2, 1), (3,))),
    *[Row(p, ((2, 1), (3,)), dtypes=DOUBLE) for p in SKEWED],
    Row(normal.normal_log_density_p, ((2, 3), (3,), (2, 1)), sample="positive"),
    Row(hypergeometric.hyp1f1_p, (ORDERS, ORDERS + 1, (3,))),
    Row(hypergeometric.hyp2f1_p, (ORDERS, ORDERS + 1, ORDERS + 2, (3,)), sample=_fractions),
    Row(hypergeometric.hyperu_p, (ORDERS, ORDERS + 1, (3,)), sample="positive"),
    Row(hypergeometric.lambertw_p, ((2, 3), np.array([0, 1, -1])), {"tol": 1e-8}, complex="only", dtypes=DOUBLE),
    Row(
        hypergeometric.sph_harm_y_p,
        (np.array([[2], [3]]), np.array([-1, 0, 2]), (3,), (3,)),
        sample="positive",
        dtypes=DOUBLE,
    ),
]
