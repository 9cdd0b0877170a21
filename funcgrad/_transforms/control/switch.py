"""``switch``: one of several functions, chosen by an integer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of, is_integer
from funcgrad._core.bind import is_value
from funcgrad._core.graph.ir import Graph, Var
from funcgrad._core.tracebacks import folded
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.branch import Branches
from funcgrad._ops.program.derived import staged_graph
from funcgrad._transforms.base.arguments import check_callable, taken
from funcgrad._transforms.control.branches import (
    check_branches,
    is_known,
    result_of,
    run_branch,
    stage_branches,
    with_common_inputs,
    with_inputs,
)
from funcgrad._types import PyTree, Value
from funcgrad.numpy.extend import as_value
from funcgrad.tree import flatten


@folded
def switch(index: Value, branches: Sequence[Callable[..., Any]], *operands: Any) -> PyTree:
    """Apply one of several functions, chosen by an integer.

    If the integer is traced, all functions are staged, and the program decides. Under `vmap` of the index all of them
    run. If the integer is known (eager code), the chosen function runs on the given values, as in `cond`.

    Args:
        index: an integer scalar. An integer below 0 chooses the first function, one beyond the last function the last.
        branches: functions of the operands; their results must have the same structure, shapes and dtypes.
        operands: pytrees of arrays.

    Returns:
        The result of the chosen function.

    Raises:
        TypeError: ``index`` is no integer, or the results of the functions differ in shape or dtype.
        TreeMismatchError: the results differ in structure.
        ValueError: there are no functions.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.jit(engine="numpy")
        ... def activate(kind, x):
        ...     return fg.switch(kind, [np.tanh, np.sin, lambda x: 0.5 * x], x)
        >>> print(activate(2, 4.0), activate(99, 4.0), fg.grad(activate, argnums=1)(1, 0.0))
        2.0 2.0 1.0

    Source: the signature is ``jax.lax.switch``'s.
    """
    functions = _checked(branches)
    index = stop_gradient_p(as_value(index))
    if not is_value(index) or aval_of(index).shape or not is_integer(aval_of(index).dtype):
        what = str(aval_of(index)) if is_value(index) else f"a {type(index).__name__}"
        raise TypeError(f"switch: the index is {what}; needed an integer scalar. Convert it with .astype(int).")
    leaves, in_tree = flatten(operands)
    leaves = [as_value(taken(x)) for x in leaves]
    if is_known(index):
        check_branches("switch", functions, leaves, in_tree)
        return run_branch(functions[min(max(int(index), 0), len(functions) - 1)], operands)
    bodies = stage_branches("switch", functions, leaves, in_tree)
    graphs, captured = with_common_inputs(bodies)
    return result_of("switch", bodies, _chosen(index, graphs, [*captured, *leaves]))


def _checked(branches: Any) -> list[Callable[..., Any]]:
    if not isinstance(branches, Sequence):
        raise TypeError(
            f"switch: branches is a {type(branches).__name__}; needed a list of functions. Put the functions into a "
            "list: fg.switch(index, [f, g], x)."
        )
    if not branches:
        raise ValueError("switch: branches is empty; needed a function at least. Give the functions to choose from.")
    for i, f in enumerate(branches):
        check_callable("switch", f, f"branch {i}")
    return list(branches)


def _chosen(index: Value, graphs: Sequence[Graph], operands: Sequence[Any], first: int = 0) -> list[Any]:
    """Apply one of the graphs: decide between the halves, so that ``n`` branches take ``log2(n)`` decisions."""
    if len(graphs) == 1:
        return graphs[0].evaluate(*operands)
    half = len(graphs) // 2
    avals = [aval_of(x) for x in (index, *operands)]
    parts = (graphs[:half], first), (graphs[half:], first + half)
    lower, upper = [_half(part, avals, start) for part, start in parts]
    return Branches(lower, upper)(fnp.less(index, first + half), index, *operands)


def _half(graphs: Sequence[Graph], avals: Sequence[Aval], first: int) -> Graph:
    """Return the graph that takes the index and the operands, and chooses among these graphs."""
    if len(graphs) == 1:
        return with_inputs(graphs[0], [Var(avals[0]), *graphs[0].inputs])
    graph = staged_graph(lambda index, *xs: _chosen(index, graphs, xs, first), avals, "switch")
    return with_inputs(graph, graph.inputs)
