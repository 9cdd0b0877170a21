"""Operations that compute the cotangents of all operands together: they have several results or one joint rule.

The operation is one node, the hub: ``(serial, kind, *parents, rule, kept, origin)``; a parent may be ``None``.
``rule(y_bars, *kept)`` takes a cotangent or ``None`` per result and returns a cotangent or ``None`` per parent. Each
result is a node that gives its cotangent to the hub: ``(serial, kind, hub, index, count)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funcgrad._core.trace.backward import Pieces
from funcgrad._core.trace.tape import Node, Pull, new_kind, next_serial
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive


class Components(Pieces):
    """Collects the cotangents of the results of a joint node; a result without one has ``None``."""

    __slots__ = ("bars",)

    def __init__(self, y_bar: Value, index: int, count: int) -> None:
        self.bars = [None] * count
        self.bars[index] = y_bar

    def add(self, other: Value) -> Components:
        self.bars = [mine if its is None else its for mine, its in zip(self.bars, other.bars, strict=True)]
        return self

    def total(self) -> list:
        return self.bars


_hub_kinds: dict[tuple[Primitive, int], int] = {}
_component_kinds: dict[Primitive, int] = {}


def hub(primitive: Primitive, parents: Sequence[Any], rule: Any, kept: tuple, origin: Any) -> Node:
    """Return the node of the whole operation."""
    count = len(parents)
    kind = _hub_kinds.get((primitive, count))
    if kind is None:
        kind = _hub_kinds[primitive, count] = new_kind(primitive, count, _hub_pull(count), joint=True)
    return next_serial(), kind, *parents, rule, kept, origin


def _hub_pull(count: int) -> Pull:
    def pull(y_bars: Value, node: Node) -> Any:
        rule, kept, _ = node[2 + count :]
        x_bars = rule(y_bars, *kept)
        return x_bars[0] if count == 1 else x_bars

    return pull


def component(primitive: Primitive, whole: Node, index: int, count: int) -> Node:
    """Return the node of one of several results."""
    kind = _component_kinds.get(primitive)
    if kind is None:
        kind = _component_kinds[primitive] = new_kind(
            primitive, 1, lambda y_bar, node: Components(y_bar, *node[3:]), keeps_values=False
        )
    return next_serial(), kind, whole, index, count
