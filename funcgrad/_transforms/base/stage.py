"""Staging: ``make_graph`` and what ``jit`` builds on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import is_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._core.tracebacks import folded
from funcgrad._transforms.base.arguments import (
    check_callable,
    name_of,
    returned,
    taken,
)
from funcgrad._transforms.base.pickled import picklable
from funcgrad.errors import ForeignArrayError
from funcgrad.numpy.extend import is_number_dtype
from funcgrad.random.extend import Watched
from funcgrad.tree import TreeDef, flatten, unflatten

P = ParamSpec("P")


@picklable
def make_graph(f: Callable[P, Any]) -> Callable[P, Graph]:
    """Make the function that stages ``f``: it returns the graph of the primitives that ``f`` applies.

    Args:
        f: a function of pytrees of arrays.

    Returns:
        A function of the arguments of ``f``, of which only shapes and dtypes are used (`ShapeDtype` will do);
        it returns the `Graph`, which evaluates when called with arrays of these types.

    Raises:
        ConcretizationTypeError: ``f`` needs a number where only a type is known (a branch on a value).

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> graph = fg.make_graph(lambda x: np.sum(x * x))(np.ones(3))
        >>> [equation.primitive.name for equation in graph.equations]
        ['mul', 'reduce_sum']
        >>> float(graph(np.array([1.0, 2.0, 3.0])))
        14.0
    """
    check_callable("make_graph", f)

    @folded
    def staged(*args: Any, **kwargs: Any) -> Graph:
        leaves, in_tree = flatten((args, kwargs))
        leaves = [taken(x) for x in leaves]
        graph, out_tree = stage_leaves(f, leaves, in_tree, is_stageable)
        return graph.with_trees(in_tree, out_tree)

    return staged


def is_stageable(leaf: Any) -> bool:
    """Whether a leaf becomes an input of the graph: arrays, numbers and what has a shape and a dtype."""
    return (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or is_value(leaf)


def stage_leaves(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    in_tree: TreeDef,
    is_dynamic: Callable[[Any], bool],
    transform: str = "make_graph",
) -> tuple[Graph, TreeDef]:
    """Run ``f`` on abstract values of the dynamic leaves (the others as they are); its graph and output structure."""
    trace = StagingTrace(transform, copies=True)
    inputs = [trace.input(abstract(leaf)) if is_dynamic(leaf) else leaf for leaf in leaves]
    args, kwargs = unflatten(in_tree, inputs)
    with Watched(transform, name_of(f), f), trace:
        out = f(*args, **kwargs)
        out_leaves, out_tree = flatten(out)
        graph = trace.graph([_settled(name_of(f), leaf) for leaf in out_leaves], name_of(f))
    return graph, out_tree


def stage_flat(f: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str) -> Graph:
    """The graph of a function of flat arrays that returns a flat list."""
    trace = StagingTrace()
    inputs = [trace.input(aval) for aval in avals]
    with trace:
        return trace.graph([_settled(name, leaf) for leaf in f(*inputs)], name)


def abstract(leaf: Any) -> Aval:
    """What is known of an argument before its numbers are."""
    aval = aval_of(leaf) if is_value(leaf) else Aval(tuple(leaf.shape), np.dtype(leaf.dtype))
    if not is_number_dtype(aval.dtype):
        raise ForeignArrayError(
            f"make_graph: an argument is {aval}; needed an array of numbers. Convert it with .astype(float) if it "
            "holds numbers, or make it a static argument."
        )
    return aval


def _settled(name: str, leaf: Any) -> Any:
    leaf = returned("make_graph", name, leaf)
    if not is_value(leaf):
        raise TypeError(
            f"make_graph: an output is a {type(leaf).__name__}; needed arrays or numbers. "
            "Return only arrays, in any pytree, from a staged function."
        )
    return leaf
