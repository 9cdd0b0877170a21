"""Call JAX's functions from funcgrad and funcgrad's from JAX: ``from_jax`` and ``to_jax``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from funcgrad._core.bind import is_value, untraced
from funcgrad._core.graph.simplify import avals_of, simplify
from funcgrad._core.tracebacks import folded
from funcgrad._engines.xla.record import jax_functions, xla
from funcgrad._ops.program.jax_function import apply
from funcgrad._public import publish
from funcgrad._transforms.base.arguments import check_callable, name_of
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.base.stage import is_stageable, stage_leaves
from funcgrad._types import ArrayLike, Value
from funcgrad.tree import TreeDef, flatten, unflatten
from funcgrad.tree.extend import static_key

P = ParamSpec("P")

__all__ = ["from_jax", "to_jax"]


def array_like(value: Value, x: ArrayLike) -> Any:
    """Return a NumPy array as a ``jax.Array`` on the device of ``x``, with its sharding."""
    return xla.array_like(value, x)


@picklable
def from_jax(g: Callable[P, Any]) -> Callable[P, Any]:
    """Convert a function written in ``jax.numpy`` so that funcgrad differentiates, batches, stages and compiles it.

    For funcgrad's transforms it is a single operation, and JAX computes its derivatives of any order. It runs compiled,
    with NumPy's dtypes (float64 stays float64). It returns NumPy arrays if the arguments are NumPy's, and JAX's
    arrays otherwise.

    ``fg.from_jax(model.apply)`` of a Flax model, and ``fg.from_jax(lambda model, x: model(x))`` of an Equinox module,
    are functions of parameters and data, which `sgd_update` trains; their pytrees need no conversion.

    Args:
        g: a function of pytrees of arrays that JAX can trace; arguments that are not arrays must be hashable.

    Returns:
        A function like ``g``.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> softplus = fg.from_jax(lambda x: jnp.logaddexp(x, 0.0))
        >>> fg.grad(lambda x: np.sum(softplus(x) * x))(np.zeros(2)).round(4)
        array([0.6931, 0.6931])
    """
    check_callable("from_jax", g, "g")
    return converted(g)


def converted(g: Callable[P, Any], *, compiled: bool = True) -> Callable[P, Any]:
    """Return `from_jax` of a function; if it is not ``compiled``, JAX runs its operations one by one on plain values.

    A function that is converted again for each call would be compiled for each call.
    """
    functions: dict[Any, tuple[Any, list[TreeDef]]] = {}

    @folded
    @functools.wraps(g)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten((args, kwargs))
        dynamic = [x for x in leaves if is_value(x)]
        static = [None if is_value(x) else (x,) for x in leaves]
        key = static_key((in_tree, avals_of(dynamic), *static))
        if key not in functions:
            out_trees: list[TreeDef] = []
            flat = _flat(g, static, in_tree, out_trees)
            functions[key] = jax_functions.JaxFunction(flat, avals_of(dynamic), name_of(g), compiled), out_trees
        function, out_trees = functions[key]
        if not out_trees:
            # Trace it for its types, which gives the structure of its result.
            assert function.results is not None
        return unflatten(out_trees[0], apply(function, dynamic))

    return wrapped


def _flat(
    g: Callable[..., Any], static: Sequence[tuple[Any] | None], in_tree: TreeDef, out_trees: list[TreeDef]
) -> Callable[..., list[Any]]:
    """Return ``g`` as a function of its array leaves that returns a list; it stores the structure of the result.

    ``static`` has the value of each leaf that is no array, in a tuple.
    """

    def flat(*xs: Any) -> list[Any]:
        rest = iter(xs)
        args, kwargs = unflatten(in_tree, [next(rest) if fixed is None else fixed[0] for fixed in static])
        # Effects of the function, such as a print, are JAX's and not those of a transform of ours around it.
        with untraced():
            results, out_tree = flatten(g(*args, **kwargs))
        out_trees[:] = [out_tree]
        return results

    return flat


@picklable
def to_jax(f: Callable[P, Any]) -> Callable[P, Any]:
    """Convert a function written with NumPy so that JAX can call, trace and transform it.

    The function is staged on types only, as under `jit`, and becomes ``jax.lax`` operations, which ``jax.jit``,
    ``jax.grad``, ``jax.vmap`` and the rest of JAX process. Custom rules and checkpoints become JAX's own. JAX's dtypes
    apply: float64 becomes float32 unless its 64-bit mode is on.

    Args:
        f: a function of pytrees of arrays; arguments that are not arrays must be hashable.

    Returns:
        A function of ``jax.Array`` s (NumPy arrays are converted) that returns them.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = fg.to_jax(lambda x: np.sum(np.sin(x) ** 2))
        >>> print(jax.grad(f)(np.zeros(2, np.float32)))
        [0. 0.]
    """
    compiled: dict[Any, tuple[Any, list[TreeDef]]] = {}

    check_callable("to_jax", f)

    @folded
    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten((args, kwargs))
        static = [None if is_stageable(x) else (x,) for x in leaves]
        key = static_key((in_tree, *static))
        if key not in compiled:
            compiled[key] = _compiled(f, in_tree, static)
        run, out_trees = compiled[key]
        results = run(*xla.as_arrays([x for x in leaves if is_stageable(x)]))
        return unflatten(out_trees[0], results)

    return wrapped


def _compiled(f: Callable[..., Any], in_tree: TreeDef, static: Sequence[Any]) -> tuple[Any, list[TreeDef]]:
    """Return ``jax.jit`` of the staged function of array leaves; it stores the structure of the result."""
    out_trees: list[TreeDef] = []

    def evaluate(*xs: Any) -> list[Any]:
        rest = iter(xs)
        leaves = [next(rest) if fixed is None else fixed[0] for fixed in static]
        graph, out_tree = stage_leaves(f, leaves, in_tree, lambda x: isinstance(x, xla.Array))
        out_trees[:] = [out_tree]
        return simplify(graph).evaluate(*xs)

    return xla.compile_function(evaluate), out_trees


__dir__ = publish(__name__)
