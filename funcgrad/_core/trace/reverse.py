"""Reverse mode: a trace that runs primitives on the values beneath, and records them on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import NUMPY_TYPES, Trace, Tracer, bind
from funcgrad._core.trace.derivative import NodeMaker, lasting
from funcgrad._core.trace.joint import component, hub
from funcgrad._core.trace.kept import copied
from funcgrad._core.trace.place import frozen
from funcgrad._core.trace.reads import rounded
from funcgrad._core.trace.tape import LEAF, Node, next_serial, primitive_of
from funcgrad._types import Value
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

_NDARRAY = np.ndarray


@register_leaf
class ReverseTracer(Tracer):
    """A value and the node that made it."""

    __slots__ = ()
    _held = ("_value", "_node", "_shape", "_dtype")

    # It is None only if a trace of another kind has values that need no derivative.
    _node: Any

    @property
    def _serial(self) -> int:
        """The serial number of its creation."""
        return 0 if self._node is None else self._node[0]

    def __init__(self, trace: Trace, value: Value, node: Node | None) -> None:
        self._owner = trace
        self._value = value
        self._node = node
        try:
            self._shape = value.shape
            self._dtype = value.dtype
        except AttributeError:
            # The value is a Python number.
            aval = aval_of(value)
            self._shape = aval.shape
            self._dtype = aval.dtype

    @property
    def aval(self) -> Aval:
        return aval_of(self._value)


class ReverseTrace(Trace):
    """Runs each primitive on the values beneath and records a node if the result depends on an input."""

    transform = "grad"
    notes_reads = True
    # The types of tracers and nodes. The imperative layer replaces them.
    tracer_type = ReverseTracer
    node_type: Callable[[Any], Node] = tuple

    def made_at(self, x: Value) -> str:
        operation = None if x._node is None else primitive_of(x._node)
        role = "one of the arguments" if operation is None else f"the result of {operation.name}"
        return super().made_at(x) and f"{super().made_at(x)}, as {role}"

    def input(self, value: Value) -> ReverseTracer:
        return ReverseTracer(self, frozen(value) if isinstance(value, Tracer) else value, (next_serial(), LEAF))

    # The common cases are in this one function: each further call would take a tenth of the operation's time.
    def apply(  # noqa: C901, PLR0912  (see above)
        self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True
    ) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        if len(operands) == 1:
            # There is one operand, so it is a tracer of this trace.
            (x,) = operands
            value = x._value
            if type(value) is _NDARRAY:
                record = (primitive.recorders_with_params if params else primitive.recorders)[1]
                if record is not None:
                    return record(self, params, value, x._node)
            return self._apply(primitive, (value,), (x._node,), params)
        tracer_type = self.tracer_type
        if len(operands) == 2:
            a, b = operands
            a_node = b_node = None
            active = 0
            if type(a) is tracer_type and a._owner is self:
                a_node, a = a._node, a._value
                if a_node is not None:
                    active += 1
            if type(b) is tracer_type and b._owner is self:
                b_node, b = b._node, b._value
                if b_node is not None:
                    active += 2
            # If both values are NumPy's and one is an array, the result is no Python number.
            if (type(a) is _NDARRAY and type(b) in NUMPY_TYPES) or (type(b) is _NDARRAY and type(a) in NUMPY_TYPES):
                record = (primitive.recorders_with_params if params else primitive.recorders)[active]
                if record is not None:
                    return record(self, params, a, b, a_node, b_node)
            # The user may write to a value that does not belong to this trace.
            if a_node is None and type(a) not in NUMPY_TYPES:
                a = frozen(a)
            if b_node is None and type(b) not in NUMPY_TYPES:
                b = frozen(b)
            return self._apply(primitive, (a, b), (a_node, b_node), params)
        return self._apply_many(primitive, operands, params)

    def _apply_many(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        """Apply a primitive to three or more operands."""
        primals = []
        nodes = []
        active = 0
        bit = 1
        plain = True
        for x in operands:
            node = None
            value = x
            if type(x) is self.tracer_type and x._owner is self:
                node, value = x._node, x._value
                if node is not None:
                    active += bit
            elif type(x) not in NUMPY_TYPES:
                value = frozen(x)
            primals.append(value)
            nodes.append(node)
            plain = plain and type(value) in NUMPY_TYPES
            bit += bit
        if plain and len(primals) == 3 and type(primals[0]) is _NDARRAY:
            record = (primitive.recorders_with_params if params else primitive.recorders)[active]
            if record is not None:
                return record(self, params, *primals, *nodes)
        return self._apply(primitive, tuple(primals), tuple(nodes), params)

    def _apply(self, primitive: Primitive, primals: tuple, nodes: tuple, params: dict) -> Any:
        """Apply a primitive to any number of operands of any kind."""
        if len(nodes) == 1:
            active = 0 if nodes[0] is None else 1
        else:
            active = sum([1 << i for i, node in enumerate(nodes) if node is not None])
        if primitive.multiple_results:
            return self._apply_joint(primitive, primals, nodes, active, params)
        y = bind(primitive, primals, params)
        make_node = primitive.node_makers.get(active) or _prepare(primitive, active, params)
        node = make_node(self, primals, nodes, y, params)
        if node is not None:
            return self.tracer_type(self, y, node)
        if primitive.rounds:
            rounded(self, nodes, params)
        return self.constant(y)

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Return a plain array for a node to keep: a copy, because the user may write to the array."""
        return copied(x)

    def constant(self, y: Value) -> Any:
        """Return the value of a result that depends on no input, or has no derivative."""
        return y

    def _apply_joint(self, primitive: Primitive, primals: tuple, nodes: tuple, active: int, params: dict) -> list[Any]:
        ys, rule, kept = primitive.derivative.record(primitive, primals, active, params)
        if rule is None:
            return [self.constant(y) for y in ys]
        # The function gets results without a derivative as plain arrays.
        made = [True if is_inexact(aval_of(y).dtype) else None for y in ys]
        kept = lasting(self, kept, (*primals, *ys), (*nodes, *made))
        together = self.node_type(hub(primitive, nodes, rule, kept, self.origin_of(primals, active, params)))
        return [
            self.tracer_type(self, y, component(primitive, together, i, len(ys))) if made[i] else self.constant(y)
            for i, y in enumerate(ys)
        ]

    def origin_of(self, primals: tuple, active: int, params: dict) -> Any:
        """Return the note about its operation that a joint node keeps besides the values for its rule."""
        return None


def _prepare(primitive: Primitive, active: int, params: dict) -> NodeMaker:
    """Return the function that records applications for a set of active operands; it is made at the first call."""
    derivative = primitive.derivative
    recorder = getattr(derivative, "recorder", None)
    if len(primitive.operands) <= 3 and recorder is not None:
        recorders = primitive.recorders_with_params if params else primitive.recorders
        recorders[active] = recorder(primitive, active, bool(params))
    maker = primitive.node_makers[active] = derivative.node_maker(primitive, active)
    return maker
