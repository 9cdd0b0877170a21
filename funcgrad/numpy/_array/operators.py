"""The operators of tracers: the common cases go straight to the trace, the others through the NumPy-named function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, NUMPY_TYPES, Tracer
from funcgrad._core.primitive import Primitive
from funcgrad.numpy._base.guests import defers_to

Function = Callable[[Any, Any], Any]


def operators(primitive: Primitive, function: Function) -> tuple[Function, Function]:
    """The methods ``__op__`` and ``__rop__``.

    A Python int or float beside an inexact tracer, and an array or tracer of its dtype, need neither promotion nor a
    search for the innermost trace: leaving both out saves 0.4 us of the 1.2 that an operation costs.
    """

    def method(self: Tracer, other: Any, /) -> Any:
        kind = type(other)
        if self.dtype.kind in "fc" and (
            kind is float
            or kind is int
            or (kind is np.ndarray and other.dtype is self.dtype)
            or (kind is type(self) and other.owner is self.owner and other.dtype is self.dtype)
        ):
            return self.owner.apply(primitive, (self, other), NO_PARAMS)
        return NotImplemented if kind not in NUMPY_TYPES and defers_to(other) else function(self, other)

    def reflected(self: Tracer, other: Any, /) -> Any:
        kind = type(other)
        if (kind is int or kind is float) and self.dtype.kind in "fc":
            return self.owner.apply(primitive, (other, self), NO_PARAMS)
        return function(other, self)

    return method, reflected


def power_operator(primitive: Primitive, function: Function) -> Function:
    """The method ``__pow__``, where an exponent that is a Python number is a parameter of its own primitive."""

    def method(self: Tracer, other: Any, /) -> Any:
        if type(other) is int and self.dtype.kind in "fc":
            return self.owner.apply(primitive, (self,), {"exponent": other})
        return NotImplemented if type(other) not in NUMPY_TYPES and defers_to(other) else function(self, other)

    return method


def unary_operator(primitive: Primitive, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The method of an operator of one operand."""

    def method(self: Tracer, /) -> Any:
        return self.owner.apply(primitive, (self,), NO_PARAMS) if self.dtype.kind in "fc" else function(self)

    return method


def matmul_operator(primitive: Primitive, function: Function) -> Function:
    """The method ``__matmul__``: vectors and matrices of one dtype need no preparation."""

    def method(self: Tracer, other: Any, /) -> Any:
        kind = type(other)
        if (
            (kind is np.ndarray or (kind is type(self) and other.owner is self.owner))
            and other.dtype is self.dtype
            and 0 < len(self.shape) < 3
            and 0 < len(other.shape) < 3
        ):
            return self.owner.apply(primitive, (self, other), NO_PARAMS)
        return NotImplemented if kind not in NUMPY_TYPES and defers_to(other) else function(self, other)

    return method


def deferring(function: Function) -> Function:
    """The method of another operator of two operands."""
    return lambda self, other: NotImplemented if defers_to(other) else function(self, other)
