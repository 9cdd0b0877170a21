"""Norms of vectors and matrices, as in ``numpy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import abs_p, eq_p, ne_p, root_of_squares_p
from funcgrad._ops.elementwise.cast import cast, real_dtype
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import reduced_shape
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._ops.linalg.spectral import svd
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import Axis, normalize_axis
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._math.elementwise import power
from funcgrad.numpy._reduce.cumulative import flat
from funcgrad.numpy._reduce.reductions import max_, min_, sum_
from funcgrad.numpy._reduce.statistics import inexact, squared


@implements(np.linalg.norm)
def norm(x: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:  # noqa: A002  (NumPy's name)
    """Return ``numpy.linalg.norm``: of vectors in any order, of matrices in all orders of NumPy."""
    x = inexact(x)
    ndim = len(x.shape)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1):
            y = _vector_norm(flat(x), 2, (0,), False)
            return reshape(y, (1,) * ndim) if keepdims else y
        axes = tuple(range(ndim))
    else:
        axes = tuple([normalize_axis(i, ndim) for i in ((axis,) if isinstance(axis, int | np.integer) else axis)])
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: axes {axes} were given; needed one, for vectors, or two, for matrices.")
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x: ArrayLike, order: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    if isinstance(order, str):
        raise ValueError(f"norm: the order {order!r} is one of matrices; needed a number for vectors.")
    if order == 2:
        return bind(root_of_squares_p, (sum_(squared(x), axes, keepdims=keepdims),), NO_PARAMS)
    if order == 0:
        return sum_(cast(bind(ne_p, (x, 0), NO_PARAMS), real_dtype(x.dtype)), axes, keepdims=keepdims)
    sizes = bind(abs_p, (x,), NO_PARAMS)
    if order == np.inf:
        return _greatest(sizes, axes, keepdims)
    if order == -np.inf:
        return min_(sizes, axes, keepdims=keepdims)
    if order == 1:
        return sum_(sizes, axes, keepdims=keepdims)
    order = float(order)
    return _power(sum_(_power(sizes, order), axes, keepdims=keepdims), 1 / order)


def _power(x: Any, exponent: float) -> Any:
    """Return the power of numbers that are not negative. Its derivative at 0 is 0, as that of the norm there."""
    zero = bind(eq_p, (x, 0), NO_PARAMS)
    return select(zero, 0.0 if exponent > 0 else np.inf, power(select(zero, 1, x), exponent))


def _flat_at_zero(x: Any) -> Any:
    """Return numbers as they are, with the derivative 0 where they are 0."""
    return select(bind(eq_p, (x, 0), NO_PARAMS), 0, x)


def _matrix_norm(x: ArrayLike, order: Any, axes: tuple[int, int], keepdims: bool) -> Array:
    if axes[0] == axes[1]:
        raise ValueError(f"norm: axis {axes[0]} was given twice; needed two different ones.")
    if order in (None, "fro", "f"):
        return _vector_norm(x, 2, axes, keepdims)
    if order in (2, -2, "nuc"):
        return _spectral_norm(x, order, axes, keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm: the order is {order!r}; needed 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices.")
    # The greatest or the least of the sums over rows (order 1) or columns (infinity).
    summed = axes[0] if abs(order) == 1 else axes[1]
    other = axes[1] if abs(order) == 1 else axes[0]
    sums = sum_(bind(abs_p, (x,), NO_PARAMS), summed, keepdims=True)
    if order > 0:
        return _greatest(sums, (summed, other), keepdims)
    return min_(sums, (summed, other), keepdims=keepdims)


def _greatest(sizes: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the greatest of numbers that are not negative; 0 if there are none."""
    empty = any(sizes.shape[i] == 0 for i in axes)
    return max_(sizes, axes, keepdims=keepdims, initial=0 if empty else None)


def _spectral_norm(x: ArrayLike, order: Any, axes: tuple[int, int], keepdims: bool) -> Array:
    """Return the greatest, the least or the sum of the singular values."""
    rest = tuple([i for i in range(len(x.shape)) if i not in axes])
    values = _flat_at_zero(svd(transpose(x, (*rest, *axes)))[1])
    last = (len(values.shape) - 1,)
    y = _greatest(values, last, False) if order == 2 else (min_ if order == -2 else sum_)(values, last)
    return reshape(y, reduced_shape(x.shape, axes, True)) if keepdims else y


@implements(np.linalg.vector_norm)
def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002  (NumPy's name)
    """``numpy.linalg.vector_norm``."""
    x = inexact(x)
    ndim = len(x.shape)
    if axis is None:
        y = _vector_norm(flat(x), ord, (0,), False)
        return reshape(y, (1,) * ndim) if keepdims else y
    axes = (axis,) if isinstance(axis, int | np.integer) else axis
    return _vector_norm(x, ord, tuple([normalize_axis(i, ndim) for i in axes]), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002  (NumPy's name)
    """Return ``numpy.linalg.matrix_norm`` of the last two axes."""
    x = inexact(x)
    return _matrix_norm(x, ord, (len(x.shape) - 2, len(x.shape) - 1), keepdims)
