"""``scatter_reduce`` and ``index_reduce``: reduce what is sent to one target to a sum, product, mean or extreme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.history import check_in_place
from funcgrad.autograd._memory.write import compute, plain_value, value_of
from funcgrad.autograd._methods.selected import check_slices, scattered, source_of
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.numpy.extend import At, normalize_axis

Method = Callable[..., Any]
_OF_SLICES = ("prod", "mean", "amax", "amin")
_REDUCTIONS = ("sum", *_OF_SLICES)


def _reduced(x: Tensor, dim: int, index: Array, src: ArrayLike, reduce: str, *, include_self: bool = True) -> Tensor:
    """Send source elements to the positions along an axis that an index names, and reduce those at one position."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    src = source_of("scatter", x, src)
    key, part = scattered(x, dim, index, src)
    grid = np.broadcast_arrays(*key)
    if not grid[0].size:
        return x * 1
    places = np.ravel_multi_index(grid, x.shape).reshape(-1)
    flat, sent = fnp.reshape(x, -1), fnp.reshape(part, -1)
    counts = np.bincount(places, minlength=x.size)
    counts_itself = np.full(x.size, True) if include_self else counts == 0
    if reduce in ("amax", "amin"):
        y = _extreme(flat, sent, places, counts_itself, np.maximum if reduce == "amax" else np.minimum)
    else:
        one = x.dtype.type(reduce == "prod")
        begun = fnp.where(counts_itself, flat, one)
        y = _multiplied(begun, sent, places) if reduce == "prod" else At(begun)[places].add(sent)
        if reduce == "mean":
            number = np.maximum(counts + counts_itself, 1).astype(x.dtype)
            y = y / number if is_inexact(x.dtype) else y // number
    return fnp.reshape(y, x.shape)


def _multiplied(x: Tensor, sent: Array, places: np.ndarray) -> Tensor:
    """Multiply each position by its source elements, one factor at a time, so that zeros get their derivatives."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    turns = np.empty(len(places), int)
    turns[order] = np.arange(len(places)) - np.searchsorted(ordered, ordered)
    for turn in range(int(turns.max()) + 1):
        now = np.flatnonzero(turns == turn)
        where = places[now]
        x = At(x)[where].set(x[where] * sent[now])
    return x


def _extreme(x: Tensor, sent: Array, places: np.ndarray, counts_itself: np.ndarray, ufunc: np.ufunc) -> Tensor:
    """Return the greatest or least element of each position. Equal ones share the cotangent equally."""
    values, own = value_of(sent), value_of(x)
    found = np.array(own)
    first, where = np.unique(places, return_index=True)
    begin = ~counts_itself[first]
    found[first[begin]] = np.asarray(values)[where[begin]]
    with np.errstate(invalid="ignore"):
        ufunc.at(found, places, values)
    if not is_inexact(x.dtype):
        return x._owner.constant(found)
    own_share = counts_itself & (own == found)
    shares = values == found[places]
    number = np.maximum(own_share + np.bincount(places, shares, minlength=len(found)), 1).astype(x.dtype)
    mean = At(fnp.where(own_share, x, 0) / number)[places].add(fnp.where(shares, sent, 0) / number[places])
    # The mean of equal numbers may be off by rounding, which is added back; NaN and infinity have none.
    with np.errstate(invalid="ignore"):
        rounding = np.where(np.isfinite(found), found - value_of(mean), 0)
    return mean + np.where(np.isnan(found), found, rounding)


def _reduced_slices(
    x: Tensor, dim: int, index: Array, source: ArrayLike, reduce: str, *, include_self: bool = True
) -> Any:
    """Send slices of a source to the slices that an index names, and reduce those at one position."""
    if reduce not in _OF_SLICES:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    source = source_of("index_reduce", x, source)
    places = np.asarray(value_of(index))
    if places.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {places.ndim} with type: "
            f"{type_name(places.dtype)} and size: {list(places.shape)}"
        )
    if str(places.dtype) not in ("int32", "int64"):
        raise RuntimeError(f"index_reduce_(): Expected dtype int32/int64 for index but got: {type_name(places.dtype)}")
    if not x.shape:
        if np.shape(source):
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                f"[] source.shape = {list(np.shape(source))}"
            )
        lifted, sent = fnp.reshape(x, 1), fnp.reshape(source, 1)
        return fnp.reshape(_reduced_slices(lifted, dim, places, sent, reduce, include_self=include_self), ())
    check_slices("index_reduce_()", x, dim, places, source)
    axis = normalize_axis(dim, len(x.shape))
    if places.size and not 0 <= places.min() <= places.max() < x.shape[axis]:
        raise IndexError("index out of range in self")
    along = np.broadcast_to(places.reshape(-1, *(1,) * (len(x.shape) - axis - 1)), source.shape)
    return _reduced(x, axis, along, source, reduce, include_self=include_self)


def _written(name: str, x: Tensor, source: Array, function: Callable[[Any, Any], Any]) -> Tensor:
    """Write what a function of the tensor and the source returns into the tensor."""
    source = plain_value(source)
    check_in_place(x, (source,), f"{name}_")
    title = f"{name.title().replace('_', '')}Backward0"
    return compute(x, lambda y: function(y, source), (source,), title, asked=f"{name}_", separate=True)


def _in_place(
    self: Tensor, dim: int, index: Array, src: ArrayLike, reduce: str, *, include_self: bool = True
) -> Tensor:
    """`scatter_reduce` in place."""
    return _written(
        "scatter_reduce", self, src, lambda x, src: _reduced(x, dim, index, src, reduce, include_self=include_self)
    )


def _slices_in_place(
    self: Tensor, dim: int, index: Array, source: ArrayLike, reduce: str, *, include_self: bool = True
) -> Any:
    """`index_reduce` in place."""
    return _written(
        "index_reduce",
        self,
        source,
        lambda x, source: _reduced_slices(x, dim, index, source, reduce, include_self=include_self),
    )


METHODS: dict[str, Method] = {"scatter_reduce": _reduced, "index_reduce": _reduced_slices}
IN_PLACE: dict[str, Method] = {"scatter_reduce_": _in_place, "index_reduce_": _slices_in_place}
