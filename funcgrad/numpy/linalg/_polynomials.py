"""Polynomials by linear algebra: fits, and between roots and coefficients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.tracebacks import caller_level
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._contract.polynomials import vander
from funcgrad.numpy._contract.products import outer
from funcgrad.numpy._layout.shape import as_array
from funcgrad.numpy._math.elementwise import sqrt
from funcgrad.numpy._reduce.reductions import sum_
from funcgrad.numpy.linalg._eigen import lstsq
from funcgrad.numpy.linalg._systems import inv


@beside_numpys(np.polyfit)
def polyfit(  # noqa: PLR0917  (NumPy's arguments)
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """``numpy.polyfit``: by least squares, whose derivative holds while the rank does not change."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _check(x, y, order)
    cutoff = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    left, right = vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if w.shape != y.shape[:1]:
            raise TypeError(
                f"polyfit: w is {aval_of(w)}, expected a 1-d array for weights of the same length as y, {aval_of(y)}. "
                "Give each point one weight."
            )
        left, right = left * w[:, None], right * (w[:, None] if len(y.shape) == 2 else w)
    # The columns are made equally long, which makes the system better conditioned.
    scale = sqrt(sum_(left * left, 0))
    left = left / scale
    c, residuals, rank, values = lstsq(left, right, cutoff)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, values, cutoff
    if not isinstance(rank, Tracer) and int(rank) != order:
        message = "Polyfit may be poorly conditioned"
        warnings.warn(message, np.exceptions.RankWarning, stacklevel=caller_level())
    return (c, _covariance(left, scale, residuals, y, cov)) if cov else c


def _check(x: Any, y: Any, order: int) -> None:
    if order < 1:
        raise ValueError(f"polyfit: deg is {order - 1}; expected deg >= 0. A constant has degree 0.")
    if len(x.shape) != 1 or not x.shape[0] or len(y.shape) not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError(
            f"polyfit: x is {aval_of(x)} and y {aval_of(y)}; expected non-empty 1D vector for x, and a 1D or 2D array "
            "of the same length for y. Turn what has more axes into columns with reshape."
        )


def _covariance(left: Any, scale: Any, residuals: Any, y: Any, cov: Any) -> Any:
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
