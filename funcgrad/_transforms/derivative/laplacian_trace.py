"""The trace of the Laplacian: each value carries its derivatives by all input elements, and its Laplacian."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Trace, Tracer, bind, next_serial
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT, is_linear_in
from funcgrad._core.trace.forward import ForwardTrace, ForwardTracer, PrimalTracer
from funcgrad._core.trace.kept import copied
from funcgrad._engines import engine_scope
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.layout.fill import ones_like
from funcgrad._transforms.derivative.directions import (
    DerivativeRows,
    Directions,
    arranged,
    dense,
    is_sum,
    on_rows,
    own_rows,
    spread,
    squares,
    summed,
)
from funcgrad._types import ArrayLike, PyTree, Value
from funcgrad.tree import register_leaf


@register_leaf
class LaplacianTracer(PrimalTracer):
    """A value with its derivatives by the elements of the input, and its Laplacian; ``None`` is zero."""

    __slots__ = ()
    _held = ("_value", "_directions", "_laplacian", "_serial")

    _directions = vars(Tracer)["_node"]
    _laplacian = vars(Tracer)["_dtype"]

    def __init__(self, trace: Trace, value: Value, directions: Directions, laplacian: Value) -> None:
        self._owner = trace
        self._value = value
        self._directions = directions
        self._laplacian = laplacian
        self._serial = next_serial()


class LaplacianTrace(Trace):
    """Carries the derivatives by all elements of an input, and the sum of the second derivatives."""

    transform = "laplacian"
    binds_primals = True

    def __init__(self, total: int) -> None:
        super().__init__()
        # The number of elements of the input.
        self.total = total

    def input(self, value: Value, first: int) -> LaplacianTracer:
        aval = aval_of(value)
        return LaplacianTracer(self, value, Directions(lambda: own_rows(first, aval.shape, aval.dtype)), None)

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        mine = [type(x) is LaplacianTracer and x._owner is self for x in operands]
        primals = tuple([x._value if flag else x for x, flag in zip(operands, mine, strict=True)])
        # Rules combine values of the engines with Python's operators.
        with engine_scope(primals):
            if primitive.derivative is CONSTANT:
                return bind(primitive, primals, params)
            # The fields are read now: a later write to an operand turns the tracer into a place.
            fields = {i: (x._directions, x._laplacian) for i, x in enumerate(operands) if mine[i]}
            application = _LaplacianApplication(primitive, primals, fields, params, self)
            carried = _rule_for(application)(application)
        found = [y if spread is None else LaplacianTracer(self, y, *spread) for y, spread in carried]
        return found if primitive.multiple_results else found[0]


# The value of a result, and its derivatives with its Laplacian; ``None`` if it does not depend on the input.
_Carried = list[tuple[Any, tuple[Directions, Any] | None]]


class _LaplacianApplication(NamedTuple):
    """One application of a primitive.

    ``active`` has the derivatives and the Laplacian of each operand that depends on the input, by the operand's number.
    """

    primitive: Primitive
    primals: tuple
    active: dict[int, tuple[Directions, Any]]
    params: dict
    trace: LaplacianTrace

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Apply the primitive, with these values in place of the active operands."""
        found = bind(self.primitive, tuple(self._whole(values, self.primals)), self.params)
        return found if self.primitive.multiple_results else [found]

    def _whole(self, values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        given = dict(zip(self.active, values, strict=True))
        return [given.get(i, x) for i, x in enumerate(others)]

    def kept(self) -> _LaplacianApplication:
        """Return the same with constants that a later write to them does not change."""
        primals = [
            x if i in self.active or type(x) is not np.ndarray else copied(x) for i, x in enumerate(self.primals)
        ]
        return self._replace(primals=tuple(primals))

    def push(self, ys: Sequence[Any], x_dots: Sequence[Any]) -> list[Any]:
        """Return the tangent of each result; ``None`` is zero."""
        if all(x_dot is None for x_dot in x_dots):
            return [None] * len(ys)
        derivative, tangents = self.primitive.derivative, self._whole(x_dots, [None] * len(self.primals))
        if self.primitive.multiple_results:
            return derivative.jvp(self.primitive, self.primals, tangents, self.params)[1]
        return [derivative.push(self.primitive, self.primals, tangents, ys[0], self.params)]

    def push_rows(self, ys: Sequence[Any], parts: Sequence[DerivativeRows]) -> list[Any]:
        return on_rows(lambda *x_dots: self.push(ys, x_dots), [rows.values for rows in parts])

    def push_twice(self, *x_dots: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the results, and their first and second derivatives along one direction."""
        outer, inner = ForwardTrace(), ForwardTrace()
        with outer, inner:
            pairs = zip(self.values, x_dots, strict=True)
            ys = self.run([inner.input(outer.input(x, x_dot), x_dot) for x, x_dot in pairs])
        slopes = [_tangent(y, inner) for y in ys]
        values = [_value(_value(y, inner), outer) for y in ys]
        return values, [_value(slope, outer) for slope in slopes], [_tangent(slope, outer) for slope in slopes]

    @property
    def values(self) -> list[Any]:
        return [self.primals[i] for i in self.active]

    @property
    def laplacians(self) -> list[Any]:
        return [laplacian for _, laplacian in self.active.values()]

    @property
    def parts(self) -> list[DerivativeRows]:
        """The derivatives of the active operands."""
        return [directions.rows for directions, _ in self.active.values()]

    def arranged(self, ys: Sequence[Any]) -> tuple[list[DerivativeRows], list[np.ndarray | None]]:
        """Return the derivatives of the active operands, and the inputs of the results, of a linear operation."""
        avals = [aval_of(y) for y in ys]
        return arranged(
            self.primitive,
            self.primals,
            list(self.active),
            self.parts,
            avals=avals,
            params=self.params,
            total=self.trace.total,
        )

    def rows(self, ys: Sequence[Any]) -> tuple[list[DerivativeRows], np.ndarray | None]:
        """Return the same of any operation: only an elementwise one may keep the inputs of elements."""
        if self.primitive.elementwise:
            parts, (inputs,) = self.arranged(ys)
            return parts, inputs
        return [dense(rows, self.trace.total) for rows in self.parts], None

    def spread(self, shape: tuple[int, ...]) -> _LaplacianApplication:
        """Return the same with the active operands of an elementwise operation broadcast, as their derivatives are."""
        if len(self.active) == 1:
            return self
        return self._replace(primals=tuple(self._whole([broadcast_to(x, shape) for x in self.values], self.primals)))


def _rule_for(application: _LaplacianApplication) -> Callable[[_LaplacianApplication], _Carried]:
    """Return the rule that needs the least work."""
    derivative, count = application.primitive.derivative, len(application.active)
    if is_linear_in(derivative, application.active.keys()):
        return _linear
    real = all(aval_of(x).dtype.kind != "c" for x in application.values)
    if application.primitive.elementwise and count == 1 and real:
        return _elementwise
    return _product if getattr(derivative, "is_product", False) and count == 2 else _general


def _linear(application: _LaplacianApplication) -> _Carried:
    """Push derivatives and Laplacians as tangents, because the second derivative is zero."""
    ys = application.run(application.values)
    application = application.kept()

    @functools.cache
    def pushed() -> list[DerivativeRows]:
        first = application.parts[0]
        if is_sum(application.primitive) and first.inputs is not None:
            return [summed(first, application.trace.total, **application.params)]
        parts, inputs = application.arranged(ys)
        return [_rows(*each, parts) for each in zip(application.push_rows(ys, parts), inputs, ys, strict=True)]

    laplacians = application.push(ys, application.laplacians)
    return [
        (y, (Directions(lambda i=i: pushed()[i]), laplacian))
        for i, (y, laplacian) in enumerate(zip(ys, laplacians, strict=True))
    ]


def _elementwise(application: _LaplacianApplication) -> _Carried:
    """Multiply derivatives by the slope, and their squares by the curvature."""
    ((directions, laplacian),), (x,) = application.active.values(), application.values
    (y,), (slope,), (curvature,) = application.push_twice(ones_like(x))
    if slope is None:
        return [(y, None)]
    shape = aval_of(y).shape
    parts = [None if laplacian is None else slope * laplacian]
    parts.append(None if curvature is None else curvature * squares(directions.rows))

    def scaled() -> DerivativeRows:
        rows = spread(directions.rows, shape)
        return DerivativeRows(rows.values * slope, rows.inputs)

    return [(y, (Directions(scaled), _sum(parts)))]


def _product(application: _LaplacianApplication) -> _Carried:
    """Return a product of two factors: its Laplacian has twice the products of their derivatives."""
    (y,) = application.run(application.values)
    parts, inputs = application.rows([y])
    products = on_rows(lambda *x_dots: application.run(x_dots)[0], [rows.values for rows in parts])
    (laplacian,) = application.push([y], application.laplacians)

    def pushed() -> DerivativeRows:
        return _rows(application.push_rows([y], parts)[0], inputs, y, parts)

    return [(y, (Directions(pushed), _sum([laplacian, 2 * reduce_sum(products, (0,))])))]


def _general(application: _LaplacianApplication) -> _Carried:
    """Differentiate twice along each row."""
    ys = application.run(application.values)
    shape = aval_of(ys[0]).shape
    parts, inputs = application.rows(ys)
    whole = application.spread(shape) if application.primitive.elementwise else application
    pairs = on_rows(lambda *x_dots: [*itertools.chain(*whole.push_twice(*x_dots)[1:])], [r.values for r in parts])
    first, second = pairs[: len(ys)], pairs[len(ys) :]
    laplacians = application.push(ys, application.laplacians)
    carried = []
    for y, slopes, curvatures, laplacian in zip(ys, first, second, laplacians, strict=True):
        total = _sum([laplacian, None if curvatures is None else reduce_sum(curvatures, (0,))])
        rows = None if slopes is None else DerivativeRows(slopes, inputs)
        carried.append((y, None if rows is None else (Directions(lambda rows=rows: rows), total)))
    return carried


def _rows(values: PyTree, inputs: np.ndarray | None, y: Value, parts: Sequence[DerivativeRows]) -> DerivativeRows:
    """Return derivatives as rows, also where a rule says that they are zero (`copysign`)."""
    if values is None:
        aval = aval_of(y)
        values = np.zeros((len(parts[0].values), *aval.shape), aval.dtype)
    return DerivativeRows(values, inputs)


def _sum(parts: Sequence[Any]) -> Any:
    found = [part for part in parts if part is not None]
    return sum(found[1:], found[0]) if found else None


def _tangent(y: ArrayLike, trace: ForwardTrace) -> Any:
    return y._tangent if type(y) is ForwardTracer and y._owner is trace else None


def _value(y: ArrayLike, trace: ForwardTrace) -> Any:
    return y._value if type(y) is ForwardTracer and y._owner is trace else y
