"""The frequencies of transforms, and shifts of frequency 0 to the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._types import Array, ArrayLike, DeviceLike, ScalarLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import in_numpys_mode, late_functions
from funcgrad.numpy._layout.rearrange import roll
from funcgrad.numpy._layout.shape import as_array
from funcgrad.numpy._math.elementwise import divide, multiply

_Axes = int | Sequence[int] | None


def fftshift(x: ArrayLike, axes: _Axes = None) -> Array:
    """Return ``numpy.fft.fftshift``: frequency 0 moves from the start to the middle of each axis."""
    return _shifted(x, axes, 1)


def ifftshift(x: ArrayLike, axes: _Axes = None) -> Any:
    """``numpy.fft.ifftshift``: the inverse of `fftshift`."""
    return _shifted(x, axes, -1)


for _function in (fftshift, ifftshift):
    late_functions[f"numpy.fft.{_function.__name__}"] = _function


def _shifted(x: ArrayLike, axes: _Axes, sign: int) -> Array:
    x = as_array(x)
    ndim = len(x.shape)
    named = range(ndim) if axes is None else [axes] if isinstance(axes, int | np.integer) else axes
    along = tuple([normalize_axis(axis, ndim) for axis in named])
    return roll(x, tuple([sign * (x.shape[axis] // 2) for axis in along]), along)


@in_numpys_mode
def fftfreq(n: int, d: ScalarLike = 1.0, device: DeviceLike = None) -> Any:
    """Return ``numpy.fft.fftfreq``: the frequencies of `fft` for ``n`` samples at intervals ``d``."""
    return _spaced(np.fft.fftfreq(n, 1.0, device) * n, n, d)


@in_numpys_mode
def rfftfreq(n: int, d: ScalarLike = 1.0, device: DeviceLike = None) -> Any:
    """Return ``numpy.fft.rfftfreq``: the frequencies of `rfft` for ``n`` samples at intervals ``d``."""
    return _spaced(np.fft.rfftfreq(n, 1.0, device) * n, n, d)


def _spaced(cycles: np.ndarray, n: int, d: ScalarLike) -> Any:
    """Convert whole cycles over all samples to frequencies."""
    return multiply(np.rint(cycles).astype(int), divide(1.0, multiply(n, as_value(d))))
