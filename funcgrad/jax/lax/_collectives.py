"""Values that elements of a named axis of `vmap` exchange: the names of ``jax.lax`` over ``all_gather``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._transforms import named_axis as axes
from funcgrad._types import Array, ArrayLike, PyTree
from funcgrad.jax._array import tree_of_arrays
from funcgrad.tree import map as tree_map


def ppermute(x: ArrayLike, axis_name: Any, perm: Sequence[tuple[int, int]]) -> PyTree:
    """``jax.lax.ppermute``: the value of the element that sends to this one, by pairs (from, to); 0 without one."""
    size = axes.psum(1, axis_name)
    sources = [-1] * size
    for source, target in perm:
        if not (0 <= source < size and 0 <= target < size) or sources[target] >= 0:
            raise ValueError(
                f"ppermute: perm is {list(perm)}; needed pairs (from, to) of numbers from 0 to {size - 1}, each target "
                "at most once. Change perm."
            )
        sources[target] = source
    source = fnp.take(fnp.asarray(sources), axes.axis_index(axis_name))

    def received(y: ArrayLike) -> Array:
        value = fnp.take(y, fnp.maximum(source, 0), axis=0)
        return fnp.where(source >= 0, value, fnp.zeros((), value.dtype))

    return tree_of_arrays(tree_map(received, axes.all_gather(x, axis_name)))


def pshuffle(x: ArrayLike, axis_name: Any, perm: Sequence[int]) -> Any:
    """``jax.lax.pshuffle``: the value of the element ``perm[i]`` in the element ``i``."""
    return ppermute(x, axis_name, [(source, target) for target, source in enumerate(perm)])


def pbroadcast(x: ArrayLike, axis_name: Any, source: int) -> Any:
    """``jax.lax.pbroadcast``: the value of one element, in all."""
    return tree_of_arrays(tree_map(lambda y: y[source], axes.all_gather(x, axis_name)))


def all_to_all(x: ArrayLike, axis_name: Any, split_axis: int, concat_axis: int, *, tiled: bool = False) -> PyTree:
    """``jax.lax.all_to_all``: each element sends its ``i``-th slice along ``split_axis`` to the element ``i``."""
    size = axes.psum(1, axis_name)

    def exchanged(y: ArrayLike) -> Array:
        axis = split_axis % (y.ndim - 1) + 1
        _check_split("all_to_all", y.shape[axis], size, tiled)
        parts = fnp.moveaxis(y, axis, 1)
        if not tiled:
            return fnp.moveaxis(fnp.take(parts, axes.axis_index(axis_name), axis=1), 0, concat_axis)
        own = fnp.take(parts.reshape(size, size, -1, *parts.shape[2:]), axes.axis_index(axis_name), axis=1)
        return fnp.concatenate([fnp.moveaxis(part, 0, axis - 1) for part in own], concat_axis)

    return tree_of_arrays(tree_map(exchanged, axes.all_gather(x, axis_name)))


def pswapaxes(x: ArrayLike, axis_name: Any, axis: int) -> Any:
    """``jax.lax.pswapaxes``: exchange the named axis with an axis of the value."""
    return all_to_all(x, axis_name, axis, axis)


def psum_scatter(x: ArrayLike, axis_name: Any, *, scatter_dimension: int = 0, tiled: bool = False) -> PyTree:
    """``jax.lax.psum_scatter``: the sum over the named axis, of which the element ``i`` gets the ``i``-th slice."""
    size = axes.psum(1, axis_name)

    def own(y: ArrayLike) -> Array:
        _check_split("psum_scatter", y.shape[scatter_dimension], size, tiled)
        parts = fnp.moveaxis(y, scatter_dimension, 0)
        if not tiled:
            return fnp.take(parts, axes.axis_index(axis_name), axis=0)
        parts = parts.reshape(size, -1, *parts.shape[1:])
        return fnp.moveaxis(fnp.take(parts, axes.axis_index(axis_name), axis=0), 0, scatter_dimension)

    return tree_of_arrays(tree_map(own, axes.psum(x, axis_name)))


def _check_split(asked: str, length: int, size: int, tiled: bool) -> None:
    if length % size if tiled else length != size:
        needed = f"a multiple of {size}" if tiled else str(size)
        raise ValueError(
            f"{asked}: the axis that is split has length {length}, and the named axis {size}; needed {needed}. "
            "Choose another axis, or reshape the value."
        )
