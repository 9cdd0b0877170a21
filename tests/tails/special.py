"""The functions of ``funcgrad.scipy.special`` beside formulas in mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import mpmath

from funcgrad.scipy import special
from tests.tails._check import Edge, Row

# mpmath makes the attributes of its contexts when it is imported, which type checkers cannot see.
mp: Any = mpmath.mp
INF = math.inf
ZERO, ONE_LEFT = Edge(0.0, 1), Edge(1.0, -1)
TINY = (1e-300, 1e-150, 1e-20, 1e-8, 1e-4)
LINE = (*[s * x for s in (1, -1) for x in (*TINY, 0.3, 0.999, 1.7, 5.0, 9.9, 10.1, 26.0, 40.0, 200.0, 1e3, 1e8)], 0.0)
FAR = (*LINE, 1e20, -1e20, 1e160, -1e160, 1e300, -1e300, INF, -INF)
RIGHT = (*[x for x in LINE if x > 0], 700.0, 745.0, 1e20, 1e160, 1e300, INF)
PART = (*TINY, 1e-3, 0.3, 0.5, 0.7, 0.999, 1 - 1e-8, 1 - 2**-53)


def _erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x) if x < 1e4 else mp.hyp2f0(0.5, 1, -1 / (x * x)) / (x * mp.sqrt(mp.pi))


def _log_ndtr(x: Any) -> Any:
    if x > 0:
        return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
    z = -x / mp.sqrt(2)
    return mp.log(_erfcx(z) / 2) - z * z


def _ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _dawsn(x: Any) -> Any:
    if abs(x) > 30:
        return mp.hyp2f0(0.5, 1, 1 / (x * x)) / (2 * x) if abs(x) > 1e3 else x * mp.hyp1f1(1, 1.5, -x * x)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _log1pexp(x: Any) -> Any:
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def _xlogy(x: Any, y: Any) -> Any:
    return x * mp.log(y) if x else mp.mpf(0)


def _kernel(y: Any, lmbda: Any) -> Any:
    return mp.expm1(lmbda * y) / lmbda if lmbda else y


def _unboxed(y: Any, lmbda: Any) -> Any:
    if 1 + lmbda * y <= 0:
        raise ValueError("outside of the domain")
    return mp.log1p(lmbda * y) / lmbda if lmbda else y


def _rel_entr(x: Any, y: Any) -> Any:
    return x * mp.log(x / y)


def _huber(delta: Any, r: Any) -> Any:
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    w = r / delta
    return r * r / (1 + mp.sqrt(1 + w * w))


def _scaled(kind: Callable[..., Any], sign: int) -> Callable[..., Any]:
    return lambda v, x: kind(v, x) * mp.exp(sign * abs(x))


def _of(order: float, kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: kind(order, x)


def _unary(names: str, formula: Callable[..., Any], points: Iterable[Any], **options: Any) -> list[Row]:
    places = [(x,) for x in points]
    return [Row(name, getattr(special, name), formula, places, **options) for name in names.split()]


def _near(centre: float) -> tuple[float, ...]:
    return tuple([centre + s * h for h in (1e-12, 1e-8, 1e-4, 0.1) for s in (1, -1)])


_ROUND = {"digits": 60}
_SMALL_LINE = tuple(x for x in FAR if abs(x) <= 200)
_GAMMA_LINE = (
    *[x for x in RIGHT if 1e-100 < x < 1e21],
    1e-100,
    150.0,
    171.6,
    -0.5,
    -1.5,
    -20.3,
    -100.5,
    -170.3,
    *_near(1.0),
    *_near(2.0),
)
_BESSEL = (*[x for x in RIGHT if x < 1e5], INF)
UNARY: list[Row] = [
    *_unary("erf", mp.erf, FAR, digits=340),
    *_unary("erfc", mp.erfc, FAR, digits=340),
    *_unary("ndtr", _ndtr, FAR, digits=340),
    *_unary("erfcx", _erfcx, [*LINE[:8], *[x for x in FAR if x > -10], -26.5, -5.0], **_ROUND),
    *_unary(
        "log_ndtr",
        _log_ndtr,
        FAR,
        slopes={
            0: lambda x: _density(x) / _ndtr(x) if x > -1e4 else 1 / (_erfcx(-x / mp.sqrt(2)) * mp.sqrt(mp.pi / 2))
        },
        **_ROUND,
    ),
    *_unary("erfi", mp.erfi, [x for x in FAR if abs(x) <= 200], **_ROUND),
    *_unary("dawsn", _dawsn, FAR, **_ROUND),
    *_unary("erfinv", lambda p: mp.erfinv(p), [*PART, *[-p for p in PART], 0.0], **_ROUND),
    *_unary("expit", lambda x: 1 / (1 + mp.exp(-x)), FAR, digits=340),
    *_unary("log_expit", lambda x: -_log1pexp(-x), FAR, digits=340),
    *_unary("softplus", _log1pexp, FAR, digits=340),
    *_unary("logit", lambda p: mp.log(p / (1 - p)), [*PART, ZERO, ONE_LEFT], **_ROUND),
    *_unary("entr", lambda x: -x * mp.log(x), [*RIGHT, ZERO], **_ROUND),
    *_unary("exprel", lambda x: mp.expm1(x) / x if x else mp.mpf(1), FAR, digits=340),
    *_unary("cosm1", lambda x: -2 * mp.sin(x / 2) ** 2, [x for x in FAR if abs(x) <= 1e20], digits=340),
    *_unary("exp2", lambda x: mp.mpf(2) ** x, FAR, **_ROUND),
    *_unary("exp10", lambda x: mp.mpf(10) ** x, FAR, **_ROUND),
    *_unary("expm1", mp.expm1, FAR, digits=340),
    *_unary("log1p", mp.log1p, [*RIGHT, 0.0, -1e-300, -1e-8, -0.3, -1 + 2**-53, Edge(-1.0, 1)], **_ROUND),
    *_unary("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), [x for x in FAR if x], **_ROUND),
    *_unary(
        "sinc",
        lambda x: mp.sin(mp.pi * x) / (mp.pi * x) if x else mp.mpf(1),
        [x for x in FAR if abs(x) < 1e9],
        digits=340,
    ),
    *_unary("gamma", mp.gamma, [x for x in _GAMMA_LINE if x < 1e9], **_ROUND),
    *_unary("gammaln", lambda x: mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x), _GAMMA_LINE, **_ROUND),
    *_unary("loggamma", mp.loggamma, [x for x in _GAMMA_LINE if x > 0], **_ROUND),
    *_unary("rgamma", mp.rgamma, [*[x for x in _GAMMA_LINE if x < 1e9], 0.0, -1.0, -2.0, -20.0], **_ROUND),
    *_unary("psi digamma", mp.digamma, _GAMMA_LINE, **_ROUND),
    *_unary("factorial", lambda x: mp.gamma(x + 1), [x for x in _GAMMA_LINE if 0 < x < 1e9], **_ROUND),
    *_unary("i0", _of(0, mp.besseli), [x for x in FAR if abs(x) < 1e4], **_ROUND),
    *_unary("i1", _of(1, mp.besseli), [x for x in FAR if abs(x) < 1e4], **_ROUND),
    *_unary("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [x for x in FAR if abs(x) < 1e21 and x], **_ROUND),
    *_unary("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [x for x in FAR if abs(x) < 1e21 and x], **_ROUND),
    *_unary("j0", _of(0, mp.besselj), [x for x in FAR if abs(x) < 1e5], **_ROUND),
    *_unary("j1", _of(1, mp.besselj), [x for x in FAR if abs(x) < 1e5], **_ROUND),
    *_unary("y0", _of(0, mp.bessely), [x for x in RIGHT if 1e-21 < x < 1e5], **_ROUND),
    *_unary("y1", _of(1, mp.bessely), [x for x in RIGHT if 1e-21 < x < 1e5], **_ROUND),
    *_unary("k0", _of(0, mp.besselk), [x for x in RIGHT if x < 1e5], **_ROUND),
    *_unary("k1", _of(1, mp.besselk), [x for x in RIGHT if x < 1e5], **_ROUND),
    *_unary("k0e", lambda x: mp.besselk(0, x) * mp.exp(x), [x for x in RIGHT if x < 1e21], **_ROUND),
    *_unary("k1e", lambda x: mp.besselk(1, x) * mp.exp(x), [x for x in RIGHT if x < 1e21], **_ROUND),
    *_unary("exp1", mp.e1, [x for x in RIGHT if x < 1e9], **_ROUND),
    *_unary("expi", mp.ei, [x for x in LINE if x], **_ROUND),
    *_unary(
        "spence",
        lambda x: mp.polylog(2, 1 - x) if x <= 2 else -mp.polylog(2, 1 - 1 / x) - mp.log(x) ** 2 / 2,
        [x for x in RIGHT if x < 1e21] + [*_near(1.0)],
        **_ROUND,
    ),
    *_unary("ellipk", mp.ellipk, [*PART, *[-x for x in RIGHT if x < 1e9], 0.0, 0.099, 0.101, -0.099, -0.101], **_ROUND),
    *_unary("ellipkm1", lambda p: mp.ellipk(1 - p), [*PART, 1.0, 1.001, 2.0, 10.0, 1e6], digits=340),
    *_unary("ellipe", mp.ellipe, [*PART, *[-x for x in RIGHT if x < 1e9], 0.0], **_ROUND),
]


def _binary(names: str, formula: Callable[..., Any], a: Iterable[Any], b: Iterable[Any], **options: Any) -> list[Row]:
    places = list(itertools.product(a, b))
    return [Row(name, getattr(special, name), formula, places, **options) for name in names.split()]


_BASES = (1e-100, 1e-8, 0.3, 1.0, 2.5, 100.0, 1e8, 1e100)
_POWERS = (-3.0, -1.0, -1e-8, 0.0, 1e-300, 1e-8, 0.5, 1.0, 2.0, 3.0)
BINARY: list[Row] = [
    *_binary("xlogy", _xlogy, (0.0, 1e-100, -2.0, 3.0, 1e100), (1e-100, 0.3, 1.0, 1e100), by=(0, 1)),
    *_binary(
        "xlog1py",
        lambda x, y: x * mp.log1p(y) if x else mp.mpf(0),
        (0.0, 1e-100, -2.0, 3.0, 1e100),
        (-1 + 2**-53, -0.3, -1e-100, 0.0, 1e-100, 0.3, 1e100),
        by=(0, 1),
    ),
    *_binary("rel_entr", _rel_entr, _BASES, _BASES, by=(0, 1), digits=340),
    *_binary("kl_div", lambda x, y: _rel_entr(x, y) - x + y, _BASES, _BASES, by=(0, 1), digits=340),
    *_binary(
        "huber", _huber, (1e-100, 0.3, 2.0, 1e200), (-1e100, -2.5, -1e-200, 0.1, 5.0, 1e150), by=(0, 1), digits=340
    ),
    *_binary(
        "pseudo_huber",
        _pseudo_huber,
        (1e-3, 0.3, 2.0, 1e3),
        (-2.5, -1e-200, 0.0, 1e-8, 0.1, 5.0),
        by=(0, 1),
        digits=340,
    ),
    *_binary("boxcox", lambda x, lmbda: _kernel(mp.log(x), lmbda), _BASES, _POWERS, by=(0, 1), digits=340),
    *_binary(
        "boxcox1p",
        lambda x, lmbda: _kernel(mp.log1p(x), lmbda),
        (-1 + 2**-53, -0.3, -1e-100, 0.0, *_BASES),
        _POWERS,
        by=(0, 1),
        digits=340,
    ),
    *_binary(
        "inv_boxcox",
        lambda y, lmbda: mp.exp(_unboxed(y, lmbda)),
        (-0.3, -1e-100, 0.0, 1e-100, 1e-8, 0.3, 2.0, 100.0),
        _POWERS,
        by=(0, 1),
        digits=340,
    ),
    *_binary(
        "inv_boxcox1p",
        lambda y, lmbda: mp.expm1(_unboxed(y, lmbda)),
        (-0.3, -1e-100, 0.0, 1e-100, 1e-8, 0.3, 2.0, 100.0),
        _POWERS,
        by=(0, 1),
        digits=340,
    ),
    *_binary("beta", mp.beta, (1e-8, 0.3, 1.0, 5.0, 100.0, 1e6), (1e-8, 0.3, 1.0, 7.0, 300.0, 1e6), by=(0, 1)),
    *_binary(
        "betaln",
        lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
        (1e-100, 1e-8, 0.3, 1.0, 5.0, 100.0, 1e6, 1e12),
        (1e-8, 0.3, 1.0, 7.0, 300.0, 1e6, 1e20),
        by=(0, 1),
        digits=340,
    ),
    *_binary("binom", mp.binomial, (0.5, 1.0, 5.0, 20.5, 300.0, 1e6), (0.0, 1e-8, 0.3, 1.0, 3.0, 4.5), by=(0, 1)),
    *_binary("poch", mp.rf, (1e-8, 0.5, 1.0, 5.0, 50.0, 1e6), (0.0, 1e-8, 0.3, 1.0, 3.0, 4.5, 30.0), by=(0, 1)),
    *_binary(
        "gammainc",
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        (1e-8, 0.3, 1.0, 2.0, 50.0, 900.0),
        (1e-100, 1e-8, 0.3, 1.0, 30.0, 60.0, 900.0, 1e4),
        by=(1, 0),
        slopes={1: lambda a, x: mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))},
        digits=40,
    ),
    *_binary(
        "gammaincc",
        lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        (1e-8, 0.3, 1.0, 2.0, 50.0, 900.0),
        (1e-100, 1e-8, 0.3, 1.0, 30.0, 60.0, 900.0, 1e4),
        by=(1, 0),
        slopes={1: lambda a, x: -mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))},
        digits=40,
    ),
    *_binary("jv", mp.besselj, (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 1e4), by=(1,)),
    *_binary("yv", mp.bessely, (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 1e4), by=(1,)),
    *_binary("iv", mp.besseli, (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 700.0), by=(1,)),
    *_binary("kv", mp.besselk, (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 700.0), by=(1,)),
    *_binary("ive", _scaled(mp.besseli, -1), (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 1e4), by=(1,)),
    *_binary("kve", _scaled(mp.besselk, 1), (0.0, 0.5, 1.0, 2.5, 20.0), (1e-150, 1e-8, 0.3, 5.0, 100.0, 1e4), by=(1,)),
    *_binary("expn", mp.expint, (0, 1, 2, 5, 30), (1e-150, 1e-8, 0.3, 5.0, 100.0, 700.0), by=(1,)),
    *_binary("hyp0f1", mp.hyp0f1, (0.5, 1.0, 7.0), (-100.0, -1.0, 0.0, 1e-8, 5.0, 1e4), by=(1,)),
    *_binary("zeta", mp.zeta, (1.5, 2.0, 30.0), (1e-8, 0.3, 1.0, 50.0, 1e6), by=(1,)),
    *_binary("ellipkinc", mp.ellipf, (-1.0, 0.0, 1e-8, 0.7, 1.5), (-5.0, 0.0, 0.5, 0.999), by=(0,)),
    *_binary("ellipeinc", mp.ellipe, (-1.0, 0.0, 1e-8, 0.7, 1.5), (-5.0, 0.0, 0.5, 0.999), by=(0,)),
]
ROWS = [*UNARY, *BINARY]
