"""Reverse mode: the tape as data, and the reverse pass as a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import NUMPY_TYPES, Trace, Tracer, bind
from funcgrad._core.trace.derivative import NodeMaker, PerOperand
from funcgrad._core.trace.tape import Node, Pull, new_kind, new_leaf, next_serial, parent_counts, parents_of, pulls
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

_NDARRAY = np.ndarray


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


# An operation whose cotangents are computed together (several results, or one rule for all operands) is one node, the
# hub: (serial, kind, *parents or None, rule, kept, origin). ``rule(y_bars, *kept)`` gets a cotangent or None per result
# and returns one or None per parent. Each result is a node that hands its cotangent on to the hub.
_hub_kinds: dict[tuple[Primitive, int], int] = {}
_all_hub_kinds: set[int] = set()
_component_kinds: dict[Primitive, int] = {}


def _hub(primitive: Primitive, parents: Sequence[Any], rule: Any, kept: tuple, origin: Any) -> Node:
    count = len(parents)
    kind = _hub_kinds.get((primitive, count))
    if kind is None:
        kind = _hub_kinds[primitive, count] = new_kind(primitive, count, _hub_pull(count))
        _all_hub_kinds.add(kind)
    return next_serial(), kind, *parents, rule, kept, origin


def is_hub(node: Node) -> bool:
    """Whether a node stands for an operation whose cotangents are computed together."""
    return node[1] in _all_hub_kinds


def _hub_pull(count: int) -> Pull:
    def pull(y_bars: Any, node: Node) -> Any:
        rule, kept, _ = node[2 + count :]
        x_bars = rule(y_bars, *kept)
        return x_bars[0] if count == 1 else x_bars

    return pull


def _component(primitive: Primitive, hub: Node, index: int, count: int) -> Node:
    """The node of one result of several."""
    kind = _component_kinds.get(primitive)
    if kind is None:
        kind = _component_kinds[primitive] = new_kind(primitive, 1, lambda y_bar, node: Components(y_bar, *node[3:]))
    return next_serial(), kind, hub, index, count


@register_leaf
class ReverseTracer(Tracer):
    """A value and the node that made it."""

    __slots__ = ("dtype", "node", "shape", "value")

    # None only where a trace of another kind has values that need no derivative.
    node: Any

    def __init__(self, trace: Trace, value: Any, node: Node | None) -> None:
        self.owner = trace
        self.value = value
        self.node = node
        try:
            self.shape = value.shape
            self.dtype = value.dtype
        except AttributeError:
            # A Python number.
            aval = aval_of(value)
            self.shape = aval.shape
            self.dtype = aval.dtype

    @property
    def aval(self) -> Aval:
        return aval_of(self.value)


class ReverseTrace(Trace):
    """Runs each primitive on the values beneath and records a node where the result depends on an input."""

    transform = "grad"
    # What a trace of another kind makes instead: the imperative layer has its own.
    tracer_type = ReverseTracer
    node_type: Callable[[Any], Node] = tuple

    def input(self, value: Any) -> ReverseTracer:
        return ReverseTracer(self, value, new_leaf())

    # The common cases are here and in one piece: each call that were split off would cost a tenth of the operation.
    def apply(self, primitive: Primitive, operands: tuple, params: dict) -> Any:  # noqa: C901
        if not self.alive:
            self.refuse_leak(primitive)
        if len(operands) == 1:
            # The one operand is what brought the operation here.
            (x,) = operands
            value = x.value
            if type(value) is _NDARRAY:
                record = primitive.recorders[9 if params else 1]
                if record is not None:
                    return record(self, params, value, x.node)
            return self._apply(primitive, (value,), (x.node,), params)
        tracer_type = self.tracer_type
        if len(operands) == 2:
            a, b = operands
            a_node = b_node = None
            active = 8 if params else 0
            if type(a) is tracer_type and a.owner is self:
                a_node, a = a.node, a.value
                if a_node is not None:
                    active += 1
            if type(b) is tracer_type and b.owner is self:
                b_node, b = b.node, b.value
                if b_node is not None:
                    active += 2
            # Of two values in NumPy one is an array, not a Python number: so the result is no Python number either.
            if (type(a) is _NDARRAY and type(b) in NUMPY_TYPES) or (type(b) is _NDARRAY and type(a) in NUMPY_TYPES):
                record = primitive.recorders[active]
                if record is not None:
                    return record(self, params, a, b, a_node, b_node)
            return self._apply(primitive, (a, b), (a_node, b_node), params)
        return self._apply_many(primitive, operands, params)

    def _apply_many(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        """The application to three operands and more."""
        primals = []
        nodes = []
        active = 8 if params else 0
        bit = 1
        plain = True
        for x in operands:
            node = None
            value = x
            if type(x) is self.tracer_type and x.owner is self:
                node, value = x.node, x.value
                if node is not None:
                    active += bit
            primals.append(value)
            nodes.append(node)
            plain = plain and type(value) in NUMPY_TYPES
            bit += bit
        if plain and len(primals) == 3 and type(primals[0]) is _NDARRAY:
            record = primitive.recorders[active]
            if record is not None:
                return record(self, params, *primals, *nodes)
        return self._apply(primitive, tuple(primals), tuple(nodes), params)

    def _apply(self, primitive: Primitive, primals: tuple, nodes: tuple, params: dict) -> Any:
        """The application to operands of any kind and number."""
        active = sum([1 << i for i, node in enumerate(nodes) if node is not None])
        if primitive.multiple_results:
            return self._apply_joint(primitive, primals, nodes, active, params)
        y = bind(primitive, primals, params)
        make_node = primitive.node_makers.get(active) or _prepare(primitive, active, params)
        node = make_node(primals, nodes, y, params)
        return self.constant(y) if node is None else self.tracer_type(self, y, node)

    def constant(self, y: Any) -> Any:
        """What stands for a result that depends on no input, or without derivative."""
        return y

    def _apply_joint(self, primitive: Primitive, primals: tuple, nodes: tuple, active: int, params: dict) -> list[Any]:
        ys, rule, kept = primitive.derivative.record(primitive, primals, active, params)
        if rule is None:
            return [self.constant(y) for y in ys]
        hub = self.node_type(_hub(primitive, nodes, rule, kept, self.origin_of(primals, active, params)))
        return [
            self.tracer_type(self, y, _component(primitive, hub, i, len(ys)))
            if is_inexact(aval_of(y).dtype)
            else self.constant(y)
            for i, y in enumerate(ys)
        ]

    def origin_of(self, primals: tuple, active: int, params: dict) -> Any:
        """What a joint node keeps of its operation, beside what its rule reads."""
        return None


def _prepare(primitive: Primitive, active: int, params: dict) -> NodeMaker:
    """What records applications of a primitive for a set of active operands, made when it is first needed."""
    derivative = primitive.derivative
    if len(primitive.operands) <= 3 and isinstance(derivative, PerOperand):
        primitive.recorders[active | (8 if params else 0)] = derivative.recorder(primitive, active, bool(params))
    maker = primitive.node_makers[active] = derivative.node_maker(primitive, active)
    return maker


# One loop: a call for each node would cost as much as what it does.
def backward_pass(  # noqa: C901, PLR0912, PLR0915
    seeds: Iterable[tuple[Any, Any]],
    *,
    free: bool = False,
    visit: Callable[[Any, Any], list[tuple[Any, Any]]] | None = None,
    sparse: bool = False,
    suspect: int = -1,
    check: Callable[[Any], None] | None = None,
) -> dict[Any, Any]:
    """Carry cotangents from the given nodes down the tape.

    The node with the greatest serial is always next: all that depends on it came later and is done. A heap finds it, so
    the pass visits only what carries a cotangent, needs no recursion and no separate sort. A parent that is later than
    all that waits is next without having been on the heap, which would cost 0.4 us.

    Args:
        seeds: the nodes to start from, each with its cotangent.
        free: empty each node that was used, for a tape of lists; tuples go when nobody refers to them.
        visit: called with each node that has parents and with its cotangent; it returns a list of pairs, of a parent
            and its cotangent, to go on with; none to stop there, which leaves the node as it is.
        suspect: without ``visit``, nodes of lower serial numbers go to ``check`` before they are used.
        check: raises where a node must not be used.
        sparse: leave it to `Pieces` what the cotangents of leaves are; else all are arrays.

    Returns:
        the cotangents of the nodes without parents, by node.
    """
    nodes: dict[int, Any] = {}
    bars: dict[int, Any] = {}
    heap: list[int] = []
    owned: set[int] = set()
    leaves: dict[Any, Any] = {}
    pairs: Any = seeds
    while True:
        # The parent that comes next, unless a later one turns up.
        ahead = y_bar = None
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
        # Nothing here may outlive its use: these are arrays.
        pairs = x_bars = x_bar = parent = None
        if ahead is None:
            if not heap:
                break
            serial = -heappop(heap)
            ahead, y_bar = nodes.pop(serial), bars.pop(serial)
        while pairs is None:
            node = ahead
            if type(y_bar) is not _NDARRAY and isinstance(y_bar, Pieces):
                y_bar = y_bar.total()
            if visit is not None:
                pairs = visit(node, y_bar)
            else:
                if node[0] < suspect and check is not None:
                    check(node)
                kind = node[1]
                x_bars = pulls[kind](y_bar, node)
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
                # It still knows what it was: see `new_kind`.
                node[1:] = (node[1] + 1,)
    for node, x_bar in leaves.items():
        if type(x_bar) is not _NDARRAY and isinstance(x_bar, Pieces):
            leaves[node] = x_bar.result() if sparse else x_bar.total()
    return leaves


def _accumulate(old: Any, new: Any, serial: int, owned: set[int]) -> Any:
    """The sum of two cotangents of one node, in place where the buffer is this pass's own."""
    if isinstance(old, Pieces):
        return old.add(new)
    if isinstance(new, Pieces):
        return new.add(old)
    # What was a buffer may have become a tracer since, by a cotangent that an outer transform traces.
    bare = serial in owned and type(old) is type(new) is _NDARRAY
    if bare and new.dtype == old.dtype and new.shape == old.shape:
        return np.add(old, new, out=old)
    total = old + new
    if type(total) is np.ndarray:
        owned.add(serial)
    return total
