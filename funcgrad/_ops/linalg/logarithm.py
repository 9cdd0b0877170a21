"""The principal logarithm of matrices. Its derivatives are blocks of the logarithm of a matrix twice as large."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.cast import complex_dtype
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.exponential import upper_right
from funcgrad._ops.linalg.matrices import adjoint, identity_like, product, swapped
from funcgrad._ops.linalg.root import real_or_nan, real_or_nan_xla, snapped, triangular_form, triangular_root
from funcgrad._types import Array, Lax, Value

scipy_linalg = LazyModule("scipy.linalg")

# Up to this distance from the identity, a quadrature with seven points is exact to double precision. It is the Padé
# approximant of degree 7, by its partial fractions (Higham, "Functions of matrices", 2008, section 11.4, table 11.1).
_NEAR = 0.25
_PLACES, _WEIGHTS = [each.tolist() for each in np.polynomial.legendre.leggauss(7)]
# From the largest and from the smallest positive double it takes 14 roots to come near; from zero it never does.
_MOST_ROOTS = 20


def _logm_numpy(x: Array) -> Array:
    y = np.empty(x.shape, complex_dtype(x.dtype))
    with untraced(), np.errstate(all="ignore"):
        for i in np.ndindex(x.shape[:-2]) if x.size else ():
            y[i] = _logarithm(x[i]) if np.isfinite(x[i]).all() else np.nan
        return real_or_nan(y, x.dtype)


def _logarithm(x: np.ndarray) -> np.ndarray:
    t, z = scipy_linalg.schur(x, output="complex")
    identity = np.eye(len(x))
    values = snapped(np.diagonal(t).copy())
    y, roots = t - np.diag(np.diagonal(t) - values), 0
    while roots < _MOST_ROOTS and np.abs(y - identity).sum(0).max() > _NEAR:
        y, roots = np.asarray(scipy_linalg.sqrtm(y)), roots + 1
    rest = y - identity
    terms = [
        scipy_linalg.solve_triangular(identity + (1 + place) / 2 * rest, weight / 2 * rest)
        for place, weight in zip(_PLACES, _WEIGHTS, strict=True)
    ]
    y = 2.0**roots * np.sum(terms, axis=0)
    np.fill_diagonal(y, np.log(values))
    return z @ y @ z.conj().T


def _logm_xla(lax: Lax, x: Array) -> Array:
    if not x.size:
        return x
    t, z = triangular_form(lax, x)
    identity = identity_like(t)
    stack = tuple(range(t.ndim - 2))

    def far(y: Value) -> Value:
        sums = lax.reduce_sum(lax.abs(y - identity), (t.ndim - 2,))
        return lax.reduce_max(sums, (t.ndim - 2,)) > _NEAR

    def unfinished(state: tuple) -> Array:
        i, y, _ = state
        return (i < _MOST_ROOTS) & far(y).any()

    def rooted(state: tuple) -> tuple:
        i, y, scales = state
        more = far(y)
        whole = lax.broadcast_in_dim(more, y.shape, stack)
        return i + 1, lax.select(whole, triangular_root(lax, y), y), scales * (1 + more)

    ones = lax.full(t.shape[:-2], 1.0, lax.real(t).dtype)
    _, y, scales = lax.while_loop(unfinished, rooted, (0, t, ones))
    rest = y - identity
    total: Any = 0
    for place, weight in zip(_PLACES, _WEIGHTS, strict=True):
        system = identity + (1 + place) / 2 * rest
        total = total + lax.linalg.triangular_solve(system, weight / 2 * rest, left_side=True, lower=False)
    y = total * expand_dims(scales, (t.ndim - 2, t.ndim - 1))
    y = y + embed_diagonal(lax.log(diagonal(t)) - diagonal(y), y.shape[-2:])
    return real_or_nan_xla(lax, product(product(z, y), adjoint(z)), x.dtype)


def _frechet(x_dot: Value, x: Value) -> Value:
    """Return the derivative of the logarithm of ``x`` along ``x_dot``."""
    return upper_right(logm, x_dot, x)


# Inverse scaling and squaring: Al-Mohy, Higham and Relton, "Computing the Fréchet derivative of the matrix logarithm
# and estimating the condition number", 2013. The derivative is Higham, "Functions of matrices", theorem 3.6.
logm_p = CompoundPrimitive(
    "logm",
    operands=("x",),
    numpy=_logm_numpy,
    xla=_logm_xla,
    aval=lambda x: x,
    derivative=PerOperand(("x",), [lambda y_bar, x: _frechet(y_bar, swapped(x))], [_frechet]),
    batch=batch_same,
    cost=lambda y, x: 60 * x.size * x.shape[-1],
)


def logm(x: Value) -> Value:
    """Return the principal logarithm of each square matrix, in its dtype: NaN if that of a real matrix is not real."""
    return bind(logm_p, (x,), NO_PARAMS)
