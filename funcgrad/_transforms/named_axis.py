"""Values of the other elements of a mapped axis: ``psum``, ``pmean``, ``pmax``, ``pmin``, ``all_gather``."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.trace.batch import BatchTrace, NamedAxis, axis_of
from funcgrad._core.tracebacks import folded
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index import named_axis as ops
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.shape import transpose
from funcgrad._ops.reduce.reduce import reduce_max, reduce_min
from funcgrad._transforms.base.arguments import taken
from funcgrad._types import Array, PyTree, Value
from funcgrad.numpy.extend import as_value
from funcgrad.tree import map as tree_map

Names = Hashable | tuple[Hashable, ...]


@folded
def psum(x: Value, axis_name: Names) -> PyTree:
    """Add up a value over all elements of a named axis of `vmap`.

    Args:
        x: a pytree of arrays, each element's own.
        axis_name: the ``axis_name`` of a `vmap` around this call, or a tuple of names, which are summed over in turn.

    Returns:
        A pytree like ``x`` with the sums, the same for all elements. ``psum(1, axis_name)`` is the length of the axis.

    Raises:
        NameError: no `vmap` around this call has this name.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: x / fg.psum(x, "i"), axis_name="i")(np.array([1.0, 2.0, 5.0]))
        array([0.125, 0.25 , 0.625])

        The derivative of an element's result by its own argument also counts what the argument does in all elements:

        >>> fg.vmap(fg.grad(lambda x: fg.psum(x**2, "i")), axis_name="i")(np.array([1.0, 2.0, 5.0]))
        array([ 6., 12., 30.])

    Source: ``jax.lax.psum``.
    """
    return _folded("psum", x, axis_name, lambda y: reduce_sum(y, (0,)), lambda x, n: n * x)


@folded
def pmean(x: Value, axis_name: Names) -> PyTree:
    """Compute the mean of a value over all elements of a named axis of `vmap`.

    Args:
        x: a pytree of arrays, each element's own.
        axis_name: the ``axis_name`` of a `vmap` around this call, or a tuple of names.

    Returns:
        A pytree like ``x`` with the means.

    Raises:
        NameError: no `vmap` around this call has this name.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: x - fg.pmean(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
        array([-2., -1.,  3.])

    Source: ``jax.lax.pmean``.
    """
    count = psum(1, axis_name)
    return tree_map(lambda total: total / count, psum(x, axis_name))


@folded
def pmax(x: Value, axis_name: Names) -> PyTree:
    """Compute the greatest value over all elements of a named axis of `vmap`.

    Args:
        x: a pytree of arrays, each element's own.
        axis_name: the ``axis_name`` of a `vmap` around this call, or a tuple of names.

    Returns:
        A pytree like ``x`` with the maxima. Elements that are equal share the derivative, as in ``np.max``.

    Raises:
        NameError: no `vmap` around this call has this name.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: x - fg.pmax(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
        array([-5., -4.,  0.])

    Source: ``jax.lax.pmax``, which has no derivative.
    """
    return _folded("pmax", x, axis_name, lambda y: reduce_max(y, (0,)), lambda x, n: x)


@folded
def pmin(x: Value, axis_name: Names) -> PyTree:
    """Compute the least value over all elements of a named axis of `vmap`.

    Args:
        x: a pytree of arrays, each element's own.
        axis_name: the ``axis_name`` of a `vmap` around this call, or a tuple of names.

    Returns:
        A pytree like ``x`` with the minima.

    Raises:
        NameError: no `vmap` around this call has this name.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: x - fg.pmin(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
        array([0., 1., 5.])

    Source: ``jax.lax.pmin``.
    """
    return _folded("pmin", x, axis_name, lambda y: reduce_min(y, (0,)), lambda x, n: x)


@folded
def all_gather(x: Value, axis_name: Hashable, *, axis: int = 0, tiled: bool = False) -> PyTree:
    """Collect a value of all elements of a named axis of `vmap`, in each element.

    Args:
        x: a pytree of arrays, each element's own.
        axis_name: the ``axis_name`` of a `vmap` around this call.
        axis: the position of the new axis in the results.
        tiled: whether the values are concatenated along the axis ``axis`` that they have, rather than stacked.

    Returns:
        A pytree like ``x``, with the values of all elements.

    Raises:
        NameError: no `vmap` around this call has this name.
        ValueError: there is no such ``axis``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: np.sum(fg.all_gather(x, "i") > x), axis_name="i")(np.array([3.0, 1.0, 2.0]))  # ranks
        array([0, 2, 1])

    Source: ``jax.lax.all_gather``.
    """
    trace = _trace_of("all_gather", axis_name)

    def gathered(x: Value) -> Array:
        y = _gathered(trace, x)
        rank = len(y.shape) - tiled
        if not -rank <= axis < rank:
            raise ValueError(
                f"all_gather: axis is {axis} for a value {aval_of(x)}; needed an axis from {-rank} to {rank - 1}. "
                "Change axis."
            )
        place = axis % rank
        if tiled:
            return concatenate([y[i] for i in range(y.shape[0])], place)
        return transpose(y, (*range(1, place + 1), 0, *range(place + 1, rank)))

    return tree_map(gathered, x)


@folded
def axis_index(axis_name: Names) -> Array:
    """Return the number of the element along a named axis of `vmap`.

    Args:
        axis_name: the ``axis_name`` of a `vmap` around this call, or a tuple of names, of which the last one counts
            fastest.

    Returns:
        An integer scalar, from 0 to the length of the axis minus 1.

    Raises:
        NameError: no `vmap` around this call has this name.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(lambda x: x * fg.axis_index("i"), axis_name="i")(np.array([3.0, 3.0, 3.0]))
        array([0., 3., 6.])

    Source: ``jax.lax.axis_index``.
    """
    number: Any = 0
    for name in _names(axis_name):
        trace = _trace_of("axis_index", name)
        number = number * int(trace.size) + _index_of(trace)
    return number


def _names(axis_name: Names) -> tuple[Hashable, ...]:
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def _folded(
    asked: str,
    x: Value,
    axis_name: Names,
    fold: Callable[[Any], Any],
    fold_same: Callable[[Any, int], Any],
) -> PyTree:
    """Fold each leaf over the named axes. ``fold_same(x, n)`` folds ``n`` values that are all the same."""
    for name in _names(axis_name):
        trace = _trace_of(asked, name)

        def folded(x: Value, trace: BatchTrace = trace) -> Value:
            x = as_value(taken(x))
            if not isinstance(x, Tracer):
                return fold_same(x, int(trace.size))
            # The sum of bools counts them.
            x = cast(x, np.dtype(np.int64)) if x.dtype == bool and asked == "psum" else x
            return fold(_gathered(trace, x))

        x = tree_map(folded, x)
    return x


def _gathered(trace: BatchTrace, x: Value) -> Array:
    axis = axis_of(trace.size)
    assert axis is not None
    return ops.all_gather(as_value(taken(x)), _index_of(trace), axis)


def _index_of(trace: BatchTrace) -> Array:
    return trace.input(np.arange(int(trace.size)))


def _trace_of(asked: str, name: Hashable) -> BatchTrace:
    """Return the innermost mapping over an axis of this name."""
    known: list[Hashable] = []
    trace = active_trace()
    while trace is not None:
        axis: NamedAxis | None = axis_of(trace.size) if isinstance(trace, BatchTrace) else None
        if axis is not None:
            if axis.name == name:
                assert isinstance(trace, BatchTrace)
                return trace
            known.append(axis.name)
        trace = trace.outer
    around = f"the names around it are {', '.join(map(repr, known))}" if known else "no vmap around it has a name"
    raise NameError(
        f"{asked}: the axis {shown(name)} was asked for, and {around}. Call it inside of a function that is mapped "
        f"with this name: fg.vmap(f, axis_name={shown(name)})."
    )
