"""The principal square root of matrices, by their Schur forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.cast import cast, complex_dtype
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.matrices import adjoint, product, swapped
from funcgrad._ops.linalg.sylvester import schur_xla, sylvester
from funcgrad._types import Array, Lax, Value

scipy_linalg = LazyModule("scipy.linalg")


def real_or_nan(y: Value, dtype: np.dtype) -> Value:
    """Return a result in the dtype of a real operand; NaN if it is not real."""
    if dtype.kind == "c" or y.dtype.kind != "c":
        return y.astype(dtype, copy=False)
    greatest = np.max(abs(y), axis=(-2, -1), initial=0, keepdims=True)
    turned = np.max(abs(y.imag), axis=(-2, -1), initial=0, keepdims=True)
    return np.where(turned > rounding(dtype) * greatest, np.nan, y.real).astype(dtype, copy=False)


def real_or_nan_xla(lax: Lax, y: Array, dtype: np.dtype) -> Array:
    """Do the same on XLA."""
    if dtype.kind == "c":
        return y
    axes = (y.ndim - 2, y.ndim - 1)
    greatest, turned = [lax.reduce_max(lax.abs(each), axes) for each in (y, lax.imag(y))]
    wrong = expand_dims(turned > rounding(dtype) * greatest, axes)
    return lax.select(lax.broadcast_in_dim(wrong[..., 0, 0], y.shape, range(y.ndim - 2)), y.real * np.nan, y.real)


def rounding(dtype: np.dtype) -> float:
    """Return the largest relative imaginary part at which a result still counts as real: that of a rounded zero."""
    return float(np.finfo(dtype).eps) ** 0.5


def snapped(values: Value) -> Value:
    """Put eigenvalues on the negative axis if only rounding moved them off it: the side would be random."""
    near = 16 * float(np.finfo(values.dtype).eps)
    on_axis = (values.real < 0) & (abs(values.imag) <= near * abs(values.real))
    return (values.real + 0j).astype(values.dtype) * on_axis + values * ~on_axis


def triangular_form(lax: Lax, x: Value) -> tuple[Any, Any]:
    """Return Schur's form on XLA: ``z t z^H = x`` with a complex upper triangle ``t``."""
    t, z = schur_xla(lax, cast(x, complex_dtype(x.dtype)))
    values = diagonal(t)
    return t + embed_diagonal(snapped(values) - values, t.shape[-2:]), z


def triangular_root(lax: Lax, t: Value) -> Value:
    """Solve column by column: ``(r + r[j, j]) r[:, j] = t[:, j]`` above the diagonal.

    Björck and Hammarling, "A Schur method for the square root of a matrix", 1983.
    """
    size, axis = t.shape[-1], t.ndim - 1
    rows = np.arange(size)
    roots = lax.sqrt(diagonal(t))

    def solved(j: Value, r: Value) -> Value:
        above = rows < j
        root = lax.dynamic_slice_in_dim(roots, j, 1, axis - 1)
        column = lax.dynamic_slice_in_dim(t, j, 1, axis) * above[:, None]
        # Rows from j on are those of the identity, and give zeros.
        scales = (roots + root) * above + ~above
        system = (r - embed_diagonal(diagonal(r), r.shape[-2:])) * (above[:, None] & above)
        found = lax.linalg.triangular_solve(
            system + embed_diagonal(scales, r.shape[-2:]), column, left_side=True, lower=False
        )
        found = found + expand_dims(root, (axis,)) * (rows == j)[:, None]
        return lax.dynamic_update_slice_in_dim(r, found, j, axis)

    return lax.fori_loop(0, size, solved, lax.full_like(t, 0))


def _sqrtm_numpy(x: Array) -> Array:
    y = np.empty(x.shape, complex_dtype(x.dtype))
    with untraced():
        for i in np.ndindex(x.shape[:-2]) if x.size else ():
            y[i] = scipy_linalg.sqrtm(x[i]) if np.isfinite(x[i]).all() else np.nan
    return real_or_nan(y, x.dtype)


def _sqrtm_xla(lax: Lax, x: Array) -> Array:
    if not x.size:
        return x
    t, z = triangular_form(lax, x)
    return real_or_nan_xla(lax, product(product(z, triangular_root(lax, t)), adjoint(z)), x.dtype)


# Higham, "Functions of matrices", 2008, section 6.1: ``y y_dot + y_dot y = x_dot``.
sqrtm_p = CompoundPrimitive(
    "sqrtm",
    operands=("x",),
    numpy=_sqrtm_numpy,
    xla=_sqrtm_xla,
    aval=lambda x: x,
    derivative=PerOperand(
        ("x",),
        [lambda y_bar, y: sylvester(swapped(y), swapped(y), y_bar)],
        [lambda x_dot, y: sylvester(y, y, x_dot)],
    ),
    batch=batch_same,
    cost=lambda y, x: 30 * x.size * x.shape[-1],
)


def sqrtm(x: Value) -> Value:
    """Return the principal square root of each square matrix, in its dtype.

    NaN if that of a real matrix is not real.
    """
    return bind(sqrtm_p, (x,), NO_PARAMS)
