"""Forward mode: each value carries its tangent beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Trace, Tracer, bind
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive


@register_leaf
class ForwardTracer(Tracer):
    """A value and its tangent."""

    __slots__ = ("tangent", "value")

    def __init__(self, trace: Trace, value: Any, tangent: Any) -> None:
        self.trace = trace
        self.value = value
        self.tangent = tangent

    @property
    def shape(self) -> tuple[int, ...]:
        return aval_of(self.value).shape

    @property
    def dtype(self) -> np.dtype:
        return aval_of(self.value).dtype

    @property
    def aval(self) -> Aval:
        return aval_of(self.value)


class ForwardTrace(Trace):
    """Runs each primitive on the primals and pushes the tangents through its derivative at once."""

    transform = "jvp"

    def input(self, value: Any, tangent: Any) -> ForwardTracer:
        return ForwardTracer(self, value, tangent)

    def apply(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        if not self.alive:
            self.refuse_leak(primitive)
        primals = []
        tangents = []
        for x in operands:
            mine = type(x) is ForwardTracer and x.trace is self
            primals.append(x.value if mine else x)
            tangents.append(x.tangent if mine else None)
        primals = tuple(primals)
        if primitive.multiple_results:
            ys, y_dots = primitive.derivative.jvp(primitive, primals, tangents, params)
            return [y if y_dot is None else ForwardTracer(self, y, y_dot) for y, y_dot in zip(ys, y_dots, strict=True)]
        y = bind(primitive, primals, params)
        y_dot = primitive.derivative.push(primitive, primals, tangents, y, params)
        return y if y_dot is None else ForwardTracer(self, y, y_dot)
