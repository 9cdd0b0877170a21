"""Walks over the tape: what is needed for given inputs, and the tape anew for derivatives of derivatives.

The tape keeps plain values, so a first derivative costs no more than it must. For a derivative that is itself to be
differentiated the kept values have to be tensors again, with their history. Each node remembers the identity of the
value it gave. A kept value was an operand or the result of its operation, and while that was recorded all of them were
alive, so equal identities mean the same value. Nothing refers back up the tape, hence there is no reference cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.trace.backward import Pieces
from funcgrad._core.trace.checked import pulls_in_use
from funcgrad._core.trace.tape import is_freed, is_joint, kept_by, parents_of, primitive_of, pulled
from funcgrad.autograd._tape.base import TensorBase, TensorNode, TensorTrace
from funcgrad.autograd._tape.hooks import hooked
from funcgrad.autograd._tape.writes import WRITES


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
        trace: the trace that is to record the pass, if it is to be recorded.
    """

    def __init__(self, wanted: Any, needed: set[Any] | None, trace: TensorTrace | None) -> None:
        self._wanted = wanted
        self._needed = needed
        self._trace = trace
        self.captured: dict[Any, Any] = {}
        self._pulls = pulls_in_use()

    def __call__(self, node: Any, y_bar: Any) -> list[tuple[Any, Any]]:
        """The parents that the pass is to go on with, each with its cotangent."""
        if hasattr(node, "hooks"):
            y_bar = _settled(y_bar) if isinstance(y_bar, Pieces) else y_bar
            y_bar = hooked(node, y_bar, is_recorded=self._trace is not None)
        if node in self._wanted:
            # A cotangent in pieces goes on to be worked in.
            self.captured[node] = _settled(y_bar) if isinstance(y_bar, Pieces) else y_bar
        needed = self._needed
        parents = parents_of(node)
        if needed is not None and not any(parent in needed for parent in parents):
            return []
        if node[0] < WRITES.last:
            WRITES.check(node)
        if self._trace is None:
            x_bars = pulled(y_bar, node, self._pulls)
        elif is_joint(node):
            x_bars = _recorded_split(self._trace, node, y_bar)
        else:
            x_bars = pulled(y_bar, _linked_node(self._trace, node), self._pulls)
        pairs = zip(parents, x_bars, strict=True)
        return [pair for pair in pairs if needed is None or pair[0] in needed]


def _settled(pieces: Pieces) -> Any:
    total = pieces.total()
    return total.copy() if type(total) is np.ndarray else total


def _linked_node(trace: TensorTrace, node: Any) -> Any:
    """The node with its kept values as tensors, where these have a history."""
    parents = parents_of(node)
    sources = {}
    for parent in parents:
        if not is_joint(parent):
            sources[parent.value_id] = parent
            sources.update(dict.fromkeys(_copies(parent), parent))
    if hasattr(node, "title"):
        # In place its result lies where the value of a parent was, which is kept nowhere but as a copy.
        sources[node.value_id] = node
    else:
        sources.setdefault(node.value_id, node)
    sources.update(dict.fromkeys(_copies(node), node))
    return *node[: 2 + len(parents)], *_linked(trace, tuple(kept_by(node)), sources)


def _copies(node: Any) -> list[int]:
    """The identities of the copies of a node's value that are kept, since the value was overwritten."""
    return [id(copy) for reference in getattr(node, "copies", ()) if (copy := reference()) is not None]


def _linked(trace: TensorTrace, kept: Any, sources: dict[int, Any]) -> Any:
    if type(kept) is tuple:
        return tuple([_linked(trace, x, sources) for x in kept])
    return _tensor(trace, kept, sources[id(kept)]) if id(kept) in sources else kept


def _tensor(trace: TensorTrace, value: Any, node: Any) -> TensorBase:
    """The value as the result of a node that is on the tape already."""
    tensor = trace.constant(value)
    tensor._node = node
    return tensor


def _recorded_split(trace: TensorTrace, node: Any, y_bars: Any) -> Any:
    """The cotangents of an operation whose rule may keep anything: it is run anew, on tensors."""
    primitive: Any = primitive_of(node)
    primals, active, params = kept_by(node)[2]
    operands = [
        _tensor(trace, x, parent) if active >> i & 1 else x
        for i, (x, parent) in enumerate(zip(primals, parents_of(node), strict=True))
    ]
    _, rule, kept = primitive.derivative.record(primitive, tuple(operands), active, params)
    return rule(y_bars, *kept)
