"""NumPy's elementwise functions beside formulas in mpmath, from 1e-300 to 1e300."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import mpmath
import numpy as np

from tests.tails._check import Row

# mpmath makes the attributes of its contexts when it is imported, which type checkers cannot see.
mp: Any = mpmath.mp
_DTYPES = ("float64", "float32")
_SMALL = (1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1e-20, 1e-8, 1e-4)
_MIDDLE = (0.3, 0.999, 1.7, 3.0, 5.0, 10.0, 20.0)
_LARGE = (40.0, 300.0, 1e4, 1e8, 1e20, 1e30, 1e100, 1e160, 1e200, 1e300)
RIGHT = (*_SMALL, *_MIDDLE, *_LARGE)
LINE = (*RIGHT, *[-x for x in RIGHT], 0.0)
# mpmath and NumPy reduce larger angles by different digits of pi.
ANGLES = tuple([x for x in LINE if abs(x) < 1e5])
PART = (*[s * x for s in (1, -1) for x in (*_SMALL, 0.3, 0.7, 0.999, 1 - 2**-12, 1 - 2**-20)], 0.0)
_SIDES = (-4e160, -2.0, -3e-162, 4e-162, 1e-20, 1e-4, 5.0, 1e8, 3e160)


def _unary(ufunc: np.ufunc, formula: Callable[..., Any], points: Iterable[float], digits: int = 60) -> Row:
    return Row(f"numpy.{ufunc.__name__}", ufunc, formula, [(x,) for x in points], digits=digits, dtypes=_DTYPES)


def _binary(
    ufunc: np.ufunc,
    formula: Callable[..., Any],
    sides: Iterable[float],
    digits: int = 60,
    slopes: Mapping[int, Callable[..., Any]] = MappingProxyType({}),
) -> Row:
    points = list(itertools.product(tuple(sides), repeat=2))
    return Row(
        f"numpy.{ufunc.__name__}", ufunc, formula, points, by=(0, 1), slopes=slopes, digits=digits, dtypes=_DTYPES
    )


def _log1pexp(x: Any) -> Any:
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


ROWS = [
    _unary(np.exp, mp.exp, LINE, 340),
    _unary(np.exp2, lambda x: mp.mpf(2) ** x, LINE, 340),
    _unary(np.expm1, mp.expm1, LINE, 340),
    _unary(np.log, mp.log, RIGHT),
    _unary(np.log2, lambda x: mp.log(x) / mp.log(2), RIGHT),
    _unary(np.log10, mp.log10, RIGHT),
    _unary(np.log1p, mp.log1p, [*RIGHT, *[x for x in PART if x < 0]]),
    _unary(np.sqrt, mp.sqrt, RIGHT),
    _unary(np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), [x for x in LINE if x]),
    _unary(np.square, lambda x: x * x, LINE),
    _unary(np.reciprocal, lambda x: 1 / x, [x for x in LINE if x]),
    _unary(np.sin, mp.sin, ANGLES),
    _unary(np.cos, mp.cos, ANGLES),
    _unary(np.tan, mp.tan, ANGLES),
    _unary(np.arcsin, mp.asin, PART),
    _unary(np.arccos, mp.acos, PART),
    _unary(np.arctan, mp.atan, LINE, 340),
    _unary(np.sinh, mp.sinh, LINE, 340),
    _unary(np.cosh, mp.cosh, LINE, 340),
    _unary(np.tanh, mp.tanh, LINE, 340),
    _unary(np.arcsinh, mp.asinh, LINE, 640),
    _unary(np.arccosh, mp.acosh, [1 + 2**-20, 1.1, 1.7, *[x for x in RIGHT if x > 2]], 640),
    _unary(np.arctanh, mp.atanh, PART, 340),
    _binary(np.hypot, lambda a, b: mp.sqrt(a * a + b * b), _SIDES, 1300),
    _binary(
        np.arctan2,
        lambda a, b: mp.atan2(a, b),
        _SIDES,
        slopes={0: lambda a, b: b / (a * a + b * b), 1: lambda a, b: -a / (a * a + b * b)},
    ),
    _binary(np.logaddexp, lambda a, b: b + _log1pexp(a - b), _SIDES, 700),
    _binary(np.divide, lambda a, b: a / b, _SIDES),
    _binary(np.power, lambda a, b: a**b, [1e-100, 1e-8, 0.3, 1.0, 2.5, 100.0]),
]
