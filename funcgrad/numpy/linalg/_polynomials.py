"""Polynomials by linear algebra: fits, and conversions between roots and coefficients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.tracebacks import caller_level
from funcgrad._ops.elementwise.cast import real_p
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike, ScalarLike
from funcgrad.numpy._base.concrete import concrete_value, known_value
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._contract.convolutions import convolve
from funcgrad.numpy._contract.polynomials import coefficients, vander, without_zeros
from funcgrad.numpy._contract.products import outer
from funcgrad.numpy._math.elementwise import sqrt
from funcgrad.numpy._reduce.reductions import sum_
from funcgrad.numpy._reduce.statistics import inexact
from funcgrad.numpy.linalg._eigen import eigvals, lstsq, real_eigvals
from funcgrad.numpy.linalg._systems import inv


@beside_numpys(np.polyfit)
def polyfit(  # noqa: PLR0917  (NumPy's arguments)
    x: ArrayLike,
    y: ArrayLike,
    deg: ScalarLike,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike = None,
    cov: ArrayLike = False,
) -> Any:
    """Return ``numpy.polyfit``, by least squares. The derivative assumes a constant rank."""
    order = int(deg) + 1
    x, y = inexact(x), inexact(y)
    _check(x, y, order)
    cutoff = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    left, right = vander(x, order), y
    if w is not None:
        w = inexact(w)
        if w.shape != y.shape[:1]:
            raise TypeError(
                f"polyfit: w is {aval_of(w)}, expected a 1-d array for weights of the same length as y, {aval_of(y)}. "
                "Give each point one weight."
            )
        left, right = left * w[:, None], right * (w[:, None] if len(y.shape) == 2 else w)
    # Columns of equal length make the system better conditioned.
    scale = sqrt(sum_(left * left, 0))
    left = left / scale
    c, residuals, rank, values = lstsq(left, right, cutoff)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, values, cutoff
    known = known_value(rank)
    if known is not None and int(known) != order:
        message = "Polyfit may be poorly conditioned"
        warnings.warn(message, np.exceptions.RankWarning, stacklevel=caller_level())
    return (c, _covariance(left, scale, residuals, y, cov)) if cov else c


def _check(x: ArrayLike, y: ArrayLike, order: int) -> None:
    if order < 1:
        raise ValueError(f"polyfit: deg is {order - 1}; expected deg >= 0. A constant has degree 0.")
    if len(x.shape) != 1 or not x.shape[0] or len(y.shape) not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError(
            f"polyfit: x is {aval_of(x)} and y {aval_of(y)}; expected non-empty 1D vector for x, and a 1D or 2D array "
            "of the same length for y. Turn what has more axes into columns with reshape."
        )


def _covariance(left: ArrayLike, scale: ArrayLike, residuals: ArrayLike, y: ArrayLike, cov: ArrayLike) -> Any:
    base = inv(left.T @ left) / outer(scale, scale)
    points, order = left.shape
    factor: Any = 1
    if cov != "unscaled":
        if points <= order:
            raise ValueError(
                f"polyfit: {points} points for {order} coefficients; the number of data points must exceed order to "
                "scale the covariance matrix. Pass cov='unscaled'."
            )
        factor = residuals / (points - order)
    return base * factor if len(y.shape) == 1 else base[:, :, None] * factor


@beside_numpys(np.roots)
def roots(p: ArrayLike) -> Any:
    """Return ``numpy.roots``: eigenvalues of a matrix of the coefficients, which have to be known.

    See `numpy.linalg.eig`.
    """
    p = coefficients(p)
    if len(p.shape) != 1:
        raise ValueError(f"roots: p is {aval_of(p)}. Input must be a rank-1 array. Use fg.vmap for more polynomials.")
    asked = "numpy.roots, of which there are as many as coefficients that are not zero,"
    known = np.asarray(concrete_value(np.not_equal(p, 0), asked))
    zeros = len(known) - len(np.trim_zeros(known, "b"))
    p = inexact(without_zeros(p, "roots", "fb"))
    count = p.shape[0] - 1
    if count < 1:
        # The only coefficient decides how many roots are zero, whatever its number is.
        return np.roots(known.astype(p.dtype))
    below = np.eye(count - 1, count, dtype=p.dtype)
    found = real_eigvals("roots", concatenate([reshape(-p[1:] / p[0], (1, count)), below], 0))
    return concatenate([found, np.zeros(zeros, found.dtype)], 0) if zeros else found


@beside_numpys(np.poly)
def poly(seq_of_zeros: ArrayLike) -> Any:
    """Return ``numpy.poly``.

    The coefficients of the polynomial with these roots, or of a matrix's characteristic one.
    """
    found = coefficients(seq_of_zeros)
    if len(found.shape) == 2 and found.shape[0] == found.shape[1]:
        found = eigvals(found)
    elif len(found.shape) != 1:
        raise ValueError(f"poly: the roots are {aval_of(found)}; input must be 1d or non-empty square 2d array.")
    if not found.shape[0]:
        return 1.0
    found = inexact(found)
    y: Any = np.ones(1, found.dtype)
    for i in range(found.shape[0]):
        y = convolve(y, stack([np.ones((), found.dtype), -found[i]], 0))
    if found.dtype.kind != "c":
        return y
    paired = np.all(np.sort(found) == np.sort(np.conjugate(found)))
    known = concrete_value(paired, "numpy.poly of complex roots, whose dtype depends on them,")
    return bind(real_p, (y,), NO_PARAMS) if known else y
