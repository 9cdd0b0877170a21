"""The tape as data: its nodes are plain tuples, and what all nodes of one kind share is kept once.

A node is ``(serial, kind, *parents, *kept)``: its number in recording order (descending, it is a topological order of
any part of the tape), which kind of operation it is, the nodes
of the operands that the result depends on, and the values that the derivative reads. Nodes refer to their parents and
to nothing else, so what nobody needs any more is freed at once. One tuple a node is also the least that Python's
garbage collector can be given to look after: with an object, edges and tuples of kept values for each operation it
took more time than the operations from some 10,000 on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from funcgrad._core.bind import next_serial

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

Node: TypeAlias = Sequence[Any]
# ``pull(y_bar, node)``: the cotangent of the parent; where there are several parents, a sequence with one for each.
Pull: TypeAlias = Callable[[Any, Node], Any]


class Kind(NamedTuple):
    """What the nodes of one kind share, as far as only those who look at the tape read it."""

    primitive: Primitive | None
    # Which of the operation's differentiable operands the parents are. ``None`` is all of them.
    active: Sequence[bool] | None = None
    # Whether the cotangents of several results are gathered here: see ``joint.py``.
    joint: bool = False
    # Whether the pull takes a cotangent in pieces as it is, rather than as an array.
    pieces: bool = False
    # Whether a pass has freed the nodes.
    freed: bool = False


# By the number of a kind. What the pass reads of every node stands in lists of its own: how many parents there are, how
# a cotangent is pulled to them, and which kind a node gets when it is freed, which still knows what it was. None for
# nodes that keep no values: they can serve another pass, as in PyTorch.
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
    """A kind of node, with ``count`` parents."""
    # Kinds are made as they are first needed, by any thread: what stands in one place of the lists belongs together.
    with _making:
        kind = len(pulls)
        freed_kinds.extend((kind + 1 if keeps_values else None, None))
        parent_counts.extend((count, 0))
        pulls.extend((pull, None))
        _kinds.extend((Kind(primitive, active, joint, pieces), Kind(primitive, freed=True)))
    return kind


LEAF = new_kind(None, 0, None)


def new_leaf() -> Node:
    """A node that stands for an input."""
    return next_serial(), LEAF


def is_freed(node: Node) -> bool:
    """Whether a pass has freed the node."""
    return _kinds[node[1]].freed


def is_joint(node: Node) -> bool:
    """Whether a node stands for an operation whose cotangents are computed together."""
    return _kinds[node[1]].joint


def takes_pieces(node: Node) -> bool:
    """Whether a node takes its cotangent in pieces."""
    return _kinds[node[1]].pieces


def parents_of(node: Node) -> Sequence[Any]:
    """The nodes that a node's cotangent goes to; ``None`` for an operand of a joint operation that takes none."""
    return node[2 : 2 + parent_counts[node[1]]]


def operands_of(node: Node) -> Sequence[Any]:
    """The nodes of all differentiable operands, ``None`` for those that the result does not depend on."""
    parents = iter(parents_of(node))
    active = _kinds[node[1]].active
    return tuple(parents) if active is None else tuple([next(parents) if one else None for one in active])


def primitive_of(node: Node) -> Any:
    """The operation that a node stands for; ``None`` for an input."""
    return _kinds[node[1]].primitive


def kept_by(node: Node) -> Sequence[Any]:
    """The values that the derivative reads."""
    return node[2 + parent_counts[node[1]] :]


def pulled(y_bar: Any, node: Node, pull_of: Any = pulls) -> Sequence[Any]:
    """The cotangents of the parents, one for each."""
    kind = node[1]
    x_bars = pull_of[kind](y_bar, node)
    return (x_bars,) if parent_counts[kind] == 1 else x_bars


def bits(active: int) -> list[int]:
    """The numbers of the operands in a set of active operands."""
    return [i for i in range(active.bit_length()) if active >> i & 1]
