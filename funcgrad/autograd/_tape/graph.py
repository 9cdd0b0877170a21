"""Walks over the tape: the nodes needed for given inputs, and the tape with tensors for higher derivatives.

The tape keeps plain values, so a first derivative costs no more than needed. To differentiate a derivative, the kept
values have to be tensors again, with their history. Each node keeps the id of its value. A kept value was an operand or
the result of its operation, and all of them existed while it was recorded. So equal ids mean the same value. A node
refers only to its parents, so there is no reference cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.trace.backward import Pieces
from funcgrad._core.trace.checked import pulls_in_use
from funcgrad._core.trace.tape import is_freed, is_joint, kept_by, parents_of, primitive_of, pulled
from funcgrad._types import Array
from funcgrad.autograd._tape.base import TensorNode, TensorTrace
from funcgrad.autograd._tape.hooks import hooked, hooked_after
from funcgrad.autograd._tape.saved import PackedValue, linked, packed, tensor_of, unpacked
from funcgrad.autograd._tape.writes import WRITES


def needed_nodes(roots: Iterable[TensorNode], inputs: set[TensorNode]) -> set[Any]:
    """Return the nodes on the paths from the roots to the inputs, and those that an earlier pass has freed."""
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
    """The additional work of a reverse pass at each node.

    Args:
        wanted: nodes whose cotangents are kept.
        needed: the only nodes that the pass visits; ``None`` for all.
        trace: the trace that records the pass, if any.
    """

    def __init__(self, wanted: Any, needed: set[Any] | None, trace: TensorTrace | None) -> None:
        self._wanted = wanted
        self._needed = needed
        self._trace = trace
        self.captured: dict[Any, Any] = {}
        self._pulls = pulls_in_use()

    def __call__(self, node: Any, y_bar: Array) -> list[tuple[Any, Any]]:
        """Return the parents to go on with, each with its cotangent."""
        if hasattr(node, "hooks"):
            y_bar = _settled(y_bar) if isinstance(y_bar, Pieces) else y_bar
            y_bar = hooked(node, y_bar, is_recorded=self._trace is not None)
        if node in self._wanted:
            # A cotangent in pieces will be added to, so it is copied here.
            self.captured[node] = _settled(y_bar) if isinstance(y_bar, Pieces) else y_bar
        needed = self._needed
        parents = parents_of(node)
        if needed is not None and not any(parent in needed for parent in parents):
            return []
        if node[0] < WRITES.last:
            WRITES.check(node)
        if self._trace is None:
            x_bars = pulled(y_bar, unpacked(node) if packed else node, self._pulls)
        elif is_joint(node):
            x_bars = _recorded_split(self._trace, node, y_bar)
        else:
            x_bars = pulled(y_bar, _linked_node(self._trace, node), self._pulls)
        if hasattr(node, "hooks"):
            asked = zip(parents, x_bars, strict=True)
            x_bars = [bar if needed is None or parent in needed else None for parent, bar in asked]
            x_bars = hooked_after(node, x_bars, y_bar, is_recorded=self._trace is not None)
        pairs = zip(parents, x_bars, strict=True)
        return [pair for pair in pairs if needed is None or pair[0] in needed]


def _settled(pieces: Pieces) -> Any:
    total = pieces.total()
    return total.copy() if type(total) is np.ndarray else total


def _linked_node(trace: TensorTrace, node: Any) -> Any:
    """Return the node with its kept values as tensors, if these have a history."""
    parents = parents_of(node)
    sources = {}
    for parent in parents:
        if not is_joint(parent):
            sources[parent.value_id] = parent
            sources.update(dict.fromkeys(_copies(parent), parent))
    if hasattr(node, "title"):
        # After an in-place operation, the result has the id of the parent's value, which exists only as a copy.
        sources[node.value_id] = node
    else:
        sources.setdefault(node.value_id, node)
    sources.update(dict.fromkeys(_copies(node), node))
    kept = tuple(
        [linked(trace, node, x) if type(x) is PackedValue else _linked(trace, x, sources) for x in kept_by(node)]
    )
    return *node[: 2 + len(parents)], *kept


def _copies(node: Any) -> list[int]:
    """Return the ids of the kept copies of a node's overwritten value."""
    return [id(copy) for reference in getattr(node, "copies", ()) if (copy := reference()) is not None]


def _linked(trace: TensorTrace, kept: Any, sources: dict[int, Any]) -> Any:
    if type(kept) is tuple:
        return tuple([_linked(trace, x, sources) for x in kept])
    return tensor_of(trace, kept, sources[id(kept)]) if id(kept) in sources else kept


def _recorded_split(trace: TensorTrace, node: Any, y_bars: Any) -> Any:
    """Return the cotangents of an operation whose rule may keep anything: run it again, on tensors."""
    primitive: Any = primitive_of(node)
    primals, active, params = kept_by(node)[2]
    operands = [
        tensor_of(trace, x, parent) if active >> i & 1 else x
        for i, (x, parent) in enumerate(zip(primals, parents_of(node), strict=True))
    ]
    _, rule, kept = primitive.derivative.record(primitive, tuple(operands), active, params)
    return rule(y_bars, *kept)
