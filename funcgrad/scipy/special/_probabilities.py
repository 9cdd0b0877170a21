"""Probabilities of statistical distributions that are ufuncs of ``scipy.special``, by incomplete functions."""

from __future__ import annotations

from typing import Any

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
    return u.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


def _fdtrc(dfn: ArrayLike, dfd: ArrayLike, x: ArrayLike, /) -> Any:
    dfn, dfd, x = real("fdtrc", dfn, dfd, x)
    return u.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


def _gdtr(a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Any:
    a, b, x = real("gdtr", a, b, x)
    return u.gammainc(b, a * x)


def _gdtrc(a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Any:
    a, b, x = real("gdtrc", a, b, x)
    return u.gammaincc(b, a * x)


chdtr = found_by("chdtr", _chdtr)
chdtrc = found_by("chdtrc", _chdtrc)
chdtri = found_by("chdtri", _chdtri)
fdtr = found_by("fdtr", _fdtr)
fdtrc = found_by("fdtrc", _fdtrc)
gdtr = found_by("gdtr", _gdtr)
gdtrc = found_by("gdtrc", _gdtrc)
