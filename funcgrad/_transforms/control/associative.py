"""``associative_scan``: all running results of an associative function, in a logarithmic number of rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import active_trace, is_value
from funcgrad._core.trace.place import own, settled
from funcgrad._core.tracebacks import folded
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.base.arguments import check_callable, name_of, owned, taken
from funcgrad._types import Array, ArrayLike, PyTree, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.numpy.extend import as_value
from funcgrad.tree import flatten, unflatten

Combine = Callable[[list[Any], list[Any]], list[Any]]


@folded
def associative_scan(f: Callable[[Any, Any], Any], elems: PyTree, reverse: bool = False, axis: int = 0) -> Any:
    """Compute all running results of an associative function: ``y[0] = x[0]``, ``y[i] = f(y[i - 1], x[i])``.

    For ``n`` elements ``f`` is called about ``2 * log2(n)`` times, each time with many elements at once. Together these
    are fewer than ``2 * n`` applications.

    Args:
        f: an associative function of two pytrees like ``elems``, which works along the axis element by element. Map a
            function of single elements with `vmap`.
        elems: a pytree of arrays of the same length along ``axis``.
        reverse: whether to go from the last element to the first; ``f`` gets the later element first.
        axis: the axis.

    Returns:
        A pytree like ``elems`` with the running results.

    Raises:
        TypeError: ``f`` changes a shape or dtype.
        TreeMismatchError: ``f`` returns another structure.
        ValueError: there are no arrays, their lengths differ, or one has no such axis.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.associative_scan(np.maximum, np.array([1.0, 3.0, 2.0, 5.0]))
        array([1., 3., 3., 5.])

        All states of ``h[i] = a[i] * h[i - 1] + b[i]``, with ``h = 0`` before the first:

        >>> def after(first, second):
        ...     return first[0] * second[0], first[1] * second[0] + second[1]
        >>> fg.associative_scan(after, (np.full(4, 0.5), np.ones(4)))[1]
        array([1.   , 1.5  , 1.75 , 1.875])

    Source: the signature is ``jax.lax.associative_scan``'s; Blelloch, *Prefix Sums and Their Applications* (1990).
    """
    check_callable("associative_scan", f)
    found, tree = flatten(elems)
    xs = [as_value(taken(x)) for x in found]
    places = _places(xs, axis)

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        trace = active_trace()
        first, second = [unflatten(tree, [own(x, trace) for x in xs]) for xs in (a, b)]
        out, out_tree = flatten(f(first, second))
        if out_tree != tree:
            raise TreeMismatchError(
                f"associative_scan: {name_of(f)} returned {out_tree}; needed the structure of its arguments, {tree}. "
                "Return the same containers and keys."
            )
        return [_fitted(f, settled(as_value(y)), x) for y, x in zip(out, a, strict=True)]

    scan = _Scan(combine, places)
    flipped = slice(None, None, -1)
    ys = scan.run(scan.parts(xs, flipped) if reverse else xs)
    return unflatten(tree, owned(scan.parts(ys, flipped) if reverse else ys, found))


def _places(xs: Sequence[Any], axis: int) -> list[int]:
    """Return the number of the axis in each array."""
    if not xs:
        raise ValueError("associative_scan: elems has no arrays; needed one at least. Give the elements as arrays.")
    places, lengths = [], set()
    for x in xs:
        shape = aval_of(x).shape if is_value(x) else ()
        if not -len(shape) <= axis < len(shape):
            what = str(aval_of(x)) if is_value(x) else f"a {type(x).__name__}"
            raise ValueError(
                f"associative_scan: a leaf of elems is {what}; needed an array with axis {axis}. Change axis, or the "
                "shape of the array."
            )
        places.append(axis % len(shape))
        lengths.add(shape[axis])
    if len(lengths) > 1:
        raise ValueError(
            f"associative_scan: elems has lengths {sorted(lengths)} along axis {axis}; needed one length. Make them "
            "equal, or put what is the same for all elements into a closure."
        )
    return places


def _fitted(f: Callable[..., Any], y: ArrayLike, x: ArrayLike) -> Array:
    got = aval_of(y) if is_value(y) else None
    needed = aval_of(x)
    if got is None or (got.shape, got.dtype) != (needed.shape, needed.dtype):
        raise TypeError(
            f"associative_scan: {name_of(f)} returned {got or f'a {type(y).__name__}'} for elements {needed}; needed "
            "the same shape and dtype. The function gets many elements at once: map a function of single elements with "
            "fg.vmap, and convert the result with astype."
        )
    return y


class _Scan:
    """The recursion on flat lists of arrays, each with its axis."""

    def __init__(self, combine: Combine, places: Sequence[int]) -> None:
        self.combine = combine
        self.places = places

    def parts(self, xs: Sequence[Any], part: slice) -> list[Any]:
        """Return the same part of each array along its axis."""
        pairs = zip(xs, self.places, strict=True)
        return [index(x, (*[slice(None)] * axis, part)) for x, axis in pairs]

    def run(self, xs: list[Any]) -> list[Any]:
        """Combine neighbours, scan the half as many results, and derive the results in between from these."""
        size = xs[0].shape[self.places[0]]
        if size < 2:
            return xs
        pairs = self.combine(self.parts(xs, slice(0, size - 1, 2)), self.parts(xs, slice(1, size, 2)))
        odd = self.run(pairs)
        before = self.parts(odd, slice(0, (size - 1) // 2))
        later = self.combine(before, self.parts(xs, slice(2, size, 2))) if size > 2 else []
        first = self.parts(xs, slice(0, 1))
        even = (
            [concatenate(two, axis) for *two, axis in zip(first, later, self.places, strict=True)] if later else first
        )
        return [self._interleaved(*three) for three in zip(even, odd, self.places, strict=True)]

    def _interleaved(self, even: Value, odd: Value, axis: int) -> Array:
        count = odd.shape[axis]
        shape = (*odd.shape[:axis], 2 * count, *odd.shape[axis + 1 :])
        leading = (*[slice(None)] * axis,)
        both = reshape(stack([index(even, (*leading, slice(0, count))), odd], axis + 1), shape)
        rest = even.shape[axis] - count
        return concatenate([both, index(even, (*leading, slice(count, None)))], axis) if rest else both
