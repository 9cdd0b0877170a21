"""PyTorch's methods of whole arrays that NumPy lacks by these names: views, copies, products, measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, AxesLike, DTypeLike, IndexLike, Tensor
from funcgrad.autograd._memory.views import copied, expanded, getitem, viewing
from funcgrad.autograd._memory.write import plain_value, value_of
from funcgrad.autograd._methods.dims import check_of_scalar
from funcgrad.autograd._methods.names import METHODS as NAMES
from funcgrad.autograd._methods.names import dims_of, shape_of
from funcgrad.autograd._methods.to import number_dtype
from funcgrad.numpy.extend import normalize_axis
from funcgrad.scipy import special

Method = Callable[..., Any]
_FULL = slice(None)


def _axis(x: Tensor, dim: AxesLike) -> Any:
    """Return one or several axes of a tensor, which counts as a vector if it has none; ``None`` for all."""
    dim = tuple(dim) or None if isinstance(dim, list | tuple) else dim
    if x.shape or dim is None:
        return dim
    check_of_scalar((dim,) if isinstance(dim, int) else dim)
    return None


def _over(function: Callable[..., Any]) -> Method:
    """Return the method of a function over some axes."""

    def method(self: Tensor, dim: AxesLike = (), keepdim: bool = False, *, dtype: DTypeLike = None) -> Any:
        # NumPy adds unsigned integers as unsigned ones, PyTorch as int64.
        dtype = np.int64 if dtype is None and self.dtype.kind == "u" and function is fnp.nansum else dtype
        self = self if dtype is None else self.to(dtype)
        y = function(self, axis=_axis(self, dim), keepdims=keepdim)
        return copied(self) if y is self else y

    return method


def _of_two(function: Callable[[Any, Any], Any]) -> Method:
    def method(self: Tensor, other: ArrayLike) -> Any:
        return function(self, plain_value(other))

    return method


def _part(self: Tensor, dim: int, entry: IndexLike) -> Tensor:
    return getitem(self, (*(_FULL,) * normalize_axis(dim, len(self.shape)), entry))


def _narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return a part of a length along an axis, as a view."""
    size = self.shape[normalize_axis(dim, len(self.shape))]
    start = int(start)
    first = start + size if start < 0 else start
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= first <= size - length:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return _part(self, dim, slice(first, first + length))


def _select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return the element at one position along an axis, as a view without this axis."""
    if not self.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return _part(self, dim, int(index))


def _unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """Return the tensor with one axis split into several, as a view."""
    axis = normalize_axis(dim, len(self.shape))
    sizes, length = tuple(sizes), self.shape[axis]
    known = -int(np.prod(sizes)) if -1 in sizes else int(np.prod(sizes))
    if known == 0 != length or (length % known if -1 in sizes else known != length):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({length}) in the "
            "input tensor"
        )
    sizes = tuple([length // known if n == -1 else n for n in sizes])
    return self.reshape(*self.shape[:axis], *sizes, *self.shape[axis + 1 :])


def _broadcast_to(self: Tensor, *shape: Any) -> Tensor:
    return NAMES["expand"](self, *dims_of(shape))


def _moved(self: Tensor, source: Array, destination: Any) -> Tensor:
    """Return the tensor with axes at other positions, as a view."""
    if self.shape:
        return fnp.moveaxis(self, source, destination)
    for axes in (source, destination):
        check_of_scalar((axes,) if isinstance(axes, int) else axes)
    return self


def _flip(self: Tensor, *axes: Any, dims: Any = ()) -> Tensor:
    """Return a copy in reverse order along axes."""
    axes = dims_of(axes) or tuple(dims)
    if self.shape:
        return copied(fnp.flip(self, axes))
    check_of_scalar(axes)
    return copied(self)


def _roll(self: Tensor, shifts: Array, dims: AxesLike = None) -> Tensor:
    """Return a copy with elements rolled along axes."""
    return fnp.roll(self, shifts, dims)


def _diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """Return the matrix of a diagonal, or a copy of the diagonal of a matrix."""
    return copied(fnp.diag(self, diagonal))


def _diff(self: Tensor, n: int = 1, dim: int = -1, prepend: Array = None, append: Array = None) -> Tensor:
    """Return the differences along an axis, of the elements with others before and after them."""
    if prepend is not None or append is not None:
        self = fnp.concatenate([x for x in (prepend, self, append) if x is not None], dim)
    return fnp.diff(self, n, dim) if n else copied(self)


def _where(self: Tensor, condition: Array, other: ArrayLike) -> Tensor:
    """Return the elements where a condition is true, and those of another tensor elsewhere."""
    return fnp.where(plain_value(condition), self, plain_value(other))


def _equal(self: Tensor, other: ArrayLike) -> bool:
    """Return whether shape and elements are the same."""
    return bool(np.array_equal(self._value, value_of(plain_value(other))))


def _is_close(name: str) -> Method:
    function = getattr(np, name)

    def method(self: Tensor, other: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
        found = function(self._value, value_of(plain_value(other)), rtol, atol, equal_nan)
        return bool(found) if name == "allclose" else self._owner.constant(found)

    return method


def _logdet(self: Tensor) -> Tensor:
    """Return the logarithm of the determinant; NaN if the determinant is negative."""
    sign, logarithm = fnp.linalg.slogdet(self)
    return fnp.where(sign >= 0, logarithm, np.nan)


def _count_nonzero(self: Tensor, dim: AxesLike = None) -> Tensor:
    """Return how many elements are not 0."""
    return self._owner.constant(np.count_nonzero(self._value, axis=_axis(self, dim)))


def _filled(name: str) -> Method:
    make = getattr(np, name)

    def method(self: Tensor, *size: Any, dtype: DTypeLike = None, requires_grad: bool = False) -> Any:
        made = self._owner.constant(make(dims_of(size), self.dtype if dtype is None else number_dtype(name, dtype)))
        return made.requires_grad_() if requires_grad else made

    return method


def _new_full(
    self: Tensor, size: Any, fill_value: ArrayLike, dtype: DTypeLike = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor filled with a number, of this dtype unless another one is given."""
    made = self._owner.constant(np.full(tuple(size), value_of(fill_value), dtype or self.dtype))
    return made.requires_grad_() if requires_grad else made


def _is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Return whether the elements are in C order in memory, without gaps."""
    del memory_format
    return not isinstance(self._value, np.ndarray) or self._value.flags.c_contiguous


METHODS: dict[str, Method] = {
    "amax": _over(fnp.max),
    "amin": _over(fnp.min),
    "logsumexp": lambda self, dim, keepdim=False: special.logsumexp(self, axis=_axis(self, dim), keepdims=keepdim),
    "nansum": _over(fnp.nansum),
    "nanmean": _over(fnp.nanmean),
    "count_nonzero": _count_nonzero,
    "outer": _of_two(fnp.outer),
    "ger": _of_two(fnp.outer),
    "inner": _of_two(fnp.inner),
    "vdot": _of_two(fnp.vdot),
    "kron": _of_two(fnp.kron),
    "cross": lambda self, other, dim=-1: fnp.cross(self, plain_value(other), axis=dim),
    "subtract": NAMES["sub"],
    "multiply": _of_two(fnp.multiply),
    "true_divide": _of_two(fnp.true_divide),
    "det": fnp.linalg.det,
    "logdet": _logdet,
    "inverse": fnp.linalg.inv,
    "pinverse": fnp.linalg.pinv,
    "matrix_power": fnp.linalg.matrix_power,
    "flip": _flip,
    "fliplr": lambda self: copied(fnp.fliplr(self)),
    "flipud": lambda self: copied(fnp.flipud(self)),
    "rot90": lambda self, k=1, dims=(0, 1): copied(fnp.rot90(self, k, tuple(dims))),
    "roll": _roll,
    "tile": lambda self, *repeats, dims=None: copied(fnp.tile(self, dims_of(repeats) if dims is None else dims)),
    "diag": _diag,
    "diff": _diff,
    "where": _where,
    **dict.fromkeys(("moveaxis", "movedim"), viewing(_moved)),
    "swapdims": NAMES["swapaxes"],
    "broadcast_to": _broadcast_to,
    "expand_as": lambda self, other: expanded(self, shape_of("expand_as", other)),
    "reshape_as": viewing(lambda self, other: self.reshape(shape_of("reshape_as", other))),
    "unflatten": viewing(_unflatten),
    "narrow": _narrow,
    "select": _select,
    "equal": _equal,
    "isclose": _is_close("isclose"),
    "allclose": _is_close("allclose"),
    "new_zeros": _filled("zeros"),
    "new_ones": _filled("ones"),
    "new_empty": _filled("empty"),
    "new_full": _new_full,
    "ndimension": lambda self: len(self.shape),
    "element_size": lambda self: self.dtype.itemsize,
    "is_contiguous": _is_contiguous,
}
