"""The tape as data: its nodes are plain tuples, and what all nodes of one kind share is stored once.

A node is ``(serial, kind, *parents, *kept)``: its serial number, the kind of its operation, the nodes of the operands
that the result depends on, and the values that the derivative reads. Falling serial numbers are a topological order of
any part of the tape. A node refers only to its parents, so nodes that nothing needs are freed at once. One tuple per
node is also the least work for Python's garbage collector. With an object, edges and tuples of kept values for each
operation, the collector took longer than the operations from about 10,000 of them on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from funcgrad._core.bind import next_serial
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

Node: TypeAlias = Sequence[Any]
# ``pull(y_bar, node)`` returns the cotangent of the parent, or a sequence with one for each of several parents.
Pull: TypeAlias = Callable[[Any, Node], Any]


class Kind(NamedTuple):
    """The shared properties of the nodes of one kind that a pass does not read."""

    primitive: Primitive | None
    # Which of the operation's differentiable operands the parents are; ``None`` means all.
    active: Sequence[bool] | None = None
    # Whether the node collects the cotangents of several results: see ``joint.py``.
    joint: bool = False
    # Whether the pull takes a cotangent in pieces unchanged, rather than as an array.
    pieces: bool = False
    # Whether a pass has freed the nodes.
    freed: bool = False


# Lists by the number of a kind. They hold what the pass reads of every node: the number of parents, the pull, and the
# kind that a node gets when it is freed, which still knows the operation. That kind is None for nodes that keep no
# values: such nodes can serve another pass, as in PyTorch.
parent_counts: list[int] = []
pulls: list[Any] = []
freed_kinds: list[int | None] = []
_kinds: list[Kind] = []
_making = threading.Lock()


def new_kind(
    primitive: Primitive | None,
    count: int,
    pull: Pull | None,
    active: Sequence[bool] | None = None,
    *,
    joint: bool = False,
    pieces: bool = False,
    keeps_values: bool = True,
) -> int:
    """Register a kind of node with ``count`` parents, and return its number."""
    # The entries of all lists at one position belong together, so a lock guards them against other threads. An
    # interruption may leave a list longer than ``pulls``, which therefore comes last, and its entries are overwritten.
    with _making:
        kind = len(pulls)
        freed_kinds[kind:] = kind + 1 if keeps_values else None, None
        parent_counts[kind:] = count, 0
        _kinds[kind:] = Kind(primitive, active, joint, pieces), Kind(primitive, freed=True)
        pulls[kind:] = pull, None
    return kind


LEAF = new_kind(None, 0, None)


def new_leaf() -> Node:
    """Return a node that stands for an input."""
    return next_serial(), LEAF


def is_freed(node: Node) -> bool:
    """Return whether a pass has freed the node."""
    return _kinds[node[1]].freed


def is_joint(node: Node) -> bool:
    """Return whether the operation of a node computes all its cotangents together."""
    return _kinds[node[1]].joint


def takes_pieces(node: Node) -> bool:
    """Return whether a node takes its cotangent in pieces."""
    return _kinds[node[1]].pieces


def parents_of(node: Node) -> Sequence[Any]:
    """Return the nodes that get a cotangent from this node.

    ``None`` for an operand of a joint operation that gets none.
    """
    return node[2 : 2 + parent_counts[node[1]]]


def operands_of(node: Node) -> Sequence[Any]:
    """Return the nodes of all differentiable operands, ``None`` for those that the result does not depend on."""
    parents = iter(parents_of(node))
    active = _kinds[node[1]].active
    return tuple(parents) if active is None else tuple([next(parents) if one else None for one in active])


def primitive_of(node: Node) -> Any:
    """Return the operation of a node; ``None`` for an input."""
    return _kinds[node[1]].primitive


def kept_by(node: Node) -> Sequence[Any]:
    """Return the values that the derivative reads."""
    return node[2 + parent_counts[node[1]] :]


def pulled(y_bar: Value, node: Node, pull_of: Any = pulls) -> Sequence[Any]:
    """Return the cotangents of the parents, one for each."""
    kind = node[1]
    x_bars = pull_of[kind](y_bar, node)
    return (x_bars,) if parent_counts[kind] == 1 else x_bars


def bits(active: int) -> list[int]:
    """Return the numbers of the operands in a set of active operands."""
    return [i for i in range(active.bit_length()) if active >> i & 1]
