"""Bodies of loops and branches: functions of pytrees, staged once, with their closed-over values as operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Tracer, is_value
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.key import canonical
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.trace.path import BodyTrace
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._engines import engine_of
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.program.guard import answer_to
from funcgrad._transforms.base.arguments import name_of, returned
from funcgrad._types import Array, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.numpy.extend import (
    Carried,
    array_as,
    as_value,
    innermost,
    is_number_dtype,
    is_object_array,
    later_rounds,
    refuse_another_round,
)
from funcgrad.random.extend import DrawCheck
from funcgrad.tree import TreeDef, flatten, unflatten


class Body(NamedTuple):
    """A staged function: its graph, which takes the closed-over values first, and the structure of its result.

    ``staged`` is the graph of this call. ``graph`` is the first one that was the same program, perhaps of other lines.
    ``returned`` are the leaves of the function's own result.
    """

    graph: Graph
    captured: list[Any]
    out_tree: TreeDef
    staged: Graph
    returned: list[Any]

    @property
    def outputs(self) -> list[Aval]:
        return [x.aval for x in self.graph.outputs]

    def result(self, ys: Sequence[Any]) -> Any:
        """Return the function's result of these values, with arrays and numbers as the function returned them."""
        return unflatten(self.out_tree, self.as_returned(ys))

    def as_returned(self, ys: Sequence[Any]) -> list[Any]:
        """Return values for the first leaves of the result, as arrays without axes where the function's are."""
        return list(map(array_as, ys, self.returned))


def body_trace(transform: str, values: Sequence[Value]) -> StagingTrace:
    """Return the trace for a function that is called with these values and staged on their types.

    The function may ask for numbers if those of the values are known, or followed by a path. `jit` refuses with a hint.
    """
    bare = [_asked(innermost(x)) for x in values]
    return (
        StagingTrace(transform, copies=True) if any(x is None for x in bare) else BodyTrace(transform, bare, answer_to)
    )


def _asked(x: Value) -> Any:
    """Return the value that is asked for a number; ``None`` if nobody can be asked."""
    if isinstance(x, Tracer):
        return x if x._owner.follows or x._owner.transform == "jit" else None
    engine = engine_of(x)
    return x if engine is None else engine.known(x)


def stage_body(
    transform: str,
    f: Callable[[list], Any],
    avals: Sequence[Aval],
    name: str,
    wanted: Sequence[Aval | None] = (),
    kinds: Sequence[Callable[[], bool]] = (),
    *,
    trace: StagingTrace | None = None,
) -> Body:
    """Stage a function of flat values that returns a pytree.

    If the body was staged before, the earlier graph is returned with its compiled programs, so eager loops do not
    compile again. The key is the staged program and not the function, so closed-over values may change between calls.
    Arrays among them are operands, and other numbers need no new compilation.

    ``wanted`` are types for the first results: a result of Python numbers alone is cast to its type. ``kinds`` say
    whether the first values are arrays without axes. The others are numbers if they have no axes.
    """
    trace = trace or StagingTrace(transform, copies=True)
    inputs: list[Any] = [trace.input(aval, kind) for aval, kind in zip_longest(avals, kinds)]
    with DrawCheck(transform, name, f, is_body=True), trace:
        found, out_tree = flatten(f(inputs))
        ys = [_result(transform, name, y) for y in found]
        ys = [_in_type(y, aval) for y, aval in zip(ys, [*wanted, *[None] * len(ys)], strict=False)]
        graph = simplify(trace.graph(ys, name), numbers_are_data=True)
    graph, captured = _lifted(graph)
    return Body(canonical(graph), captured, out_tree, graph, found)


def _result(transform: str, name: str, y: Value) -> Value:
    y = returned(transform, name, y)
    y = y if is_value(y) else as_value(y)
    if is_object_array(y):
        raise TypeError(
            f"{transform}: {name} returned a leaf that is no array. "
            "Return only arrays and numbers, in any pytree, from what is staged."
        )
    return y


def _in_type(y: Value, wanted: Aval | None) -> Value:
    if wanted is None or wanted.weak or not aval_of(y).weak:
        return y
    return in_type(y, wanted)


def _lifted(graph: Graph) -> tuple[Graph, list[Any]]:
    """Turn constants into the first inputs: tracers, and arrays, which may differ in the next call.

    NumPy's scalars become inputs too, because they are results of computations. Python's numbers stay constants.
    """
    captured: list[tuple[Var, Any]] = list(graph.constants)

    def lifted(x: Operand) -> Operand:
        if type(x) is not Literal or not issubclass(type(x.value), np.generic):
            return x
        captured.append((Var(x.aval), x.value))
        return captured[-1][0]

    equations = [
        Equation(
            equation.primitive,
            tuple(map(lifted, equation.operands)),
            equation.params,
            equation.results,
            equation.source,
        )
        for equation in graph.equations
    ]
    outputs = list(map(lifted, graph.outputs))
    if not captured:
        return graph, []
    inputs = [*[var for var, _ in captured], *graph.inputs]
    return trusted_graph(inputs, [], equations, outputs, graph.name), [x for _, x in captured]


def stage_loop_body(
    transform: str,
    f: Callable[..., Any],
    flat: Callable[[list], Any],
    init: tuple[Sequence[Any], TreeDef, Sequence[str]],
    others: Sequence[Aval],
) -> tuple[Body, list[Any]]:
    """Stage the body of a loop and fit its carry: return the body, and the initial carry in its final types.

    ``flat`` takes the leaves of the carry and the other leaves, and returns ``(carry, rest)``. A carry that starts as a
    Python number takes the dtype that the body gives it.
    """
    leaves, carry_tree, paths = init
    avals = [aval_of(x) for x in leaves]
    tests = list(map(Carried, leaves))
    while True:
        body = stage_body(transform, flat, [*avals, *others], name_of(f), avals, tests)
        carry_out = body.out_tree.children()[0]
        if carry_out != carry_tree:
            raise TreeMismatchError(
                f"{transform}: the carry that {name_of(f)} returned has structure {carry_out}; needed that of the "
                f"initial carry, {carry_tree}. Return a carry of the same structure."
            )
        pairs = zip(avals, body.outputs, paths, strict=False)
        fitted = [_fit(transform, name_of(f), before, after, path) for before, after, path in pairs]
        if fitted == avals:
            break
        avals = fitted
    later = later_rounds(tests, body.returned)
    if later and stage_body(transform, flat, [*avals, *others], name_of(f), avals, later).graph is not body.graph:
        refuse_another_round(transform, name_of(f), tests, body.returned)
    return body, [in_type(x, aval) for x, aval in zip(leaves, avals, strict=True)]


def in_type(x: Value, aval: Aval) -> Array:
    """Return a value as an array or scalar of this dtype."""
    return cast(x, aval.dtype) if hasattr(x, "dtype") else aval.dtype.type(x)


def _fit(transform: str, name: str, before: Aval, after: Aval, path: str) -> Aval:
    """Return the type of one leaf of the carry, from the types that go into the body and come out."""
    if before.shape == after.shape:
        if before.dtype == after.dtype:
            return Aval(before.shape, before.dtype, before.weak and after.weak)
        if before.weak and is_number_dtype(after.dtype):
            return Aval(before.shape, after.dtype, after.weak)
    raise TypeError(
        f"{transform}: the carry{path} goes into {name} as {before} and comes out as {after}; needed the same shape "
        "and dtype. Convert the initial value, or what the function returns, with astype or reshape."
    )
