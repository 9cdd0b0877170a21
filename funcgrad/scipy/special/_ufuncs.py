"""Functions that are one primitive each, under the names of SciPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise import transcendental as elementary
from funcgrad._ops.elementwise.activation import erf_p
from funcgrad._ops.elementwise.rounding import trunc_p
from funcgrad._ops.elementwise.special import (
    bessel,
    complexes,
    elliptic,
    entropy,
    hypergeometric,
    incomplete,
    integrals,
    normal,
    polynomials,
    students,
)
from funcgrad._ops.elementwise.special import (
    beta as beta_,
)
from funcgrad._ops.elementwise.special import (
    gamma as gamma_,
)
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value, dtype_of
from funcgrad.scipy.special._declare import found_by, of_ufunc, real

erf = of_ufunc("erf", erf_p)
erfc = of_ufunc("erfc", normal.erfc_p)
erfcx = of_ufunc("erfcx", normal.erfcx_p)
erfi = of_ufunc("erfi", normal.erfi_p)
erfinv = of_ufunc("erfinv", normal.erfinv_p)
erfcinv = of_ufunc("erfcinv", normal.erfcinv_p)
dawsn = of_ufunc("dawsn", normal.dawsn_p)
ndtr = of_ufunc("ndtr", normal.ndtr_p)
ndtri = of_ufunc("ndtri", normal.ndtri_p)
ndtri_exp = of_ufunc("ndtri_exp", normal.ndtri_exp_p)
log_ndtr = of_ufunc("log_ndtr", normal.log_ndtr_p)
gamma = of_ufunc("gamma", gamma_.gamma_p, complexes.complex_gamma_p)
gammaln = of_ufunc("gammaln", gamma_.gammaln_p)
rgamma = of_ufunc("rgamma", gamma_.rgamma_p, complexes.complex_rgamma_p)
beta = of_ufunc("beta", beta_.beta_p)
betaln = of_ufunc("betaln", beta_.betaln_p)
betainc = of_ufunc("betainc", beta_.betainc_p)
betaincc = of_ufunc("betaincc", beta_.betaincc_p)
betaincinv = of_ufunc("betaincinv", beta_.betaincinv_p)
betainccinv = of_ufunc("betainccinv", beta_.betainccinv_p)
binom = of_ufunc("binom", beta_.binom_p)
gammainc = of_ufunc("gammainc", incomplete.gammainc_p)
gammaincc = of_ufunc("gammaincc", incomplete.gammaincc_p)
gammaincinv = of_ufunc("gammaincinv", incomplete.gammaincinv_p)
gammainccinv = of_ufunc("gammainccinv", incomplete.gammainccinv_p)
expit = of_ufunc("expit", elementary.logistic_p)
logit = of_ufunc("logit", entropy.logit_p)
xlogy = of_ufunc("xlogy", entropy.xlogy_p)
xlog1py = of_ufunc("xlog1py", entropy.xlog1py_p)
entr = of_ufunc("entr", entropy.entr_p)
exprel = of_ufunc("exprel", entropy.exprel_p)
cosm1 = of_ufunc("cosm1", entropy.cosm1_p)
i0 = of_ufunc("i0", bessel.i0_p)
i0e = of_ufunc("i0e", bessel.i0e_p)
i1 = of_ufunc("i1", bessel.i1_p)
i1e = of_ufunc("i1e", bessel.i1e_p)
j0 = of_ufunc("j0", bessel.j0_p)
j1 = of_ufunc("j1", bessel.j1_p)
y0 = of_ufunc("y0", bessel.y0_p)
y1 = of_ufunc("y1", bessel.y1_p)
k0 = of_ufunc("k0", bessel.k0_p)
k0e = of_ufunc("k0e", bessel.k0e_p)
k1 = of_ufunc("k1", bessel.k1_p)
k1e = of_ufunc("k1e", bessel.k1e_p)
jv = of_ufunc("jv", bessel.jv_p)
yv = of_ufunc("yv", bessel.yv_p)
iv = of_ufunc("iv", bessel.iv_p)
ive = of_ufunc("ive", bessel.ive_p)
kv = of_ufunc("kv", bessel.kv_p)
kve = of_ufunc("kve", bessel.kve_p)
exp1 = of_ufunc("exp1", integrals.exp1_p)
expi = of_ufunc("expi", integrals.expi_p)
spence = of_ufunc("spence", integrals.spence_p)
ellipk = of_ufunc("ellipk", elliptic.ellipk_p)
ellipkm1 = of_ufunc("ellipkm1", elliptic.ellipkm1_p)
ellipe = of_ufunc("ellipe", elliptic.ellipe_p)
hyp0f1 = of_ufunc("hyp0f1", hypergeometric.hyp0f1_p)
hyp1f1 = of_ufunc("hyp1f1", hypergeometric.hyp1f1_p)
hyp2f1 = of_ufunc("hyp2f1", hypergeometric.hyp2f1_p)
hyperu = of_ufunc("hyperu", hypergeometric.hyperu_p)
stdtr = of_ufunc("stdtr", students.stdtr_p)
stdtrit = of_ufunc("stdtrit", students.stdtrit_p)
owens_t = of_ufunc("owens_t", students.owens_t_p)
eval_jacobi = of_ufunc("eval_jacobi", polynomials.eval_jacobi_p)
eval_legendre = of_ufunc("eval_legendre", polynomials.eval_legendre_p)
eval_gegenbauer = of_ufunc("eval_gegenbauer", polynomials.eval_gegenbauer_p)
eval_chebyt = of_ufunc("eval_chebyt", polynomials.eval_chebyt_p)
eval_chebyu = of_ufunc("eval_chebyu", polynomials.eval_chebyu_p)
eval_hermite = of_ufunc("eval_hermite", polynomials.eval_hermite_p)
eval_hermitenorm = of_ufunc("eval_hermitenorm", polynomials.eval_hermitenorm_p)
eval_genlaguerre = of_ufunc("eval_genlaguerre", polynomials.eval_genlaguerre_p)
eval_laguerre = of_ufunc("eval_laguerre", polynomials.eval_laguerre_p)
ellipkinc = of_ufunc("ellipkinc", elliptic.ellipkinc_p)
ellipeinc = of_ufunc("ellipeinc", elliptic.ellipeinc_p)


def _of_whole_order(name: str, primitive: Primitive) -> Callable[..., Any]:
    """Declare a function of an integer order.

    A non-integer order loses its fraction, so the result is a step function of it.
    """

    def function(n: ArrayLike, x: ArrayLike, /) -> Any:
        n, x = real(name, n, x)
        return bind(primitive, (bind(trunc_p, (n,), NO_PARAMS), x), NO_PARAMS)

    return found_by(name, function)


yn = _of_whole_order("yn", bessel.yv_p)
kn = _of_whole_order("kn", bessel.kv_p)
expn = _of_whole_order("expn", integrals.expn_p)
psi = digamma = of_ufunc("psi", gamma_.digamma_p, complexes.complex_digamma_p)
jn = jv


def _like_numpys(name: str, primitive: Primitive) -> Callable[..., Any]:
    """Declare our function for a ufunc that NumPy has too.

    SciPy's computes in its own dtypes, and in complex numbers as NumPy's.
    """
    numpys, scipys = getattr(fnp, name), of_ufunc(name, primitive)

    def function(x: ArrayLike, /) -> Any:
        x = as_value(x)
        return numpys(x) if dtype_of(x).kind == "c" else scipys(x)

    return found_by(name, function)


# SciPy has these two for real numbers only.
cbrt = of_ufunc("cbrt", elementary.cbrt_p)
exp2 = of_ufunc("exp2", elementary.exp2_p)
expm1 = _like_numpys("expm1", elementary.expm1_p)
log1p = _like_numpys("log1p", elementary.log1p_p)
