"""Reductions and other methods along axes, with NumPy's or PyTorch's names of the arguments.

As in PyTorch, a tensor without axes counts as a vector of one element if an axis is named: it has the axes 0 and -1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_floating, is_inexact
from funcgrad._core.bind import bind
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._ops.elementwise.cast import cast, cast_p, real_dtype
from funcgrad._ops.reduce.softmax import log_softmax_p
from funcgrad._types import AxesLike, DTypeLike, ScalarLike, Tensor
from funcgrad.autograd._memory.views import copied, hold
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.autograd._tape.refused import out_of_range
from funcgrad.numpy.extend import normalize_axes, normalize_axis


def check_of_scalar(axes: Iterable[Any]) -> None:
    """Refuse axes that a vector of one element lacks."""
    for axis in axes:
        normalize_axis(axis, 1)


def span(x: Tensor, start: int, end: int) -> tuple[int, int]:
    """Return the first and the last of the axes from one to another."""
    ndim = max(len(x.shape), 1)
    first, last = normalize_axis(start, ndim), normalize_axis(end, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return first, last


def _axis(name: str, x: Tensor, dim: AxesLike, axis: AxesLike) -> Any:
    """Return the axes in NumPy's form: ``None`` for all axes, which PyTorch also writes as an empty tuple."""
    if dim is None:
        dim = axis
    elif axis is not None:
        raise TypeError(f"{name}: dim={dim} and axis={axis} were given; needed one of the two. Leave one out.")
    elif isinstance(dim, list | tuple):
        dim = tuple(dim) or None
    if x.shape or dim is None:
        _check_axes(dim, len(x.shape))
        return dim
    check_of_scalar((dim,) if isinstance(dim, int | np.integer) else dim)
    return None


def _check_axes(dim: AxesLike, ndim: int) -> None:
    for axis in dim if type(dim) is tuple else (dim,):
        if isinstance(axis, int) and not -ndim <= axis < ndim:
            raise IndexError(out_of_range(axis, ndim))


def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(fnp, name)

    def method(
        self: Tensor, dim: AxesLike = None, keepdim: bool = False, *, axis: AxesLike = None, **options: Any
    ) -> Any:
        if dim is None is axis and keepdim is False and self.shape and self.dtype.kind != "u":
            return function(self, **options)
        if type(keepdim) is not bool:
            raise TypeError(
                f"{name}: the second argument is {shown(keepdim)}; needed True or False, for keepdim. Name "
                "others: dtype=."
            )
        if keepdim:
            options["keepdims"] = True
        if self.dtype.kind == "u" and name in {"sum", "prod"}:
            options.setdefault("dtype", np.int64)
        y = function(self, axis=_axis(name, self, dim, axis), **options)
        # A reduction over no axes returns the same array.
        return hold(y, y._value.copy()) if y._value is self._value else y

    method.__name__ = name
    method.__doc__ = f"Return the {name} over some axes, by NumPy's or PyTorch's names of the arguments."
    return method


def _running(name: str) -> Callable[..., Any]:
    function = getattr(fnp, name)

    def method(self: Tensor, dim: AxesLike = None, dtype: DTypeLike = None, *, axis: AxesLike = None) -> Any:
        chosen = dim if axis is None else axis
        # NumPy adds unsigned integers as unsigned ones, PyTorch as int64.
        dtype = np.dtype(np.int64) if dtype is None and self.dtype.kind == "u" else dtype
        if self.shape or chosen is None:
            return function(self, chosen, dtype)
        check_of_scalar((chosen,))
        if self.dtype.kind in "fc":
            # The sum of a single number is the number itself, with the same derivative.
            return cast_p(self, dtype=np.dtype(dtype or self.dtype))
        return function(self, None, dtype).reshape()

    method.__name__ = name
    method.__doc__ = f"Return the {name} along an axis, by NumPy's or PyTorch's names of the arguments."
    return method


def _one_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method along one axis, so that it accepts a tensor without axes."""

    @functools.wraps(function)
    def method(self: Tensor, dim: AxesLike, dtype: DTypeLike = None) -> Any:
        if dtype is not None:
            self = cast_p(self, dtype=np.dtype(dtype))
        if not self.shape:
            check_of_scalar((dim,))
            return function(self.reshape(1), 0).reshape()
        # The softmax of an empty tensor is empty.
        return function(self, normalize_axis(dim, len(self.shape))) if all(self.shape) else copied(self)

    return method


def _check_floating(name: str, x: Tensor, dim: int) -> None:
    """Refuse integers as PyTorch's kernels do."""
    if not is_floating(x.dtype):
        kernel = f"{name}{'_lastdim' if dim == len(x.shape) - 1 else ''}_kernel_impl"
        raise NotImplementedError(f'"{kernel}" not implemented for {type_name(x.dtype)!r}')


@_one_line
def log_softmax(x: Tensor, dim: int) -> Tensor:
    """Return the logarithm of the softmax along an axis."""
    _check_floating("log_softmax", x, dim)
    return bind(log_softmax_p, (x,), {"axes": (dim,)})


@_one_line
def softmax(x: Tensor, dim: int) -> Tensor:
    """Return the softmax along an axis."""
    _check_floating("softmax", x, dim)
    return fnp.exp(log_softmax(x, dim))


def norm(self: Tensor, p: ScalarLike = 2, dim: Any = None, keepdim: bool = False, dtype: DTypeLike = None) -> Tensor:
    """Return the norm of the elements as a vector, of order 2 by default; ``"nuc"`` is the nuclear norm of matrices.

    If the norm is 0, the derivative is 0, as in PyTorch.
    """
    if dtype is not None:
        self = cast_p(self, dtype=np.dtype(dtype))
    if not is_inexact(self.dtype):
        raise RuntimeError(f"norm: the tensor is {self.aval}; needed floating or complex numbers. Convert it first.")
    if p == "nuc":
        return fnp.linalg.norm(self, "nuc", (-2, -1) if dim is None else tuple(dim), keepdims=keepdim)
    if not issubclass(type(p), int | float | np.number) and p not in (None, "fro"):
        raise RuntimeError(f"norm: the order is {p!r}; needed a number, 'fro' or 'nuc'. Write 2, for example.")
    axes = normalize_axes(_axis("norm", self, dim, None), len(self.shape))
    if p in (np.inf, -np.inf) and 0 in self.shape:
        raise RuntimeError(f"norm: the order is {p!r} and the tensor {self.aval}; needed elements. Use order 2 or 1.")
    if p in (1, np.inf, -np.inf):
        return {1: fnp.sum, np.inf: fnp.max, -np.inf: fnp.min}[p](abs(self), axis=axes, keepdims=keepdim)
    if p not in (None, "fro", 2):
        return _norm_of_order(self, p, axes, keepdim)
    # As in PyTorch, the sum has more digits: squares of narrow floats would overflow.
    wide = cast(self, np.dtype(np.complex128 if self.dtype.kind == "c" else np.float64))
    squares = wide.real**2 + wide.imag**2 if self.dtype.kind == "c" else wide * wide
    total = fnp.sum(squares, axis=axes, keepdims=keepdim)
    return cast(root_of_squares_p(total), real_dtype(self.dtype))


def _norm_of_order(self: Tensor, p: ScalarLike, axes: tuple[int, ...], keepdim: bool) -> Any:
    """Return the norm of an order other than 1, 2 and infinity; of order 0 the number of elements other than 0."""
    if p == 0:
        return cast(fnp.sum(self != 0, axis=axes, keepdims=keepdim), real_dtype(self.dtype))
    total = fnp.sum(abs(self) ** p, axis=axes, keepdims=keepdim)
    is_zero = total == 0
    return fnp.where(is_zero, 0, fnp.where(is_zero, 1, total) ** (1.0 / p)) if p > 0 else total ** (1.0 / p)


def _of_floats(mean: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the mean so that it refuses integers, whose mean has no dtype in PyTorch."""

    @functools.wraps(mean)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        dtype = options.get("dtype")
        if (self.dtype if dtype is None else np.dtype(dtype)).kind in "biu":
            given = "Input" if dtype is None else "Optional"
            raise RuntimeError(
                f"mean(): could not infer output dtype. {given} dtype must be either a floating point or complex "
                f"dtype. Got: {type_name(self.dtype if dtype is None else np.dtype(dtype))}"
            )
        return mean(self, *args, **options)

    return method


_REDUCTIONS = ("sum", "prod", "argmax", "argmin", "all", "any")
METHODS: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name) for name in _REDUCTIONS},
    **{name: _running(name) for name in ("cumsum", "cumprod")},
    "mean": _of_floats(_reduction("mean")),
}
