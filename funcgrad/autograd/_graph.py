"""Walks over the tape: what is needed for given inputs, and the tape anew for derivatives of derivatives.

The tape keeps plain values, so a first derivative costs no more than it must. For a derivative that is itself to be
differentiated the kept values have to be tensors again, with their history. Each node remembers the identity of the
value it gave. A kept value was an operand or the result of its operation, and while that was recorded all of them were
alive, so equal identities mean the same value. Nothing refers back up the tape, hence there is no reference cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funcgrad._core.trace.tape import is_freed, is_joint, kept_by, parents_of, primitive_of, pulled
from funcgrad.autograd._base import TRACE, TensorBase, TensorNode
from funcgrad.autograd._writes import check_unwritten, last_write


def needed_nodes(roots: Iterable[TensorNode], inputs: set[TensorNode]) -> set[Any]:
    """The nodes on the ways from the roots to the inputs, and those that an earlier pass has freed."""
    lowest = min(node[0] for node in inputs)
    found: dict[int, Any] = {}
    pending: list[Any] = list(roots)
    while pending:
        node = pending.pop()
        if node[0] >= lowest and node[0] not in found:
            found[node[0]] = node
            pending += [parent for parent in parents_of(node) if parent is not None]
    needed: set[Any] = set()
    for serial in sorted(found):
        node = found[serial]
        if is_freed(node) or node in inputs or any(parent in needed for parent in parents_of(node)):
            needed.add(node)
    return needed


class Visitor:
    """What a reverse pass does at each node beside the plain work.

    Args:
        wanted: nodes whose cotangents are to be kept.
        needed: the nodes to which the pass is confined; ``None`` for all.
        linked: whether the pass is to be recorded.
    """

    def __init__(self, wanted: Any, needed: set[Any] | None, linked: bool) -> None:
        self._wanted = wanted
        self._needed = needed
        self._linked = linked
        self.captured: dict[Any, Any] = {}

    def __call__(self, node: Any, y_bar: Any) -> list[tuple[Any, Any]]:
        """The parents that the pass is to go on with, each with its cotangent."""
        if node in self._wanted:
            self.captured[node] = y_bar
        needed = self._needed
        parents = parents_of(node)
        if needed is not None and not any(parent in needed for parent in parents):
            return []
        if node[0] < last_write[0]:
            check_unwritten(node)
        if self._linked:
            x_bars = _recorded_split(node, y_bar) if is_joint(node) else pulled(y_bar, _linked_node(node))
        else:
            x_bars = pulled(y_bar, node)
        pairs = zip(parents, x_bars, strict=True)
        return [pair for pair in pairs if needed is None or pair[0] in needed]


def _linked_node(node: Any) -> Any:
    """The node with its kept values as tensors, where these have a history."""
    parents = parents_of(node)
    sources = {parent.value_id: parent for parent in parents if not is_joint(parent)}
    sources.setdefault(node.value_id, node)
    return *node[: 2 + len(parents)], *_linked(tuple(kept_by(node)), sources)


def _linked(kept: tuple, sources: dict[int, Any]) -> tuple:
    return tuple(
        [
            _linked(x, sources) if type(x) is tuple else _tensor(x, sources[id(x)]) if id(x) in sources else x
            for x in kept
        ]
    )


def _tensor(value: Any, node: Any) -> TensorBase:
    """The value as the result of a node that is on the tape already."""
    tensor = TRACE.constant(value)
    tensor.node = node
    return tensor


def _recorded_split(node: Any, y_bars: list) -> Any:
    """The cotangents of an operation whose rule may keep anything: it is run anew, on tensors."""
    primitive: Any = primitive_of(node)
    primals, active, params = kept_by(node)[2]
    operands = [
        _tensor(x, parent) if active >> i & 1 else x
        for i, (x, parent) in enumerate(zip(primals, parents_of(node), strict=True))
    ]
    _, rule, kept = primitive.derivative.record(primitive, tuple(operands), active, params)
    return rule(y_bars, *kept)
