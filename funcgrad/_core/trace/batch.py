"""Batching: each value has a leading axis that the user's function does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Trace, Tracer, keeps, next_serial
from funcgrad._types import Value
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive


@register_leaf
class BatchTracer(Tracer):
    """A batch of values along the leading axis of one array."""

    __slots__ = ()
    _held = ("_value", "_serial")

    # The serial number of its creation.
    _serial = vars(Tracer)["_node"]

    def __init__(self, trace: Trace, value: Value) -> None:
        self._owner = trace
        self._value = value
        self._serial = next_serial()

    @property
    def shape(self) -> tuple[int, ...]:
        return self._value.shape[1:]

    shape = shape.setter(keeps("shape"))

    @property
    def dtype(self) -> np.dtype:
        return self._value.dtype

    dtype = dtype.setter(keeps("dtype"))

    @property
    def aval(self) -> Aval:
        aval = aval_of(self._value)
        return Aval(aval.shape[1:], aval.dtype)


class Shared:
    """Marks a result of a batching rule that is the same for the whole batch, and has no batch axis."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class NamedAxis:
    """The axis that one call of ``vmap`` with an ``axis_name`` maps over. Another call has another axis.

    Args:
        name: the name.
        size: the length.
    """

    __slots__ = ("name", "size")

    def __init__(self, name: Any, size: int) -> None:
        self.name = name
        self.size = size

    def __repr__(self) -> str:
        return f"{self.name}[{self.size}]"


class NamedSize(int):
    """The length of a named axis, with the axis. Batching rules hand it on to the programs that they map."""

    axis: NamedAxis


def named_size(name: Any, size: int) -> NamedSize:
    """Return the length of a new axis of this name."""
    made = NamedSize(size)
    made.axis = NamedAxis(name, size)
    return made


def axis_of(size: int) -> NamedAxis | None:
    """Return the axis of a length; ``None`` if it has no name."""
    return size.axis if type(size) is NamedSize else None


class BatchTrace(Trace):
    """Runs each primitive once on whole batches, by its batching rule.

    A rule ``batch(size, operands, batched, params)`` gets the operands unchanged. Those flagged in ``batched`` have the
    batch as their leading axis. The rule returns the result with the batch leading, or a list of results. A
    result that is the same for the whole batch is wrapped in `Shared`.
    """

    transform = "vmap"
    concrete = False
    unknown = "it stands for one value per element of the batch"

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def input(self, value: Value) -> BatchTracer:
        """Return a tracer for an array whose leading axis is the batch."""
        return BatchTracer(self, value)

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        values, batched = [], []
        for x in operands:
            mine = type(x) is BatchTracer and x._owner is self
            batched.append(mine)
            values.append(x._value if mine else x)
        if primitive.batch is None:
            raise NotImplementedError(
                f"vmap: the primitive {primitive.name} has no batching rule. Apply it outside of vmap, or loop over "
                "the batch and stack the results."
            )
        results = primitive.batch(primitive, self.size, tuple(values), tuple(batched), params)
        if primitive.multiple_results:
            return [y.value if type(y) is Shared else BatchTracer(self, y) for y in results]
        return results.value if type(results) is Shared else BatchTracer(self, results)
