"""Probabilities of statistical distributions that are ufuncs of ``scipy.special``, by incomplete functions."""

from __future__ import annotations

import math
from typing import Any

from funcgrad._ops.elementwise.select import select
from funcgrad._types import ArrayLike
from funcgrad.scipy.special import _ufuncs as u
from funcgrad.scipy.special._declare import found_by, real


def _chdtr(v: ArrayLike, x: ArrayLike, /) -> Any:
    v, x = real("chdtr", v, x)
    return u.gammainc(0.5 * v, 0.5 * x)


def _chdtrc(v: ArrayLike, x: ArrayLike, /) -> Any:
    v, x = real("chdtrc", v, x)
    return u.gammaincc(0.5 * v, 0.5 * x)


def _chdtri(v: ArrayLike, p: ArrayLike, /) -> Any:
    v, p = real("chdtri", v, p)
    return 2 * u.gammainccinv(0.5 * v, p)


def _fdtr(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Any:
    dfn, dfd, x = real("fdtr", dfn, dfd, x)
    return _of_quotient(dfn, dfd, x, u.betainc, u.betaincc, 1.0)


def _fdtrc(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Any:
    dfn, dfd, x = real("fdtrc", dfn, dfd, x)
    return _of_quotient(dfn, dfd, x, u.betaincc, u.betainc, 0.0)


def _of_quotient(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, below: Any, above: Any, at_infinity: float) -> Any:
    """Return the probability of the ratio of variances by the smaller of the two parts of 1, which has more digits."""
    allowed, finite = (dfn > 0) & (dfd > 0) & (x >= 0), x < math.inf
    dfn, dfd, x = (select(allowed & finite, each, 1.0) for each in (dfn, dfd, x))
    small = dfn * x < dfd
    near, far = select(small, dfn * x, 1.0) / (dfd + select(small, dfn * x, 1.0)), dfd / (dfd + dfn * x)
    found = select(small, below(0.5 * dfn, 0.5 * dfd, near), above(0.5 * dfd, 0.5 * dfn, far))
    return select(allowed, select(finite, found, at_infinity), math.nan)


def _gdtr(a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Any:
    a, b, x = real("gdtr", a, b, x)
    return select(x >= 0, u.gammainc(b, a * x), math.nan)


def _gdtrc(a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Any:
    a, b, x = real("gdtrc", a, b, x)
    return select(x >= 0, u.gammaincc(b, a * x), math.nan)


chdtr = found_by("chdtr", _chdtr)
chdtrc = found_by("chdtrc", _chdtrc)
chdtri = found_by("chdtri", _chdtri)
fdtr = found_by("fdtr", _fdtr)
fdtrc = found_by("fdtrc", _fdtrc)
gdtr = found_by("gdtr", _gdtr)
gdtrc = found_by("gdtrc", _gdtrc)
