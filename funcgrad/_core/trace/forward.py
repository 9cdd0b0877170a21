"""Forward mode: each value carries its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NUMPY_TYPES, Trace, Tracer, active_trace, bind, keeps, next_serial
from funcgrad._core.trace.place import writable
from funcgrad._core.trace.reads import rounded
from funcgrad._types import Value
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive


class PrimalTracer(Tracer):
    """A tracer with the shape and dtype of its value. Subclasses store further parts in slots that it leaves free."""

    __slots__ = ()

    _value: Value
    # The serial number of its creation.
    _serial = vars(Tracer)["_shape"]

    @property
    def shape(self) -> tuple[int, ...]:
        return aval_of(self._value).shape

    shape = shape.setter(keeps("shape"))

    @property
    def dtype(self) -> np.dtype:
        return aval_of(self._value).dtype

    dtype = dtype.setter(keeps("dtype"))

    @property
    def aval(self) -> Aval:
        return aval_of(self._value)


@register_leaf
class ForwardTracer(PrimalTracer):
    """A value and its tangent."""

    __slots__ = ()
    _held = ("_value", "_tangent", "_serial")

    _tangent = vars(Tracer)["_node"]

    def __init__(self, trace: Trace, value: Value, tangent: Value) -> None:
        self._owner = trace
        self._value = value
        self._tangent = tangent
        self._serial = next_serial()


def _unmoved(y: Value) -> Any:
    """Return a result of empty arrays alone without a tangent: 0 times an infinite slope would be NaN."""
    if type(y) is not ForwardTracer or 0 in y.shape:
        return y
    # The function that runs may write to its result. An inner transform that computes with the value must not get a
    # place, which it would keep as a primal.
    return writable(y._value) if active_trace() is y._owner else y._value


class ForwardTrace(Trace):
    """Runs each primitive on the primals and computes the tangents by its derivative at once."""

    transform = "jvp"
    notes_reads = True

    def __init__(self, scope_of: Callable[[Sequence[Any]], AbstractContextManager[Any]] | None = None) -> None:
        """``scope_of`` returns the mode in which rules run on given values, if some are not NumPy's."""
        super().__init__()
        self._scope_of = scope_of

    def input(self, value: Value, tangent: Value) -> ForwardTracer:
        return ForwardTracer(self, value, tangent)

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        primals = []
        tangents = []
        bare = True
        moving = False
        for x in operands:
            mine = type(x) is ForwardTracer and x._owner is self
            primal, tangent = (x._value, x._tangent) if mine else (x, None)
            primals.append(primal)
            tangents.append(tangent)
            bare = bare and type(primal) in NUMPY_TYPES and (tangent is None or type(tangent) in NUMPY_TYPES)
            moving = moving or (tangent is not None and 0 not in tangent.shape)
        if bare or self._scope_of is None:
            y = self._push(primitive, tuple(primals), tangents, params)
        else:
            with self._scope_of([*primals, *[x_dot for x_dot in tangents if x_dot is not None]]):
                y = self._push(primitive, tuple(primals), tangents, params)
        if moving:
            return y
        return list(map(_unmoved, y)) if type(y) is list else _unmoved(y)

    def _push(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> Any:
        if primitive.multiple_results:
            ys, y_dots = primitive.derivative.jvp(primitive, primals, tangents, params)
            return [y if y_dot is None else ForwardTracer(self, y, y_dot) for y, y_dot in zip(ys, y_dots, strict=True)]
        y = bind(primitive, primals, params)
        y_dot = primitive.derivative.push(primitive, primals, tangents, y, params)
        if y_dot is None:
            if primitive.rounds:
                rounded(self, (), params)
            return y
        dtype = getattr(y, "dtype", None)
        if dtype is not None and dtype.kind == "V" and y_dot.dtype != dtype:
            # A rule that multiplies by a Python float widens bare arrays of ml_dtypes' floats.
            y_dot = y_dot.astype(dtype)
        return ForwardTracer(self, y, y_dot)
