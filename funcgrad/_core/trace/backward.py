"""The reverse pass: a loop that computes cotangents from the results of a tape back to its inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from types import FrameType
from typing import Any

import numpy as np

from funcgrad._core.bind import onlookers
from funcgrad._core.graph.line import Line, around, replays
from funcgrad._core.trace.checked import pulls_in_use
from funcgrad._core.trace.tape import freed_kinds, parent_counts, parents_of, pulls, takes_pieces
from funcgrad._types import Value

_NDARRAY = np.ndarray


class Pieces:
    """A cotangent of ``x`` that arrives in pieces, as of ``x[i]``. One buffer takes all pieces."""

    __slots__ = ()

    def add(self, other: Value) -> Any:
        """Add a further cotangent, whole or in pieces, and return the sum."""
        raise NotImplementedError

    def total(self) -> Any:
        """Return the cotangent as one array."""
        raise NotImplementedError

    def result(self) -> Any:
        """Return the cotangent of an input for the user, perhaps not as a whole array."""
        return self.total()


# One loop: a function call for each node would take as long as the rest of the work for it.
# The largest block that glibc's rule counts is 32 MiB with its header.
_BLOCK = (32 << 20) - 8192


@functools.cache
def keep_pages() -> None:
    """Make glibc keep up to 64 MiB of freed memory; other C libraries are left as they are.

    A training step frees its arrays, and the next step allocates them again. glibc returns free memory to the system if
    there is more of it than twice the largest block that was ever freed (``mallopt(3)``, "dynamic mmap threshold"). The
    next step then waits for each page of 4 KiB again: 0.2 us on a desktop, 7 us on a virtual machine, where an eager
    step of an LSTM (20 steps, batch 32, width 64) took 3.5 ms instead of 1.9 ms. Freeing one block of 32 MiB raises the
    limit. Nothing is written to the block, so it never takes memory.
    """
    np.empty(_BLOCK, np.uint8)


def backward_pass(  # noqa: C901, PLR0912, PLR0915  (see above)
    seeds: Iterable[tuple[Any, Any]],
    *,
    free: bool = False,
    visit: Callable[[Any, Any], list[tuple[Any, Any]]] | None = None,
    sparse: bool = False,
    suspect: int = -1,
    check: Callable[[Any], None] | None = None,
) -> dict[Any, Any]:
    """Carry cotangents from the given nodes down the tape.

    The node with the greatest serial number is always next: all operations that depend on it came later and are done. A
    heap finds it. The pass therefore visits only nodes that have a cotangent, and needs no recursion and no separate
    sort. If a parent is later than all nodes on the heap, it is next without having been on the heap. That saves 0.4
    us.

    Args:
        seeds: the nodes to start from, each with its cotangent.
        free: whether to empty each used node that keeps values, for a tape of lists. Tuples are freed by Python.
        visit: called with each node that has parents and with its cotangent. It returns a list of pairs (parent,
            cotangent) to go on with. An empty list stops there and leaves the node unchanged.
        suspect: without ``visit``, nodes of lower serial numbers are given to ``check`` before they are used.
        check: raises if a node must not be used.
        sparse: whether cotangents of leaves may be returned as `Pieces` decide; else all are arrays.

    Returns:
        the cotangents of the nodes without parents, by node.
    """
    keep_pages()
    nodes: dict[int, Any] = {}
    bars: dict[int, Any] = {}
    heap: list[int] = []
    owned: set[int] = set()
    leaves: dict[Any, Any] = {}
    pairs: Any = seeds
    pull_of = pulls_in_use() if onlookers else pulls
    while True:
        # The parent that is next, unless a later one is found.
        ahead: Any = None
        y_bar: Any = None
        for parent, x_bar in pairs:
            if parent is None or x_bar is None:
                continue
            serial = parent[0]
            if not parent_counts[parent[1]]:
                leaves[parent] = _accumulate(leaves[parent], x_bar, serial, owned) if parent in leaves else x_bar
            elif serial in bars:
                bars[serial] = _accumulate(bars[serial], x_bar, serial, owned)
            elif ahead is None and (not heap or serial > -heap[0]):
                ahead, y_bar = parent, x_bar
            elif parent is ahead:
                y_bar = _accumulate(y_bar, x_bar, serial, owned)
            else:
                if ahead is not None and serial > ahead[0]:
                    ahead, y_bar, parent, x_bar = parent, x_bar, ahead, y_bar  # noqa: PLW2901  (the other one waits)
                    serial = parent[0]
                bars[serial], nodes[serial] = x_bar, parent
                heappush(heap, -serial)
        # Drop these references at once: they are arrays, and memory would stay allocated.
        pairs = x_bars = x_bar = parent = None
        if ahead is None:
            if not heap:
                break
            serial = -heappop(heap)
            ahead, y_bar = nodes.pop(serial), bars.pop(serial)
        while pairs is None:
            node = ahead
            if type(y_bar) is not _NDARRAY and issubclass(type(y_bar), Pieces) and not takes_pieces(node):
                pieces: Any = y_bar
                y_bar = pieces.total()
                del pieces
            if visit is not None:
                pairs = visit(node, y_bar)
            else:
                if node[0] < suspect and check is not None:
                    check(node)
                kind = node[1]
                x_bars = pull_of[kind](y_bar, node)
                count = parent_counts[kind]
                if count == 2:
                    pairs = ((node[2], x_bars[0]), (node[3], x_bars[1]))
                elif count != 1:
                    pairs = zip(parents_of(node), x_bars, strict=True)
                else:
                    ahead = node[2]
                    if x_bars is None or not parent_counts[ahead[1]] or (heap and ahead[0] <= -heap[0]):
                        pairs = ((ahead, x_bars),)
                    else:
                        y_bar = x_bars
            if free and (visit is None or pairs):
                freed = freed_kinds[node[1]]
                if freed is not None:
                    node[1:] = (freed,)
    for node, x_bar in leaves.items():
        if type(x_bar) is not _NDARRAY and issubclass(type(x_bar), Pieces):
            leaves[node] = x_bar.result() if sparse else x_bar.total()
    return leaves


def _recorded(frame: FrameType, made_at: Callable[[int], Line | None]) -> Line | None:
    """Return the origin of the operation whose node is being pulled."""
    node = frame.f_locals.get("node")
    line = None if node is None else made_at(node[0])
    return (around(frame) if line is None else line).back


replays(backward_pass, _recorded)


def _accumulate(old: Value, new: Value, serial: int, owned: set[int]) -> Any:
    """Add two cotangents of one node, in place if the buffer belongs to this pass."""
    if issubclass(type(old), Pieces):
        return old.add(new)
    if issubclass(type(new), Pieces):
        return new.add(old)
    # The old value may have become a tracer, because an outer transform traces one of its cotangents.
    bare = serial in owned and type(old) is type(new) is _NDARRAY
    if bare and new.dtype == old.dtype and new.shape == old.shape:
        return np.add(old, new, out=old)
    total = old + new
    if type(total) is np.ndarray:
        owned.add(serial)
    return total
