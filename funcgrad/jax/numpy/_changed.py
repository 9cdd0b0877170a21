"""Functions that change arrays in NumPy and return changed ones in JAX, and others with JAX's own arguments."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._transforms.vmap import vmap
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.jax._array import plain


def _require_copy(function: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"{function}: inplace is True, and arrays of funcgrad.jax never change, as in JAX. "
            f"Write x = jnp.{function}(x, ..., inplace=False)."
        )


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Any:
    """``jax.numpy.fill_diagonal``: return the array with another diagonal."""
    _require_copy("fill_diagonal", inplace)
    a = fnp.asarray(a)
    if a.ndim == 2 and (wrap or a.shape[0] <= a.shape[1]):
        places = np.arange(0, a.size, a.shape[1] + 1)
    elif a.ndim == 2:
        places = np.arange(min(a.shape)) * (a.shape[1] + 1)
    else:
        places = np.ravel_multi_index((np.arange(a.shape[0]),) * a.ndim, a.shape)
    values = fnp.resize(fnp.ravel(val), (len(places),))
    return fnp.at(fnp.ravel(a))[places].set(values).reshape(a.shape)


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Any:
    """``jax.numpy.put``: return the array with other elements at places of the flattened array."""
    _require_copy("put", inplace)
    a = fnp.asarray(a)
    places = fnp.ravel(ind)
    if mode == "wrap":
        places %= a.size
    elif mode == "clip":
        places = fnp.clip(places, 0, a.size - 1)
    values = fnp.resize(fnp.ravel(v), places.shape)
    return fnp.at(fnp.ravel(a))[places].set(values).reshape(a.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Any:
    """``jax.numpy.place``: return the array with other elements where the mask is true."""
    _require_copy("place", inplace)
    arr = fnp.asarray(arr)
    flags = fnp.ravel(mask) != 0
    vals = fnp.ravel(vals)
    number = fnp.cumsum(flags) - 1
    return fnp.where(flags, vals[fnp.where(flags, number, 0) % vals.shape[0]], fnp.ravel(arr)).reshape(arr.shape)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """``jax.numpy.put_along_axis``: return the array with other elements at places along an axis."""
    _require_copy("put_along_axis", inplace)
    del mode
    if axis is None:
        return put(arr, indices, values, inplace=False)
    arr, indices = fnp.asarray(arr), fnp.asarray(indices)
    shape = tuple([arr.shape[k] if k != axis % arr.ndim else n for k, n in enumerate(indices.shape)])
    indices = fnp.broadcast_to(indices, shape)
    grid = np.ix_(*[np.arange(n) for n in shape])
    places = tuple([indices if k == axis % arr.ndim else grid[k] for k in range(arr.ndim)])
    return fnp.at(arr)[places].set(fnp.broadcast_to(values, shape))


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """``jax.numpy.sort``: sort along an axis, the greatest first if asked."""
    del kind, order, stable
    y = fnp.sort(a, axis)
    return fnp.flip(y, -1 if axis is None else axis) if descending else y


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike = None,
) -> Any:
    """``jax.numpy.argsort``: the order that sorts along an axis; equal elements keep theirs."""
    del kind, order, stable
    if axis is None:
        a, axis = fnp.ravel(a), 0
    if not descending:
        found = fnp.argsort(a, axis, stable=True)
    else:
        # The array is turned round before it is sorted, and its order after, so that equal elements keep theirs.
        found = fnp.shape(a)[axis] - 1 - fnp.flip(fnp.argsort(fnp.flip(a, axis), axis, stable=True), axis)
    return found if dtype is None else found.astype(dtype)


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    fill_value: ArrayLike = None,
) -> Any:
    """``jax.numpy.take``: elements along an axis; ``fill_value``, or NaN, outside of the array."""
    del out
    if axis is None:
        a, axis = fnp.ravel(a), 0
    a, indices = fnp.asarray(a), fnp.asarray(indices)
    if mode in ("wrap", "clip"):
        return fnp.take(a, indices, axis, mode=mode)
    if mode not in (None, "fill"):
        raise ValueError(f'take: mode is {mode!r}; needed "fill", "wrap" or "clip".')
    size = a.shape[axis]
    indices = fnp.where(indices < 0, indices + size, indices)
    inside = fnp.logical_and(indices >= 0, indices < size)
    found = fnp.take(a, indices, axis, mode="clip")
    shape = (*inside.shape, *[1] * (a.ndim - 1 - axis % a.ndim))
    return fnp.where(inside.reshape(shape), found, _missing(a.dtype) if fill_value is None else fill_value)


def _missing(dtype: np.dtype) -> Any:
    """Return JAX's number for an element outside of an array: NaN, or the integer farthest from 0."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.min if dtype.kind == "i" else info.max)
    return True if dtype.kind == "b" else dtype.type(np.nan)


def asarray(a: ArrayLike, dtype: DTypeLike = None, order: Any = None, *, copy: bool | None = None) -> Array:
    """``jax.numpy.asarray``: an array of the same numbers. A plain array of NumPy's is copied: it may change later."""
    return fnp.array(a, dtype, copy=True if copy is None else copy, order=order or "K")


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False) -> Any:
    """``jax.numpy.astype``: the array in another dtype."""
    return fnp.astype(fnp.asarray(x), np.dtype(dtype), copy=copy)


def isscalar(element: ArrayLike) -> bool:
    """``jax.numpy.isscalar``: whether it is a number, or an array without axes."""
    return np.isscalar(element) or getattr(element, "ndim", 1) == 0


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """``jax.numpy.apply_along_axis``: the results of a function of the slices along an axis."""
    return fnp.apply_along_axis(lambda *values, **named: plain(func1d(*values, **named)), axis, arr, *args, **kwargs)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Any:
    """``jax.numpy.polymul``: the product of polynomials, which keeps its leading zeros unless asked otherwise."""
    return fnp.polymul(a1, a2) if trim_leading_zeros else fnp.convolve(fnp.atleast_1d(a1), fnp.atleast_1d(a2))


def reciprocal(x: ArrayLike) -> Any:
    """``jax.numpy.reciprocal``: ``1 / x``, a float for integers too."""
    x = fnp.asarray(x)
    return fnp.reciprocal(x) if x.dtype.kind in "fcV" else 1 / x


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """``jax.numpy.polydiv``: quotient and remainder, which keeps its leading zeros unless asked otherwise."""
    quotient, remainder = fnp.polydiv(u, v)
    lacking = 0 if trim_leading_zeros else len(fnp.atleast_1d(u)) - remainder.shape[0]
    return quotient, fnp.concatenate([fnp.zeros(lacking, remainder.dtype), remainder])


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Any:
    """``jax.numpy.roots``: the roots of a polynomial. Leading zeros count as coefficients without ``strip_zeros``."""
    del strip_zeros
    return fnp.roots(p)


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[Any] = (), signature: str | None = None) -> Any:
    """``jax.numpy.vectorize``: a function of core arrays as one that broadcasts, by `vmap` over the leading axes."""
    inputs = outputs = None
    if signature is not None:
        inputs, outputs = [
            [tuple(filter(None, dims.replace(" ", "").split(","))) for dims in re.findall(r"\(([^)]*)\)", side)]
            for side in signature.split("->")
        ]
    del outputs  # the results say their own shapes

    @functools.wraps(pyfunc)
    def broadcasting(*args: Any, **kwargs: Any) -> Array:
        kept = [k for k in range(len(args)) if k not in excluded]
        arrays = [fnp.asarray(args[k]) for k in kept]
        cores = [0] * len(kept) if inputs is None else [len(inputs[k]) for k in kept]
        outer = [x.shape[: x.ndim - core] for x, core in zip(arrays, cores, strict=True)]
        shape = np.broadcast_shapes(*outer)

        def core_function(*values: ArrayLike) -> Array:
            every = list(args)
            for k, value in zip(kept, values, strict=True):
                every[k] = value
            return pyfunc(*every, **kwargs)

        return _over_leading_axes(core_function, arrays, cores, shape)(*arrays)

    return broadcasting


def _over_leading_axes(f: Callable[..., Any], arrays: list, cores: list[int], shape: tuple[int, ...]) -> Any:
    """Map a function over the axes that the arrays have in front of their core axes, and that broadcast."""
    # The last axis is mapped first, so that the first one is outermost.
    for k in range(1, len(shape) + 1):
        axes = []
        squeezed = []
        for x, core in zip(arrays, cores, strict=True):
            place = x.ndim - core - k
            axes.append(0 if place >= 0 and x.shape[place] == shape[-k] else None)
            squeezed.append(place >= 0 and x.shape[place] != shape[-k])
        f = _mapped(f, axes, squeezed) if any(axis == 0 for axis in axes) else f
    return f


def _mapped(f: Callable[..., Any], axes: list, squeezed: list[bool]) -> Callable[..., Any]:
    inner = vmap(f, in_axes=tuple(axes))

    def over(*values: ArrayLike) -> Array:
        return inner(*[x[0] if drop else x for x, drop in zip(values, squeezed, strict=True)])

    return over


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: ArrayLike = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """``jax.numpy.take_along_axis``: elements at indices along an axis; ``mode`` is for indices out of bounds."""
    if mode is None and fill_value is None:
        return fnp.take_along_axis(arr, indices, axis)
    arr, indices = fnp.asarray(arr), fnp.asarray(indices)
    if axis is None:
        arr, axis = fnp.ravel(arr), 0
    count = arr.shape[axis]
    if wrap_negative_indices is not False:
        indices = fnp.where(indices < 0, indices + count, indices)
    y = fnp.take_along_axis(arr, fnp.clip(indices, 0, count - 1), axis)
    if mode not in (None, "fill"):
        return y
    there = fnp.logical_and(indices >= 0, indices < count)
    return fnp.where(there, y, _default_fill(y.dtype) if fill_value is None else fill_value).astype(y.dtype)


def _default_fill(dtype: np.dtype) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.nan
