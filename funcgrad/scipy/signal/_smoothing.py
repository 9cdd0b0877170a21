"""Savitzky-Golay filter: each sample becomes the value of a polynomial fitted to its neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value, normalize_axis
from funcgrad.scipy.ndimage import convolve1d
from funcgrad.scipy.signal._scipys import scipys


def savgol_filter(  # noqa: PLR0917  (SciPy's arguments)
    x: ArrayLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: ArrayLike = 0.0,
) -> Any:
    """``scipy.signal.savgol_filter``: fit polynomials to the neighbours of each sample.

    Args:
        x: the signals.
        window_length: the number of samples in a window.
        polyorder: the order of the polynomials.
        deriv: the order of the derivative to return.
        delta: the distance of the samples.
        axis: the axis to work along.
        mode: ``'interp'`` for polynomials of the samples at the ends, or how the signals go on: 'mirror', 'constant',
            'nearest' or 'wrap'.
        cval: the value beyond the edges in the mode 'constant'.

    Returns:
        An array of the shape of ``x``.

    Raises:
        ValueError: the mode is another one, or the window is longer than the signals.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.savgol_filter(np.array([2.0, 2.0, 5.0, 2.0, 1.0]), 3, 1).round(4)
        array([1.5   , 3.    , 3.    , 2.6667, 0.6667])
    """
    if mode not in {"mirror", "constant", "nearest", "interp", "wrap"}:
        raise ValueError(
            f"scipy.signal.savgol_filter: mode must be 'mirror', 'constant', 'nearest', 'wrap' or 'interp', and is "
            f"{mode!r}. Pass one of them."
        )
    x = fnp.asarray(as_value(x))
    if x.dtype.kind == "c":
        raise ValueError(
            f"scipy.signal.savgol_filter: x is {aval_of(x)}; needed real signals. Filter both of its parts."
        )
    if x.dtype.char not in "fd":
        x = fnp.astype(x, np.dtype(float))
    axis = normalize_axis(axis, len(x.shape))
    # The result is proportional to this power of the distance, which may be traced.
    unit = fnp.astype(as_value(delta) ** deriv, x.dtype)
    weights = scipys("savgol_coeffs", window_length, polyorder, deriv=deriv)
    if mode != "interp":
        return convolve1d(x, weights, axis, None, mode, cval) / unit
    n = x.shape[axis]
    if window_length > n:
        raise ValueError(
            f"scipy.signal.savgol_filter: if mode is 'interp', window_length must be less than or equal to the size of "
            f"x, and they are {window_length} and {n}. Pass another mode."
        )
    x = fnp.moveaxis(x, axis, -1)
    y = convolve1d(x, weights, -1, None, "constant")
    half = window_length // 2
    fits = _fits(window_length, polyorder, deriv)
    first, last = (
        fnp.matmul(part, fnp.astype(fit.T, x.dtype))
        for part, fit in ((x[..., :window_length], fits[:half]), (x[..., n - window_length :], fits[-half:]))
    )
    whole = fnp.concatenate([first, y[..., half : n - half], last], -1) if half else y
    return fnp.moveaxis(whole / unit, -1, axis)


def _fits(window_length: int, polyorder: int, deriv: int) -> np.ndarray:
    """Return the matrix from a window's samples to the values, or a derivative, of their polynomial at each of them."""
    # Centre the positions, so that their powers are small.
    places = np.arange(window_length) - (window_length - 1) / 2
    powers = np.vander(places, polyorder + 1, increasing=True)
    slopes = np.zeros_like(powers)
    for i in range(deriv, polyorder + 1):
        slopes[:, i] = math.factorial(i) // math.factorial(i - deriv) * places ** (i - deriv)
    return slopes @ np.linalg.pinv(powers)
