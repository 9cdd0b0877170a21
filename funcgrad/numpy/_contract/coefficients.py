"""Coefficients of ``numpy.polynomial`` whose numbers are not known, as under ``jit``: none of them counts as zero.

NumPy's arithmetic drops zeros at the end of a series, and so asks whether the last coefficient is zero. A coefficient
that is not known stays. The polynomial is the same; its array of coefficients may end with zeros.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.object_arrays import elements

Function = Callable[..., Any]


class _Coefficient:
    """A number that is not known. It computes as the number, and is never equal to another."""

    __slots__ = ("value",)
    __hash__ = None  # pyright: ignore[reportAssignmentType]  (it has an equality of its own)

    def __init__(self, value: ArrayLike) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def __neg__(self) -> _Coefficient:
        return _Coefficient(-self.value)


def _method(function: Function) -> Function:
    def method(self: _Coefficient, other: Any) -> Any:
        # An array takes the coefficient element by element.
        return NotImplemented if isinstance(other, np.ndarray) else _Coefficient(function(self.value, _value(other)))

    return method


def _reflected(function: Function) -> Function:
    return lambda self, other: _Coefficient(function(_value(other), self.value))


for _name in ("add", "sub", "mul", "truediv"):
    setattr(_Coefficient, f"__{_name}__", _method(getattr(operator, _name)))
    setattr(_Coefficient, f"__r{_name}__", _reflected(getattr(operator, _name)))


def _value(x: ArrayLike) -> Any:
    return x.value if isinstance(x, _Coefficient) else x


def keeps_unknown(function: Function) -> Function:
    """Return NumPy's arithmetic of series, which leaves coefficients that are not known at the end of its results."""

    def call(*series: Any, **options: Any) -> Any:
        prepared = [_prepared(c) for c in series]
        if all(c is x for c, x in zip(prepared, series, strict=True)):
            return function(*series, **options)
        y = function(*prepared, **options)
        return tuple(map(_unwrapped, y)) if isinstance(y, tuple) else _unwrapped(y)

    return call


def _prepared(c: ArrayLike) -> Any:
    """Return a series with coefficients that stay, or the argument itself if all of its numbers are known."""
    objects = elements(c) if isinstance(c, Tracer) else c
    if not isinstance(objects, np.ndarray) or objects.dtype != object:
        return c
    unknown = [isinstance(x, Tracer) and known_value(x) is None for x in objects.flat]
    if not any(unknown):
        return c
    prepared = np.empty(objects.size, object)
    for i, x in enumerate(objects.flat):
        prepared[i] = _Coefficient(x) if unknown[i] else x
    return prepared.reshape(objects.shape)


def _unwrapped(y: ArrayLike) -> Any:
    if not isinstance(y, np.ndarray) or y.dtype != object:
        return _value(y)
    plain = np.empty(y.shape, object)
    for place in np.ndindex(y.shape):
        plain[place] = _value(y[place])
    return plain
