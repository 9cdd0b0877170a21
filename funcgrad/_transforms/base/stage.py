"""Staging: ``make_graph``, and the functions that ``jit`` uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import is_value
from funcgrad._core.collection import rare_collection
from funcgrad._core.graph.ir import Graph, set_roller
from funcgrad._core.graph.paths import Path
from funcgrad._core.lazy import LazyModule
from funcgrad._core.trace.path import PathTrace
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._core.tracebacks import folded
from funcgrad._ops.elementwise.logic import isfinite_p
from funcgrad._ops.program.guard import answer_to, record_guard
from funcgrad._ops.reduce.reduce import reduce_and
from funcgrad._transforms.base.arguments import (
    Named,
    StaticArguments,
    check_callable,
    leaf_name,
    name_of,
    returned,
    taken,
)
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.base.shape_dtype import ShapeDtype, is_array_argument
from funcgrad._types import Value
from funcgrad.errors import ForeignArrayError
from funcgrad.numpy.extend import innermost, is_number_dtype, with_kinds, without_kinds
from funcgrad.random.extend import DrawCheck
from funcgrad.tree import TreeDef, flatten, unflatten

P = ParamSpec("P")

_rolling: Any = LazyModule("funcgrad._ops.rolling.roll")
set_roller(lambda graph: _rolling.rolled(graph))


@picklable
def make_graph(
    f: Callable[P, Any],
    *,
    paths: bool = False,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[P, Graph]:
    """Make the function that stages ``f``: it returns the graph of the primitives that ``f`` applies.

    Args:
        f: a function of pytrees of arrays.
        paths: whether to follow branches. The graph is then that of the path that the numbers of the arguments take,
            with a guard for each branch, and it evaluates only where its guards give the same answers.
        static_argnums: positions of arguments that are values rather than arrays, as for `jit`. The graph takes the
            other arguments.
        static_argnames: names of such arguments.

    Returns:
        A function of the arguments of ``f``, which uses only shapes and dtypes (`ShapeDtype` is enough) unless
        ``paths`` is set. It returns the `Graph`, which evaluates when called with arrays of these types.

    Raises:
        ConcretizationTypeError: ``f`` needs a number, and only the type is known (a branch on a value).
        GraphError: when the graph of a path is called: its arguments take another path.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> graph = fg.make_graph(lambda x: np.sum(x * x))(np.ones(3))
        >>> [equation.primitive.name for equation in graph.equations]
        ['mul', 'reduce_sum']
        >>> float(graph(np.array([1.0, 2.0, 3.0])))
        14.0
        >>> relu = lambda x: x if x > 0 else 0.0 * x
        >>> [equation.primitive.name for equation in fg.make_graph(relu, paths=True)(3.0).equations]
        ['gt', 'guard']
    """
    check_callable("make_graph", f)
    static = StaticArguments(f, static_argnums, static_argnames, "make_graph")

    @folded
    def staged(*args: Any, **kwargs: Any) -> Graph:
        named = f, static.others(len(args))
        bound, args, kwargs, _ = static.bind(args, kwargs)
        leaves, in_tree = flatten((args, kwargs))
        leaves = [taken(x) for x in leaves]
        if paths:
            path, _ = stage_path(bound, leaves, in_tree, effects=False, transform="make_graph")
            return path.graph.with_trees(in_tree, without_kinds(path.tree))
        graph, out_tree = stage_leaves(bound, leaves, in_tree, is_stageable, named=named)
        return graph.with_trees(in_tree, without_kinds(out_tree))

    return staged


@folded
def eval_shape(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compute the types of a function's results, without any numbers.

    Args:
        f: a function of pytrees of arrays; it runs once, on types alone.
        args: its arguments: arrays, or types (`ShapeDtype`). Leaves that are neither are passed on unchanged.
        kwargs: its keyword arguments, likewise.

    Returns:
        A pytree like the result of ``f``, with a `ShapeDtype` for each array.

    Raises:
        ConcretizationTypeError: ``f`` needs a number, and only the type is known.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> w = fg.ShapeDtype((1_000_000, 64), np.float32)
        >>> fg.eval_shape(lambda w, x: {"y": w @ x}, w, np.ones(64, np.float32))
        {'y': ShapeDtype(f32[1000000])}

    Source: the signature is ``jax.eval_shape``'s.
    """
    check_callable("eval_shape", f)
    leaves, in_tree = flatten((args, kwargs))
    graph, out_tree = stage_leaves(f, [taken(x) for x in leaves], in_tree, is_stageable, "eval_shape")
    return unflatten(out_tree, [ShapeDtype(x.aval.shape, x.aval.dtype) for x in graph.outputs])


def is_stageable(leaf: object) -> bool:
    """Return whether a leaf becomes an input of the graph: an array, a number, or an object with shape and dtype."""
    return (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or is_value(leaf)


def stage_leaves(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    in_tree: TreeDef,
    is_dynamic: Callable[[Any], bool],
    transform: str = "make_graph",
    named: Named | None = None,
    *,
    rolls_above: int | None = None,
    is_array: Callable[[Any], bool] = is_array_argument,
) -> tuple[Graph, TreeDef]:
    """Run ``f`` on abstract values of the dynamic leaves, with the other leaves unchanged.

    Return graph and output tree; it has a node around each array without axes (`with_kinds`). ``named`` are the user's
    function and the positions of its dynamic arguments, for messages; it is ``f`` with all of its arguments if they are
    not given. A part of more equations than ``rolls_above`` is rolled before it is differentiated. ``is_array`` tells
    arrays without axes from numbers.
    """
    trace = StagingTrace(transform, copies=True)
    trace.rolls_above = rolls_above
    trace.names = partial(_input_name, named or (f, None), in_tree, list(map(is_dynamic, leaves)))
    inputs = [trace.input(abstract(leaf), partial(is_array, leaf)) if is_dynamic(leaf) else leaf for leaf in leaves]
    args, kwargs = unflatten(in_tree, inputs)
    with DrawCheck(transform, name_of(f), f), rare_collection(), trace:
        out = f(*args, **kwargs)
        out_leaves, out_tree = flatten(out)
        graph = trace.graph([_settled(transform, name_of(f), leaf) for leaf in out_leaves], name_of(f))
        out_tree = with_kinds(out_leaves, out_tree, trace)
    return graph, out_tree


def _input_name(named: Named, in_tree: TreeDef, dynamic: Sequence[bool], i: int) -> str:
    """Describe input ``i`` of a staged function: the argument that it belongs to, and its place there."""
    paths = [path for path, flag in zip(in_tree.accessors(), dynamic, strict=True) if flag]
    return leaf_name(*named, paths[i])


def stage_path(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    in_tree: TreeDef,
    answers: Sequence[Any] = (),
    *,
    effects: bool = True,
    transform: str = "jit",
) -> tuple[Path, list[Any]]:
    """Run ``f`` on the numbers of the dynamic leaves, and record its path.

    Args:
        f: the function.
        leaves: the leaves of its arguments. Those that are no arrays or numbers are passed as they are.
        in_tree: the structure of the arguments.
        answers: the answers of the first guards, if they are known.
        effects: whether prints and other effects happen meanwhile.
        transform: the name of the transform, for messages.

    Returns:
        The path, and the numbers of the results.
    """
    trace = PathTrace(transform, record_guard, answer_to, answers, effects, _ask_success)
    inputs = [trace.input_with(abstract(leaf), innermost(leaf)) if is_stageable(leaf) else leaf for leaf in leaves]
    args, kwargs = unflatten(in_tree, inputs)
    with DrawCheck(transform, name_of(f), f), trace:
        out_leaves, out_tree = flatten(f(*args, **kwargs))
        settled = [_settled(transform, name_of(f), leaf) for leaf in out_leaves]
        graph = trace.graph(settled, name_of(f))
        out_tree = with_kinds(out_leaves, out_tree, trace)
    return Path(graph, out_tree, tuple(trace.answers), trace.unkept), trace.numbers(settled)


def _ask_success(results: Any) -> None:
    """Leave a guard: the numbers are finite. Where NumPy raises an error, XLA gives NaN or infinity."""
    for y in results if isinstance(results, list) else [results]:
        if is_inexact(y.dtype):
            bool(reduce_and(isfinite_p(y), tuple(range(y.ndim))))


def stage_flat(f: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str) -> Graph:
    """Return the graph of a function of flat arrays that returns a flat list."""
    trace = StagingTrace()
    inputs = [trace.input(aval) for aval in avals]
    with trace:
        return trace.graph([_settled("make_graph", name, leaf) for leaf in f(*inputs)], name)


def abstract(leaf: Value) -> Aval:
    """Return the aval of an argument; refuse arrays that hold no numbers."""
    aval = aval_of(leaf) if is_value(leaf) else Aval(tuple(leaf.shape), np.dtype(leaf.dtype))
    if not is_number_dtype(aval.dtype):
        raise ForeignArrayError(
            f"make_graph: an argument is {aval}; needed an array of numbers. Convert it with .astype(float) if it "
            "holds numbers, or make it a static argument."
        )
    return aval


def _settled(transform: str, name: str, leaf: Value) -> Value:
    leaf = returned(transform, name, leaf)
    if not is_value(leaf):
        raise TypeError(
            f"{transform}: an output of {name} is a {type(leaf).__name__}; needed arrays or numbers. "
            "Return only arrays, in any pytree, from a staged function."
        )
    return leaf
