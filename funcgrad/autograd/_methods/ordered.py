"""Methods that order or choose along an axis, with PyTorch's results: values and indices in a named tuple.

The values are read at the indices, so gradients flow to the chosen elements alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array, AxesLike, Tensor
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._memory.write import plain_value, value_of
from funcgrad.autograd._methods.dims import check_of_scalar
from funcgrad.autograd._methods.results import RETURN_TYPES
from funcgrad.autograd._tape.base import is_tensor
from funcgrad.numpy.extend import normalize_axis

Method = Callable[..., Any]


def titled(y: Tensor, title: str) -> Tensor:
    """Give the node of a result PyTorch's name."""
    if getattr(y, "_node", None) is not None:
        y._node.title = title
    return y


def index_tensor(self: Tensor, index: Array) -> Tensor:
    """Return indices as a tensor of int64."""
    return index if is_tensor(index) else self._owner.constant(np.asarray(index))


def _taken(name: str, self: Tensor, index: Array, axis: int, keepdim: bool = True) -> Any:
    """Return the elements at indices along an axis, and the indices, in the named tuple of a function."""
    values = titled(fnp.take_along_axis(self, index, axis), f"{name.capitalize()}Backward0")
    if not keepdim:
        values, index = fnp.squeeze(values, axis), fnp.squeeze(index, axis)
    return RETURN_TYPES[name](values, index_tensor(self, index))


def _along(function: Callable[..., Any]) -> Method:
    """Wrap a method along one axis, so that it takes a tensor without axes, as a vector of one element."""

    def method(self: Tensor, dim: int, *args: Any, **options: Any) -> Any:
        if self.shape:
            return function(self, normalize_axis(dim, len(self.shape)), *args, **options)
        check_of_scalar((dim,))
        found = function(self.reshape(1), 0, *args, **options)
        return type(found)(*[y.reshape(()) if y.size == 1 else y for y in found])

    return method


def _extremum(name: str) -> Method:
    function, position = getattr(fnp, name), getattr(fnp, f"arg{name}")
    pairwise = fnp.maximum if name == "max" else fnp.minimum

    @_along
    def along(self: Tensor, axis: int, keepdim: bool = False) -> Any:
        if not self.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
        return _taken(name, self, fnp.expand_dims(position(self, axis), axis), axis, keepdim)

    def method(self: Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        other = options.pop("other", dim if hasattr(dim, "dtype") and np.shape(dim) else None)
        other = dim if is_tensor(dim) else other
        if other is not None:
            return pairwise(self, plain_value(other))
        if dim is not None:
            return along(self, dim, keepdim)
        if not options and not self.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        y = function(self, **options)
        return copied(self) if y is self else y

    method.__doc__ = f"""Return the {name} of all elements, or along ``dim`` the values and their indices.

        With a tensor as argument it is the elementwise {name}, and with NumPy's ``axis=`` the values alone.
        """
    return method


def _descending(x: Tensor, axis: int) -> Any:
    """Return the order in which elements descend, equal ones as they stand; NaN counts as the greatest."""
    order = fnp.argsort(fnp.flip(x, axis), axis, stable=True)
    return fnp.flip(x.shape[axis] - 1 - order, axis)


@_along
def _sorted(self: Tensor, axis: int, descending: bool) -> Any:
    order = _descending(self, axis) if descending else fnp.argsort(self, axis, stable=True)
    return _taken("sort", self, order, axis)


def sort(self: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Return the elements in order along an axis, and their indices. Equal elements keep their order."""
    del stable
    if isinstance(dim, bool):
        dim, descending = -1, dim
    return _sorted(self, dim, descending)


def argsort(
    self: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, axis: int | None = None
) -> Tensor:
    """Return the indices that order the elements along an axis."""
    return sort(self, dim if axis is None else axis, descending, stable).indices


@_along
def _top(self: Tensor, axis: int, k: int, largest: bool) -> Any:
    if not 0 <= k <= self.shape[axis]:
        raise RuntimeError("selected index k out of range")
    order = _descending(self, axis) if largest else fnp.argsort(self, axis, stable=True)
    return _taken("topk", self, fnp.take(order, np.arange(k), axis), axis)


def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the k greatest or least elements along an axis, in order, and their indices."""
    del sorted
    return _top(self, dim, int(k), largest)


@_along
def _kth(self: Tensor, axis: int, k: int, keepdim: bool) -> Any:
    if not 1 <= k <= self.shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    order = fnp.argsort(self, axis, stable=True)
    return _taken("kthvalue", self, fnp.take(order, np.array([k - 1]), axis), axis, keepdim)


def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the k-th least element along an axis, counted from 1, and its index."""
    return _kth(self, dim, int(k), keepdim)


def _middle(name: str) -> Method:
    """Return the median: the lower one of two, and NaN where there is one unless NaN is left out."""

    @_along
    def along(self: Tensor, axis: int, keepdim: bool) -> Any:
        if not self.shape[axis]:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
        order = fnp.argsort(self, axis, stable=True)
        nans = fnp.sum(fnp.isnan(self), axis=axis, keepdims=True)
        count = self.shape[axis]
        if name == "median":
            place = fnp.where(nans > 0, count - nans, (count - 1) // 2)
        else:
            place = fnp.maximum(count - nans - 1, 0) // 2
        return _taken(name, self, fnp.take_along_axis(order, place, axis), axis, keepdim)

    def method(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is not None:
            return along(self, dim, keepdim)
        return along(self.reshape(-1), 0, False).values if self.size else self.new_full((), np.nan)

    method.__doc__ = "Return the lower median of all elements, or along an axis with the indices."
    return method


@_along
def _mode(self: Tensor, axis: int, keepdim: bool) -> Any:
    lines = np.moveaxis(np.asarray(value_of(self)), axis, -1)
    index = np.empty((*lines.shape[:-1], 1), np.int64)
    for place in np.ndindex(lines.shape[:-1]):
        found, counts = np.unique(lines[place], return_counts=True)
        index[place] = np.flatnonzero(lines[place] == found[np.argmax(counts)])[-1]
    return _taken("mode", self, np.moveaxis(index, -1, axis), axis, keepdim)


def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent element along an axis, the least of several, and the index of its last occurrence."""
    return _mode(self, dim, keepdim)


def _running(name: str) -> Method:
    accumulate = (np.maximum if name == "cummax" else np.minimum).accumulate

    @_along
    def method(self: Tensor, axis: int) -> Any:
        value = np.asarray(value_of(self))
        place = np.arange(value.shape[axis]).reshape(-1, *(1,) * (value.ndim - axis - 1))
        is_new = (value == accumulate(value, axis)) | (value != value)  # noqa: PLR0124  (NaN)
        return _taken(name, self, np.maximum.accumulate(np.where(is_new, place, 0), axis), axis)

    method.__doc__ = "Return the extreme elements so far along an axis, and the index of each."
    return method


def aminmax(self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the least and the greatest element, of all or along an axis."""
    axis = dim if dim is None or self.shape else None
    return RETURN_TYPES["aminmax"](*[f(self, axis=axis, keepdims=keepdim) for f in (fnp.min, fnp.max)])


def _spread(name: str) -> Method:

    def method(
        self: Tensor,
        dim: AxesLike = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        **options: Any,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if options.keys() - {"axis", "ddof", "keepdims", "mean"}:
            raise TypeError(f"{name}() got an unexpected keyword argument {shown(min(options))}")
        if self.dtype.kind in "biu":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        default = 1 if unbiased is None else int(unbiased)
        options.setdefault("ddof", default if correction is None else correction)
        axis = options.pop("axis", dim)
        axis = tuple(axis) or None if isinstance(axis, list | tuple) else axis
        if not self.shape and axis is not None:
            check_of_scalar((axis,) if isinstance(axis, int) else axis)
            axis = None
        # PyTorch computes half precision in float32. The square of 256 would overflow.
        half = self.dtype.itemsize == 2
        x = cast(self, np.dtype(np.float32)) if half else self
        variance = fnp.var(x, axis=axis, keepdims=options.pop("keepdims", keepdim), **options)
        y = variance if name == "var" else root_of_squares_p(variance)
        return cast(y, self.dtype) if half else y

    method.__doc__ = f"""Return the {name}, with n - 1 in the divisor unless ``correction=`` or ``unbiased=`` is given.

        ``ddof=``, ``axis=`` and ``keepdims=`` are NumPy's names of the arguments.
        """
    return method


METHODS: dict[str, Method] = {
    "max": _extremum("max"),
    "min": _extremum("min"),
    "sort": sort,
    "argsort": argsort,
    "msort": lambda self: sort(self, 0).values,
    "topk": topk,
    "kthvalue": kthvalue,
    "median": _middle("median"),
    "nanmedian": _middle("nanmedian"),
    "mode": mode,
    "cummax": _running("cummax"),
    "cummin": _running("cummin"),
    "aminmax": aminmax,
    "std": _spread("std"),
    "var": _spread("var"),
}
