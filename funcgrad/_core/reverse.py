"""Reverse mode: the tape as data, and the reverse pass as a loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import NUMPY_TYPES, Trace, Tracer, bind, keep_weak
from funcgrad._core.derivative import Recorder
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

_serials = itertools.count()
_NO_DTYPE = np.dtype(np.void)


class Node:
    """One recorded operation: its primitive and an edge ``(parent, rule, kept values)`` per active operand.

    Serial numbers grow in recording order, so descending order is a topological order of any part of the tape.
    """

    __slots__ = ("__weakref__", "dtype", "edges", "primitive", "serial", "shape")

    def __init__(self, primitive: Primitive | None, edges: tuple, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.primitive = primitive
        self.edges = edges
        self.shape = shape
        self.dtype = dtype
        self.serial = next(_serials)


class Pieces:
    """A cotangent that arrives in pieces (of ``x[i]``, for one ``x``): one buffer takes them all."""

    __slots__ = ()

    def add(self, other: Any) -> Any:
        """Take a further cotangent, whole or in pieces; returns what stands for the sum."""
        raise NotImplementedError

    def total(self) -> Any:
        """The cotangent as one array."""
        raise NotImplementedError

    def result(self) -> Any:
        """The cotangent of an input as the user gets it, who may take less than a whole array."""
        return self.total()


class Components(Pieces):
    """The cotangents of the results of a joint node, as they come in; ``None`` for a result that gets none."""

    __slots__ = ("bars",)

    def __init__(self, y_bar: Any, index: int, count: int) -> None:
        self.bars = [None] * count
        self.bars[index] = y_bar

    def add(self, other: Any) -> Components:
        self.bars = [mine if its is None else its for mine, its in zip(self.bars, other.bars, strict=True)]
        return self

    def total(self) -> list:
        return self.bars


class JointNode:
    """An operation whose cotangents are computed together: several results, or one rule for all operands.

    ``rule(y_bars, *kept)`` gets a cotangent or ``None`` per result and returns one or ``None`` per parent. ``origin``
    is for a trace that may want to record the operation anew: its operands, as ``(primals, active, params)``.
    """

    __slots__ = ("edges", "origin", "primitive", "serial")

    def __init__(
        self, primitive: Primitive, parents: Sequence[Any], rule: Any, kept: tuple, origin: Any = None
    ) -> None:
        self.primitive = primitive
        self.origin = origin
        self.edges: tuple = tuple([(parent, rule, kept) for parent in parents])
        self.serial = next(_serials)

    def split(self, y_bars: Any) -> list[tuple[Any, Any, tuple]]:
        """The edges of this pass: each parent with its own cotangent, computed in one call of the rule."""
        _, rule, kept = self.edges[0]
        pairs = zip(self.edges, rule(y_bars, *kept), strict=True)
        return [(edge[0], _given, (bar,)) for edge, bar in pairs if edge[0] is not None and bar is not None]


def _given(_: Any, x_bar: Any) -> Any:
    return x_bar


@register_leaf
class ReverseTracer(Tracer):
    """A value and the node that made it."""

    __slots__ = ("dtype", "node", "shape", "value")

    # None only where a trace of another kind has values that need no derivative.
    node: Any

    def __init__(self, trace: Trace, value: Any, node: Node) -> None:
        self.trace = trace
        self.value = value
        self.node = node
        self.shape = node.shape
        self.dtype = node.dtype

    @property
    def aval(self) -> Aval:
        return aval_of(self.value)


class ReverseTrace(Trace):
    """Runs each primitive on the values beneath and records a node where the result depends on an input."""

    transform = "grad"
    # What a trace of another kind makes instead: the imperative layer has its own.
    tracer_type = ReverseTracer
    node_type = Node

    def input(self, value: Any) -> ReverseTracer:
        if type(value) is np.ndarray:
            return ReverseTracer(self, value, Node(None, (), value.shape, value.dtype))
        aval = aval_of(value)
        return ReverseTracer(self, value, Node(None, (), aval.shape, aval.dtype))

    # One function: each call that were split off would cost as much as a tenth of the operation.
    def apply(self, primitive: Primitive, operands: tuple, params: dict) -> Any:  # noqa: C901
        if not self.alive:
            self.refuse_leak(primitive)
        # Parallel lists, filled in one loop: what an operation costs beyond NumPy's own time is mostly here.
        primals: list[Any] = []
        nodes: list[Node | None] = []
        active = 0
        bare = True
        bit = 1
        tracer_type = self.tracer_type
        for x in operands:
            if type(x) is tracer_type and x.trace is self:
                nodes.append(x.node)
                if x.node is not None:
                    active |= bit
                value = x.value
            else:
                nodes.append(None)
                value = x
            primals.append(value)
            if type(value) not in NUMPY_TYPES:
                bare = False
            bit <<= 1
        if primitive.multiple_results:
            return self._apply_joint(primitive, primals, nodes, active, params)
        if bare:
            y = primitive.numpy(*primals, **params)
            if type(y) is np.float64:
                y = keep_weak(y, primals)
        else:
            y = bind(primitive, tuple(primals), params)
        recorder = primitive.recorders.get(active) or self._new_recorder(primitive, active)
        edges = recorder(primals, nodes, y, params)
        if not edges:
            return self.constant(y)
        try:
            node = self.node_type(primitive, edges, y.shape, y.dtype)
        except AttributeError:
            # A Python number.
            aval = aval_of(y)
            node = self.node_type(primitive, edges, aval.shape, aval.dtype)
        return tracer_type(self, y, node)

    def constant(self, y: Any) -> Any:
        """What stands for a result that depends on no input, or without derivative."""
        return y

    def _new_recorder(self, primitive: Primitive, active: int) -> Recorder:
        recorder = primitive.recorders[active] = primitive.derivative.recorder(active)
        return recorder

    def _apply_joint(
        self, primitive: Primitive, primals: list[Any], nodes: list[Node | None], active: int, params: dict
    ) -> list[Any]:
        ys, rule, kept = primitive.derivative.record(primitive, tuple(primals), active, params)
        if rule is None:
            return [self.constant(y) for y in ys]
        hub = JointNode(primitive, nodes, rule, kept, self.origin_of(primals, active, params))
        return [
            self.tracer_type(self, y, self.node_type(primitive, ((hub, Components, (i, len(ys))),), y.shape, y.dtype))
            if is_inexact(y.dtype)
            else self.constant(y)
            for i, y in enumerate(ys)
        ]

    def origin_of(self, primals: list[Any], active: int, params: dict) -> Any:
        """What a joint node keeps of its operation, beside what its rule reads."""
        return None


# One loop: a call for each node would cost as much as what it does.
def backward_pass(  # noqa: C901
    seeds: Iterable[tuple[Any, Any]],
    *,
    free: bool,
    visit: Callable[[Any, Any], Any] | None = None,
    sparse: bool = False,
) -> dict[Any, Any]:
    """Carry cotangents from the given nodes down the tape.

    The node with the greatest serial is always next: all that depends on it came later and is done. A heap finds it, so
    the pass visits only what carries a cotangent, needs no recursion and no separate sort.

    Args:
        seeds: the nodes to start from, each with its cotangent.
        free: drop each node's kept values once they were used.
        visit: called with each node that has edges and with its cotangent; it returns the edges to take instead, none
            to stop there.
        sparse: leave it to `Pieces` what the cotangents of nodes without edges are; else all are arrays.

    Returns:
        the cotangents of the nodes without edges, by node.
    """
    root = Node(None, tuple([(node, _given, (y_bar,)) for node, y_bar in seeds]), (), _NO_DTYPE)
    nodes: dict[int, Any] = {root.serial: root}
    bars: dict[int, Any] = {root.serial: None}
    heap = [-root.serial]
    owned: set[int] = set()
    leaves: dict[Any, Any] = {}
    while heap:
        serial = -heappop(heap)
        node = nodes.pop(serial)
        y_bar = bars.pop(serial)
        while True:
            if type(y_bar) is not np.ndarray and isinstance(y_bar, Pieces):
                y_bar = y_bar.result() if sparse and not node.edges else y_bar.total()
            edges = node.edges
            if not edges:
                leaves[node] = y_bar
                break
            if visit is not None:
                edges = visit(node, y_bar)
                if not edges:
                    break
            elif type(node) is JointNode:
                edges = node.split(y_bar)
            if free:
                node.edges = ()
            if len(edges) == 1 and not heap:
                # A chain: the parent is next, and nothing else waits. This spares the heap, 0.4 us a node.
                ((node, rule, kept),) = edges
                y_bar = rule(y_bar, *kept)
                continue
            for parent, rule, kept in edges:
                x_bar = rule(y_bar, *kept)
                serial = parent.serial
                if serial in bars:
                    bars[serial] = _accumulate(bars[serial], x_bar, serial, owned)
                else:
                    bars[serial] = x_bar
                    nodes[serial] = parent
                    heappush(heap, -serial)
            break
    return leaves


def _accumulate(old: Any, new: Any, serial: int, owned: set[int]) -> Any:
    """The sum of two cotangents of one node, in place where the buffer is this pass's own."""
    if isinstance(old, Pieces):
        return old.add(new)
    if isinstance(new, Pieces):
        return new.add(old)
    if serial in owned and type(new) is np.ndarray and new.dtype == old.dtype and new.shape == old.shape:
        return np.add(old, new, out=old)
    total = old + new
    if type(total) is np.ndarray:
        owned.add(serial)
    return total
