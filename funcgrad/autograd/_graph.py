"""Walks over the tape: what is needed for given inputs, and the tape anew for derivatives of derivatives.

The tape keeps plain values, so a first derivative costs no more than it must. For a derivative that is itself to be
differentiated the kept values have to be tensors again, with their history. Each node remembers the identity of the
value it gave. A kept value was an operand or the result of its operation, and while that was recorded all of them were
alive, so equal identities mean the same value. Nothing refers back up the tape, hence there is no reference cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funcgrad._core.reverse import JointNode, Node
from funcgrad.autograd._base import TRACE, LeafNode, TensorBase, TensorNode


def needed_nodes(roots: Iterable[Node], inputs: set[Node]) -> set[Any]:
    """The nodes on the ways from the roots to the inputs, and those that an earlier pass has freed."""
    lowest = min(node.serial for node in inputs)
    found: dict[int, Any] = {}
    pending: list[Any] = list(roots)
    while pending:
        node = pending.pop()
        if node.serial >= lowest and node.serial not in found:
            found[node.serial] = node
            pending += [edge[0] for edge in node.edges if edge[0] is not None]
    needed: set[Any] = set()
    for serial in sorted(found):
        node = found[serial]
        freed = not node.edges and type(node) is not LeafNode
        if freed or node in inputs or any(edge[0] in needed for edge in node.edges):
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

    def __call__(self, node: Any, y_bar: Any) -> Any:
        """The edges that the pass is to take from this node."""
        if node in self._wanted:
            self.captured[node] = y_bar
        needed = self._needed
        if needed is not None and not any(edge[0] in needed for edge in node.edges):
            return ()
        if type(node) is JointNode:
            edges = _recorded_split(node, y_bar) if self._linked else node.split(y_bar)
        else:
            edges = _linked_edges(node) if self._linked else node.edges
        return edges if needed is None else [edge for edge in edges if edge[0] in needed]


def _linked_edges(node: Any) -> Any:
    """The edges with their kept values as tensors, where these have a history."""
    if type(node) is not TensorNode:
        # The root of the pass.
        return node.edges
    sources = {edge[0].value_id: edge[0] for edge in node.edges if type(edge[0]) is not JointNode}
    sources.setdefault(node.value_id, node)
    return [(parent, rule, _linked(kept, sources)) for parent, rule, kept in node.edges]


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


def _recorded_split(node: JointNode, y_bars: list) -> list:
    """The edges of an operation whose rule may keep anything: it is run anew, on tensors."""
    primals, active, params = node.origin
    parents = [edge[0] for edge in node.edges]
    operands = [
        _tensor(x, parent) if active >> i & 1 else x for i, (x, parent) in enumerate(zip(primals, parents, strict=True))
    ]
    derivative: Any = node.primitive.derivative
    _, rule, kept = derivative.record(node.primitive, tuple(operands), active, params)
    again = JointNode(node.primitive, parents, rule, kept)
    return again.split(y_bars)
