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
    allowed = (dfn > 0) & (dfd > 0) & (x >= 0)
    inner = select(allowed & (x < math.inf), x, 1.0)
    below = u.betainc(0.5 * dfn, 0.5 * dfd, dfn * inner / (dfd + dfn * inner))
    return select(allowed, select(x < math.inf, below, 1.0), math.nan)


def _fdtrc(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Any:
    dfn, dfd, x = real("fdtrc", dfn, dfd, x)
    above = u.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))
    return select((dfn > 0) & (dfd > 0) & (x >= 0), above, math.nan)


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
