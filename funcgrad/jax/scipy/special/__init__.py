"""Special functions: the functions of ``funcgrad.scipy.special`` with JAX's arrays."""

from funcgrad.jax._bridge import of_jax as _of_jax
from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.jax.scipy.special._harmonics import sph_harm_y as sph_harm_y
from funcgrad.scipy.special import (
    beta as beta, betainc as betainc, betaln as betaln, boxcox as boxcox, boxcox1p as boxcox1p, comb as comb,
    dawsn as dawsn, digamma as digamma, entr as entr, erf as erf, erfc as erfc, erfcx as erfcx, erfinv as erfinv,
    exp1 as exp1, expi as expi, expit as expit, expn as expn, factorial as factorial, gamma as gamma,
    gammainc as gammainc, gammaincc as gammaincc, gammaln as gammaln, gammasgn as gammasgn, hyp1f1 as hyp1f1,
    hyp2f1 as hyp2f1, i0 as i0, i0e as i0e, i1 as i1, i1e as i1e, kl_div as kl_div, log_ndtr as log_ndtr,
    log_softmax as log_softmax, loggamma as loggamma, logit as logit, logsumexp as logsumexp,
    multigammaln as multigammaln, ndtr as ndtr, ndtri as ndtri, owens_t as owens_t, poch as poch,
    polygamma as polygamma, rel_entr as rel_entr, softmax as softmax, spence as spence,
    xlog1py as xlog1py, xlogy as xlogy, zeta as zeta,
)
# fmt: on

# JAX's own functions.
bernoulli = _of_jax("scipy.special.bernoulli")
bessel_jn = _of_jax("scipy.special.bessel_jn", "z")
fresnel = _of_jax("scipy.special.fresnel", "x")
sici = _of_jax("scipy.special.sici", "x")
wofz = _of_jax("scipy.special.wofz", "z")

__dir__, __getattr__ = _publish(__name__)
