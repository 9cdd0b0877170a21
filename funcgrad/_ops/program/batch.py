"""Graphs mapped over a batch, for primitives that hold graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.trace.batch import BatchTrace, BatchTracer, NamedAxis, Shared, axis_of
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.program.derived import Mask


def mapped(f: Callable[..., Sequence[Any]], size: int, xs: Sequence[Any], batched: Sequence[bool]) -> tuple[list, Mask]:
    """Run a function of flat values on batches; return its results, and which of them have the batch leading."""
    trace = BatchTrace(size)
    with trace:
        ys = f(*[trace.input(x) if flag else x for x, flag in zip(xs, batched, strict=True)])
        flags = tuple([type(y) is BatchTracer and y._owner is trace for y in ys])
    return [y._value if flag else y for y, flag in zip(ys, flags, strict=True)], flags


def batched_graph(graph: Graph, size: int, batched: Mask, wanted: Mask | None = None) -> tuple[Graph, Mask]:
    """Return the graph mapped over the inputs flagged in ``batched``, and which outputs have the batch leading.

    Outputs flagged in ``wanted`` always have it.
    """
    return graph.made(_stage, size, axis_of(size), batched, wanted or (False,) * len(graph.outputs))


def _stage(graph: Graph, size: int, axis: NamedAxis | None, batched: Mask, wanted: Mask) -> tuple[Graph, Mask]:
    # The axis is a part of the key: lengths of two axes are equal as numbers.
    del axis
    staging = StagingTrace()
    with staging:
        pairs = zip([var.aval for var in graph.inputs], batched, strict=True)
        xs = [staging.input(Aval((int(size), *aval.shape), aval.dtype) if flag else aval) for aval, flag in pairs]
        ys, flags = mapped(graph.evaluate, size, xs, batched)
        whole = [with_batch(y, size, flag) if ask else y for y, flag, ask in zip(ys, flags, wanted, strict=True)]
        staged = simplify(staging.graph(whole, f"vmap_{graph.name}"))
    return staged, tuple([a or b for a, b in zip(flags, wanted, strict=True)])


def shared(ys: Sequence[Any], batched: Mask) -> list[Any]:
    """Return the results of a batching rule, some of which are the same for the whole batch."""
    return [y if flag else Shared(y) for y, flag in zip(ys, batched, strict=True)]
