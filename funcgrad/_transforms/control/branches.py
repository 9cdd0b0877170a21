"""The branches of ``cond`` and ``switch``: staged to graphs of the same types, compared, and run where one is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, result_dtype
from funcgrad._core.bind import Trace, Tracer, active_trace
from funcgrad._core.definition import definition_of
from funcgrad._core.graph.ir import Graph, Var, trusted_graph
from funcgrad._core.graph.key import canonical
from funcgrad._core.trace.place import own_place
from funcgrad._engines import is_abstract
from funcgrad._transforms.base.arguments import name_of
from funcgrad._transforms.base.bodies import Body, stage_body
from funcgrad._types import Array, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.numpy.extend import argument_value, array_if_all, array_test
from funcgrad.tree import TreeDef, unflatten
from funcgrad.tree import map as tree_map

Functions = Sequence[Callable[..., Any]]


def is_known(x: Value) -> bool:
    """Return whether the number that chooses a branch is known now."""
    return not isinstance(x, Tracer) and not is_abstract(x)


def run_branch(f: Callable[..., Any], operands: tuple) -> Any:
    """Run the chosen function on the given values. It gets copies of what it may write to."""
    if active_trace() is None:
        return f(*[tree_map(_copied, x) for x in operands])
    with _Branch() as trace:
        out = f(*[tree_map(lambda leaf: own_place(_copied(leaf), trace), x) for x in operands])
    return tree_map(argument_value, out)


def _copied(x: Value) -> Array:
    return x.copy() if type(x) is np.ndarray else x


class _Branch(Trace):
    """A branch that runs eagerly. It has no tracers, but distinguishes values made inside from values made outside."""

    transform = "cond"


# The branches that were compared, by their code and the types of the operands.
_compared: set[Any] = set()


def check_branches(transform: str, functions: Functions, leaves: list[Any], in_tree: TreeDef) -> None:
    """Refuse branches in eager code that a compiled program would refuse.

    The branches are staged, which takes 0.1 ms and more. So the same code with operands of the same types is staged
    once: what it returns decides about an error only, never about a value.
    """
    key = (*[getattr(f, "__code__", f) for f in functions], *map(aval_of, leaves), in_tree)
    try:
        if key in _compared:
            return
    except TypeError:
        # A callable object that cannot be hashed.
        key = None
    _compare(transform, functions, [_stage(transform, f, leaves, in_tree) for f in functions])
    if key is not None:
        _compared.add(key)


def stage_branches(transform: str, functions: Functions, leaves: list[Any], in_tree: TreeDef) -> list[Body]:
    """Stage functions of the same operands, with results of the same types.

    A result of Python numbers alone takes the dtype of the others.
    """
    bodies = [_stage(transform, f, leaves, in_tree) for f in functions]
    common = _compare(transform, functions, bodies)
    pairs = zip(functions, bodies, strict=True)
    return [body if body.outputs == common else _stage(transform, f, leaves, in_tree, common) for f, body in pairs]


def _stage(
    transform: str, f: Callable[..., Any], leaves: list[Any], in_tree: TreeDef, wanted: Sequence[Aval] = ()
) -> Body:
    kinds = list(map(array_test, leaves))
    avals = list(map(aval_of, leaves))
    return stage_body(transform, lambda xs: f(*unflatten(in_tree, xs)), avals, name_of(f), wanted, kinds)


def result_of(transform: str, bodies: Sequence[Body], ys: Sequence[Any]) -> Any:
    """Return the result of these values, with arrays without axes and numbers as the functions returned them."""
    returned = zip(*[body.returned for body in bodies], strict=True)
    found = [array_if_all(transform, y, each) for y, each in zip(ys, returned, strict=True)]
    return unflatten(bodies[0].out_tree, found)


def _compare(transform: str, functions: Functions, bodies: list[Body]) -> list[Aval]:
    """Return the common types of the results; refuse results that differ."""
    first = bodies[0]
    for f, body in zip(functions[1:], bodies[1:], strict=True):
        if body.out_tree != first.out_tree:
            raise TreeMismatchError(
                f"{transform}: {definition_of(functions[0])} returned {first.out_tree} and {definition_of(f)} returned "
                f"{body.out_tree}; needed the same structure from all. Return the same containers and keys."
            )
    return [_common(transform, functions, bodies, i) for i in range(first.out_tree.num_leaves)]


def _common(transform: str, functions: Functions, bodies: list[Body], i: int) -> Aval:
    """Return the common type of output ``i`` of all branches."""
    found = [body.outputs[i] for body in bodies]
    strong = next((k for k, aval in enumerate(found) if not aval.weak), None)
    wanted = Aval((), result_dtype(*found)) if strong is None else found[strong]
    k = strong or 0
    for j, aval in enumerate(found):
        # A Python number takes the dtype of the arrays only if it fits into it.
        if (
            aval.shape != found[k].shape
            or result_dtype(aval, wanted) != wanted.dtype
            or not (aval.weak or aval.dtype == wanted.dtype)
        ):
            a, b = [_output(functions[n], bodies[n].staged, i) for n in sorted((k, j))]
            raise TypeError(
                f"{transform}: {a} where {b}; needed the same shape and dtype. Convert one of them with astype or "
                "reshape."
            )
    return Aval(found[0].shape, wanted.dtype)


def _output(f: Callable[..., Any], graph: Graph, i: int) -> str:
    """Describe an output for messages: its type, and the line that computes it, unless it is an input or a constant."""
    x = graph.outputs[i]
    found = [each.source for each in graph.equations if x in each.results and each.source is not None]
    return f"{definition_of(f)} returned {x.aval}{f' (made at {found[0]})' if found else ''}"


def with_common_inputs(bodies: Sequence[Body]) -> tuple[list[Graph], list[Any]]:
    """Return graphs that all take the closed-over values of all bodies and then the operands, and these values."""
    counts = [len(body.captured) for body in bodies]
    graphs = []
    for k, body in enumerate(bodies):
        inputs: list[Var] = []
        for j, each in enumerate(bodies):
            inputs += body.graph.inputs[: counts[k]] if j == k else [Var(aval_of(x)) for x in each.captured]
        inputs += body.graph.inputs[counts[k] :]
        graphs.append(with_inputs(body.graph, inputs))
    return graphs, [x for body in bodies for x in body.captured]


def with_inputs(graph: Graph, inputs: Sequence[Var]) -> Graph:
    """Return the same program with these inputs, some of which it does not read."""
    return canonical(trusted_graph(inputs, graph.constants, graph.equations, graph.outputs, graph.name))
