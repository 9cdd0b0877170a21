"""Arrays as sets. Plain numbers decide which elements are chosen, and the chosen elements carry derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, Tracer, bind
from funcgrad._ops.elementwise.arithmetic import eq_p
from funcgrad._ops.elementwise.logic import logical_not_p
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.sort import searchsorted, sort
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import concrete_value, innermost, known_value
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._choose.masks import nonzero_of, positions_of
from funcgrad.numpy._choose.take import take
from funcgrad.numpy._reduce.cumulative import flat
from funcgrad.numpy._reduce.reductions import as_array

_LENGTH = "numpy.{}, whose result is as long as its numbers say,"


def _known(x: ArrayLike, name: str) -> np.ndarray:
    return np.asarray(concrete_value(x, _LENGTH.format(name)))


@beside_numpys(np.unique)
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Any,
) -> Any:
    """Return ``numpy.unique``. The first of equal elements carries the derivative. Its length needs known numbers."""
    x = as_array(ar)
    value = innermost(x)
    if isinstance(value, Tracer) and value._owner.follows and axis is None and not options:
        return _followed(x, return_index, return_inverse, return_counts)
    numbers = np.asarray(concrete_value(x, _LENGTH.format("unique"), has_path=axis is None and not options))
    found = np.unique(
        numbers, return_index=True, return_inverse=return_inverse, return_counts=return_counts, axis=axis, **options
    )
    values = take(flat(x), found[1]) if axis is None else take(x, found[1], normalize_axis(axis, len(x.shape)))
    rest = found[1:] if return_index else found[2:]
    return (values, *rest) if rest else values


def _followed(x: ArrayLike, return_index: bool, return_inverse: bool, return_counts: bool) -> Any:
    """Return ``numpy.unique`` in a trace that follows numbers. The count of different elements is a guard."""
    elements = flat(x)
    order = np.argsort(elements, kind="stable")
    ordered = take(elements, order)
    before, after = ordered[:-1], ordered[1:]
    # All NaN count as one element.
    both_nan = np.logical_and(np.isnan(before), np.isnan(after))
    differs = np.logical_and(before != after, np.logical_not(both_nan))
    begins = np.concatenate([np.ones(min(1, x.size), bool), differs])
    (first,) = positions_of(begins)
    found = [take(ordered, first)]
    if return_index:
        found.append(take(order, first))
    if return_inverse:
        places = take(np.cumsum(begins) - 1, np.argsort(order, kind="stable"))
        found.append(reshape(places, x.shape))
    if return_counts:
        found.append(np.diff(np.concatenate([first, [x.size]])))
    return tuple(found) if len(found) > 1 else found[0]


def _first_places(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the first position of each value among the flattened numbers."""
    sorted_values, places = np.unique(numbers, return_index=True, equal_nan=False)
    return places[np.searchsorted(sorted_values, values)]


def _array_api(name: str) -> Any:
    """Return a function of the Array API, with a named tuple as result."""
    numpys = getattr(np, name)

    @beside_numpys(numpys)
    def function(x: ArrayLike) -> Any:
        x = as_array(x)
        numbers = _known(x, name)
        found = numpys(numbers)
        values = found if name == "unique_values" else found.values
        values = take(flat(x), _first_places(numbers, values))
        return values if name == "unique_values" else found._replace(values=values)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``; see `unique`."
    return function


unique_all = _array_api("unique_all")
unique_counts = _array_api("unique_counts")
unique_inverse = _array_api("unique_inverse")
unique_values = _array_api("unique_values")


def _together(*arrays: ArrayLike) -> list[Any]:
    return [flat(x) for x in promote(*[as_array(x) for x in arrays])]


def _where(mask: ArrayLike, x: ArrayLike, name: str) -> Any:
    """Return the elements of a vector where a mask is true."""
    (places,) = nonzero_of(mask, _LENGTH.format(name))
    return take(x, places)


@beside_numpys(np.union1d)
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Any:
    """``numpy.union1d``; see `unique`."""
    return unique(concatenate(_together(ar1, ar2), 0))


@beside_numpys(np.intersect1d)
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return ``numpy.intersect1d``; the elements come from the first array. See `unique`."""
    a, b = _together(ar1, ar2)
    if not return_indices:
        a = sort(a, 0) if assume_unique else unique(a)
        return _where(isin(a, b), a, "intersect1d")
    known = _known(a, "intersect1d"), _known(b, "intersect1d")
    _, first, second = np.intersect1d(known[0], known[1], assume_unique, return_indices=True)
    return take(a, first), first, second


@beside_numpys(np.setdiff1d)
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    """``numpy.setdiff1d``; see `unique`."""
    a = flat(as_array(ar1)) if assume_unique else unique(ar1)
    return _where(isin(a, ar2, invert=True), a, "setdiff1d")


@beside_numpys(np.setxor1d)
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Any:
    """``numpy.setxor1d``; see `unique`."""
    a, b = [x if assume_unique else unique(x) for x in _together(ar1, ar2)]
    alone = [_where(isin(x, y, invert=True), x, "setxor1d") for x, y in ((a, b), (b, a))]
    return sort(concatenate(alone, 0), 0)


@beside_numpys(np.isin)
def isin(
    element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """``numpy.isin``; the result carries no derivative."""
    x, tests = as_array(element), as_array(test_elements)
    numbers = [known_value(each) for each in (x, tests)]
    if numbers[0] is not None and numbers[1] is not None:
        return np.isin(numbers[0], numbers[1], assume_unique, invert, kind=kind)
    a, b = promote(x, flat(tests))
    if not b.shape[0]:
        return broadcast_to(np.array(invert), a.shape)
    b = sort(b, 0)
    nearest = take(b, searchsorted(b, flat(a), "left"), 0, mode="clip")
    found = reshape(bind(eq_p, (nearest, flat(a)), NO_PARAMS), a.shape)
    return bind(logical_not_p, (found,), NO_PARAMS) if invert else found
