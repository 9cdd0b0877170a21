"""``scatter_reduce``: reduces source elements with one target to their sum, product, mean, maximum or minimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd._memory.history import check_in_place
from funcgrad.autograd._memory.write import compute, plain_value, value_of
from funcgrad.autograd._methods.selected import scattered, source_of
from funcgrad.numpy.extend import At

Method = Callable[..., Any]
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _reduced(x: Tensor, dim: int, index: Any, src: ArrayLike, reduce: str, *, include_self: bool = True) -> Any:
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


def _multiplied(x: Tensor, sent: Any, places: np.ndarray) -> Any:
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


def _extreme(x: Tensor, sent: Any, places: np.ndarray, counts_itself: np.ndarray, ufunc: np.ufunc) -> Any:
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


def _in_place(self: Tensor, dim: int, index: Any, src: ArrayLike, reduce: str, *, include_self: bool = True) -> Any:
    """`scatter_reduce` in place."""
    src = plain_value(src)
    check_in_place(self, (src,), "scatter_reduce_")
    return compute(
        self,
        lambda x: _reduced(x, dim, index, src, reduce, include_self=include_self),
        (src,),
        "ScatterReduceBackward0",
        asked="scatter_reduce_",
        separate=True,
    )


METHODS: dict[str, Method] = {"scatter_reduce": _reduced}
IN_PLACE: dict[str, Method] = {"scatter_reduce_": _in_place}
