"""Counts and sums by bins. The choice of a bin carries no derivative; weights and edges do."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import eq_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.shape import flip, reshape
from funcgrad._ops.reduce.reduce import reduce_max, reduce_min
from funcgrad._ops.reduce.sort import INDEX_DTYPE, scatter_along_axis, searchsorted
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.concrete import concrete_value, known_value
from funcgrad.numpy._base.convert import dtype_of, promote
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._layout.creation import linspace
from funcgrad.numpy._reduce.calculus import diff
from funcgrad.numpy._reduce.cumulative import flat
from funcgrad.numpy._reduce.reductions import as_array

_INT = np.dtype(np.intp)
# The dtypes of which the bin is guessed, and the errors of a guess, in units of its last place.
_GUESSED = "fd"
_ROUNDINGS = 8


@beside_numpys(np.histogram)
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: ArrayLike = None,  # noqa: A002  (NumPy's name)
    density: Any = None,
    weights: ArrayLike = None,
) -> tuple[Any, Any]:
    """Return ``numpy.histogram``: linear in the weights. Edges between the extreme elements have derivatives."""
    a = flat(_numbers(a))
    w = None if weights is None else _weights("histogram", weights, a)
    edges = _edges(a, bins, range, w)
    # As in NumPy, weights of objects or other numbers are sorted into bins by a search.
    even = _is_number(bins) and (w is None or np.can_cast(w.dtype, complex))
    places, inside = _places(a, edges, even)
    n = edges.shape[0] - 1
    counts = _sums(places, inside, w, n)
    if not density:
        return counts, edges
    return counts / cast(diff(edges), np.dtype(float)) / reduce_sum(counts, (0,)), edges


@beside_numpys(np.histogram_bin_edges)
def histogram_bin_edges(a: ArrayLike, bins: ArrayLike = 10, range: ArrayLike = None, weights: ArrayLike = None) -> Any:  # noqa: A002  (NumPy's name)
    """Return ``numpy.histogram_bin_edges``: differentiable by the extreme elements, and by a given range."""
    a = flat(_numbers(a))
    return _edges(a, bins, range, None if weights is None else _weights("histogram_bin_edges", weights, a))


def _is_number(bins: ArrayLike) -> bool:
    return not isinstance(bins, list | tuple) and not getattr(bins, "shape", ())


def _numbers(a: ArrayLike) -> Any:
    a = as_array(a)
    return cast(a, np.dtype(np.uint8)) if a.dtype.kind == "b" else a


def _weights(name: str, weights: ArrayLike, a: ArrayLike) -> Any:
    w = as_array(weights)
    if math.prod(w.shape) != math.prod(a.shape):
        raise ValueError(
            f"{name}: weights are {aval_of(w)} and the values {aval_of(a)}; weights should have the same shape as a. "
            "Give each value one."
        )
    return flat(w)


def _edges(a: ArrayLike, bins: ArrayLike, limits: ArrayLike, weights: ArrayLike) -> Any:
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                f"histogram: bins is {bins!r} and there are weights. Automated estimation of the number of bins is not "
                "supported for weighted data. Give a number of bins."
            )
        values = concrete_value(a, f"histogram with bins={bins!r}")
        known_limits = limits if limits is None else tuple([concrete_value(as_array(x), "range") for x in limits])
        bins = len(np.histogram_bin_edges(values, bins, known_limits)) - 1
    elif not _is_number(bins):
        return _given_edges(as_array(bins))
    count = operator.index(bins)
    if count < 1:
        raise ValueError(f"histogram: `bins` is {count} and must be positive, when an integer. Give at least 1.")
    first, last = _limits(a, limits)
    kinds = [x if issubclass(type(x), int | float) else x.dtype for x in (first, last)]
    dtype = np.result_type(*kinds, a.dtype)
    dtype = np.result_type(dtype, float) if is_integral(dtype) else dtype
    edges = linspace(first, last, count + 1, dtype=dtype)
    known = known_value(edges)
    if known is not None and np.any(known[:-1] >= known[1:]):
        raise ValueError(
            f"histogram: Too many bins for data range. Cannot create {count} finite-sized bins. Give fewer, or a wider "
            "range."
        )
    return edges


def _given_edges(edges: ArrayLike) -> Any:
    if len(edges.shape) != 1:
        raise ValueError(f"histogram: `bins` is {aval_of(edges)} and must be 1d, when an array. Flatten it.")
    known = known_value(edges)
    if known is not None and np.any(known[:-1] > known[1:]):
        raise ValueError("histogram: `bins` must increase monotonically, when an array. Sort it.")
    return edges


def _limits(a: ArrayLike, limits: ArrayLike) -> tuple[Any, Any]:
    """Return the outer edges: the given ones, or the extreme elements. Equal ones are moved apart by a half each."""
    if limits is None and not a.shape[0]:
        return 0, 1
    first, last = limits if limits is not None else (reduce_min(a, (0,), False), reduce_max(a, (0,), False))
    known = [known_value(as_array(x)) for x in (first, last)]
    if known[0] is not None and known[1] is not None:
        _check_limits(known[0], known[1], given=limits is not None)
        return (first - 0.5, last + 0.5) if known[0] == known[1] else (first, last)
    same = bind(eq_p, promote(as_array(first), as_array(last)), NO_PARAMS)
    half = select(same, np.float64(0.5), np.float64(0))
    return tuple([x + sign * cast(half, _edge_dtype(x, a)) for x, sign in ((first, -1), (last, 1))])


def _edge_dtype(edge: ArrayLike, a: ArrayLike) -> np.dtype:
    """Return the dtype of an outer edge plus a half: float64 for an integer, that of the values for a Python number."""
    dtype = dtype_of(a if issubclass(type(edge), int | float) else edge)
    return np.dtype(float) if is_integral(dtype) else dtype


def _check_limits(first: np.ndarray, last: np.ndarray, *, given: bool) -> None:
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(
            f"histogram: {'supplied' if given else 'autodetected'} range of [{first}, {last}] is not finite; needed "
            "two numbers. Give range=, or leave out what is not finite."
        )
    if first > last:
        raise ValueError(f"histogram: the range is [{first}, {last}]; max must be larger than min in range parameter.")


def _places(a: ArrayLike, edges: ArrayLike, even: bool = False) -> tuple[Any, Any]:
    """Return the bin of each element (0 if it is in none), and whether it is in one.

    The last bin includes its right edge.

    Args:
        a: the elements.
        edges: the edges of the bins.
        even: whether all bins have the same width.
    """
    n = edges.shape[0] - 1
    a, edges = promote(a, edges)
    # NumPy compares plain numbers; the derivatives of comparisons are zero.
    inside = (a >= edges[0]) & (a <= edges[n])
    if even and a.dtype.char in _GUESSED and _ROUNDINGS * n * np.finfo(a.dtype).eps < 1:
        return _even_places(select(inside, a, edges[0]), edges, n), inside
    right = searchsorted(edges, a, "right") - 1
    last = bind(eq_p, (a, edges[n]), NO_PARAMS)
    return select(inside, select(last, INDEX_DTYPE.type(n - 1), right), INDEX_DTYPE.type(0)), inside


def _even_places(a: ArrayLike, edges: ArrayLike, n: int) -> Any:
    """Return the bins of elements that are in one, without a search: 400,000 searches among 1,000 edges take 17 ms.

    It is NumPy's way. Rounding may put the first guess one bin too far to either side.
    """
    last = INDEX_DTYPE.type(n - 1)
    guess = cast((a - edges[0]) / (edges[n] - edges[0]) * a.dtype.type(n), INDEX_DTYPE)
    guess = select(guess > last, last, guess)
    guess = guess - cast(a < index(edges, (SLOT,), (guess,)), INDEX_DTYPE)
    beyond = (a >= index(edges, (SLOT,), (guess + 1,))) & (guess < last)
    return guess + cast(beyond, INDEX_DTYPE)


def _sums(places: ArrayLike, inside: ArrayLike, weights: ArrayLike, n: int) -> Any:
    """Return the sum of the weights, or the count, for each of ``n`` bins."""
    w = cast(inside, _INT) if weights is None else select(inside, weights, weights.dtype.type(0))
    return scatter_along_axis(w, places, 0, n)


@beside_numpys(np.bincount)
def bincount(x: ArrayLike, /, weights: ArrayLike = None, minlength: int = 0) -> Any:
    """Return ``numpy.bincount``: linear in the weights, as float64. The greatest number has to be known."""
    places = np.asarray(
        concrete_value(as_array(x), "numpy.bincount, whose result has the length of its greatest number,")
    )
    counts = np.bincount(places, None, minlength)
    if weights is None:
        return counts
    w = as_array(weights)
    if w.shape != places.shape or not np.can_cast(w.dtype, float):
        raise (ValueError if w.shape != places.shape else TypeError)(
            f"bincount: weights are {aval_of(w)} and x {aval_of(places)}; the weights and list don't have the same "
            "length, or are no real numbers. Give each number one real weight."
        )
    return scatter_along_axis(cast(w, np.dtype(float)), places.astype(INDEX_DTYPE), 0, len(counts))


@beside_numpys(np.digitize)
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Any:
    """Return ``numpy.digitize``, without derivative. The direction of the bins has to be known."""
    x, edges = as_array(x), as_array(bins)
    for name, values in (("x", x), ("bins", edges)):
        if values.dtype.kind == "c":
            raise TypeError(f"digitize: {name} is {aval_of(values)} and may not be complex. Take its real part.")
    asked = "numpy.digitize (numpy.searchsorted takes increasing bins)"
    before, after = edges[:-1], edges[1:]
    side = "left" if right else "right"
    x, edges = promote(x, edges)
    if concrete_value(np.all(after >= before), asked):
        return searchsorted(edges, x, side)
    if not concrete_value(np.all(after <= before), asked):
        raise ValueError("digitize: bins must be monotonically increasing or decreasing. Sort them.")
    return INDEX_DTYPE.type(edges.shape[0]) - searchsorted(flip(edges, (0,)), x, side)


@beside_numpys(np.histogramdd)
def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike = 10,
    range: ArrayLike = None,  # noqa: A002  (NumPy's name)
    density: Any = None,
    weights: ArrayLike = None,
) -> tuple[Any, Any]:
    """Return ``numpy.histogramdd``: linear in the weights; see `histogram`."""
    columns = _columns(sample)
    count = len(columns)
    bins = [bins] * count if _is_number(bins) else list(bins)
    limits = [None] * count if range is None else list(range)
    if len(bins) != count or len(limits) != count:
        raise ValueError(
            f"histogramdd: The dimension of bins must be equal to the dimension of the sample x: there are {len(bins)} "
            f"bins and {len(limits)} ranges for {count} columns. Give one for each."
        )
    for i, each in enumerate(bins):
        if _is_number(each) and each < 1:
            raise ValueError(
                f"histogramdd: `bins[{i}]` is {each} and must be positive, when an integer. Give at least 1."
            )
    edges = [_edges(*given, None) for given in zip(columns, bins, limits, strict=True)]
    place, inside = INDEX_DTYPE.type(0), np.True_
    for x, e in zip(columns, edges, strict=True):
        here, within = _places(x, e)
        place, inside = place * (e.shape[0] - 1) + here, inside & within
    shape = tuple([e.shape[0] - 1 for e in edges])
    w = None if weights is None else _weights("histogramdd", weights, columns[0])
    counts = _sums(select(inside, place, INDEX_DTYPE.type(0)), inside, w, math.prod(shape))
    counts = reshape(cast(counts, np.dtype(float)), shape)
    if density:
        total = reduce_sum(counts, tuple([i for i, _ in enumerate(shape)]))
        for i, e in enumerate(edges):
            counts = counts / reshape(diff(e), (shape[i], *(1,) * (count - i - 1)))
        counts = counts / total
    return counts, edges


def _columns(sample: ArrayLike) -> list[Any]:
    """Return the columns of a matrix, or the vectors of a list."""
    if isinstance(sample, list | tuple):
        vectors = [as_array(x) for x in sample]
        return vectors if vectors and vectors[0].shape else [flat(as_array(sample))]
    sample = as_array(sample)
    return [sample[:, i] for i in range(sample.shape[1])] if len(sample.shape) == 2 else [flat(sample)]


@beside_numpys(np.histogram2d)
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike = 10,
    range: ArrayLike = None,  # noqa: A002  (NumPy's name)
    density: Any = None,
    weights: ArrayLike = None,
) -> tuple[Any, Any, Any]:
    """Return ``numpy.histogram2d``: linear in the weights; see `histogram`."""
    x, y = as_array(x), as_array(y)
    if x.shape != y.shape:
        raise ValueError(f"histogram2d: x is {aval_of(x)} and y {aval_of(y)}; x and y must have the same length.")
    if not _is_number(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second
