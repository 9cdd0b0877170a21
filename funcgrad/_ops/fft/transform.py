"""Discrete Fourier transforms: of complex values over any axes, and of real values to half a spectrum and back.

``norm`` says which of the two directions divides by the number of points, as in ``numpy.fft``. Cotangents are paired
without conjugation, so the transpose of a complex transform is the transform itself: its matrix is symmetric.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.elementwise.cast import complex_dtype, real_dtype
from funcgrad._ops.layout.batching import batch_axes
from funcgrad._ops.layout.depends import mixed, same
from funcgrad._types import Array, Lax, Value

Norm = Literal["backward", "forward", "ortho"]

# The norm of the transpose. It runs in the other direction, so the norms ``backward`` and ``forward`` are exchanged.
OTHER_NORM: dict[Norm, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
# XLA transforms at most this many axes at once.
_XLA_AXES = 3


def half_length(n: int) -> int:
    """Return the number of frequencies of ``n`` real values that are not conjugates of others."""
    return n // 2 + 1


def _flops(size: int, n: int) -> int:
    """Return the cost of transforms of ``n`` points over ``size`` complex values, by Cooley and Tukey (1965)."""
    return round(5 * size * math.log2(n)) if n > 1 else size


def _fft_numpy(x: Array, *, axes: tuple[int, ...], inverse: bool, norm: Norm) -> Array:
    if len(axes) == 1:
        return (np.fft.ifft if inverse else np.fft.fft)(x, None, axes[0], norm)
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, None, axes, norm)


def _fft_xla(lax: Lax, x: Array, *, axes: tuple[int, ...], inverse: bool, norm: Norm) -> Array:
    kind = lax.FftType.IFFT if inverse else lax.FftType.FFT
    for start in range(0, len(axes), _XLA_AXES):
        x = _along_last(lax, x, kind, axes[start : start + _XLA_AXES])
    return _scaled(lax, x, norm, math.prod([x.shape[axis] for axis in axes]), inverse=inverse)


def _along_last(lax: Lax, x: Value, kind: Any, axes: tuple[int, ...], n: int | None = None) -> Value:
    """Apply XLA's transform, which runs along the last axes."""
    order = (*(i for i in range(x.ndim) if i not in axes), *axes)
    moved = lax.transpose(x, order) if order != tuple(range(x.ndim)) else x
    lengths = moved.shape[-len(axes) :] if n is None else (n,)
    y = lax.fft(moved, kind, lengths)
    return lax.transpose(y, np.argsort(order)) if moved is not x else y


def _scaled(lax: Lax, y: Value, norm: Norm, n: int, *, inverse: bool) -> Value:
    """Scale XLA's result: XLA divides by ``n`` in the inverse direction."""
    if norm == "backward":
        return y
    factor = math.sqrt(n) if norm == "ortho" else n
    return lax.mul(y, lax.full_like(y, factor if inverse else 1 / factor))


fft_p = Primitive(
    "fft",
    operands=("x",),
    numpy=_fft_numpy,
    xla=_fft_xla,
    aval=lambda x, **_: Aval(x.shape, x.dtype),
    derivative=Multilinear(("x",), [lambda y_bar, axes, inverse, norm: fft(y_bar, axes, inverse=inverse, norm=norm)]),
    batch=batch_axes("axes"),
    cost=lambda y, x, *, axes, **_: _flops(x.size, math.prod([x.shape[axis] for axis in axes])),
    forms=Forms(depends=mixed("axes")),
)


def fft(x: Value, axes: tuple[int, ...], *, inverse: bool = False, norm: Norm = "backward") -> Value:
    """Return the transform of complex values over different axes, or its inverse; no axis is empty."""
    return fft_p(x, axes=axes, inverse=inverse, norm=norm)


def _alone(axis: int, n: int) -> tuple[Any, ...]:
    """Return the index of the frequencies that are their own mirrors: 0, and half of an even ``n``."""
    return (*(slice(None),) * axis, slice(None, None, max(n // 2, 1) if n % 2 == 0 else n))


def _mirrored_numpy(x: Array, *, axis: int, n: int, weight: float) -> Array:
    y = np.conjugate(x)
    y *= weight
    y[_alone(axis, n)] /= weight
    return y


def _mirrored_xla(lax: Lax, x: Array, *, axis: int, n: int, weight: float) -> Array:
    factors = np.full(x.shape[axis], weight, x.dtype)
    factors[_alone(0, n)] = 1
    return lax.mul(lax.conj(x), lax.broadcast_in_dim(factors, x.shape, (axis,)))


# A primitive of its own: conjugating and weighting separately takes a tenth of the time of a transform.
mirrored_p = Primitive(
    "mirrored",
    operands=("x",),
    numpy=_mirrored_numpy,
    xla=_mirrored_xla,
    aval=lambda x, **_: x,
    derivative=Multilinear(("x",), [lambda y_bar, axis, n, weight: mirrored(y_bar, axis, n, weight)]),
    batch=batch_axes("axis"),
    cost=lambda y, x, **_: 2 * x.size,
    forms=Forms(depends=same),
)


def mirrored(x: Value, axis: int, n: int, weight: float) -> Value:
    """Return the conjugates of half a spectrum of ``n`` values, times a power of 2 where a frequency has a mirror."""
    return mirrored_p(x, axis=axis, n=n, weight=weight)


def _rfft_xla(lax: Lax, x: Array, *, axis: int, norm: Norm) -> Array:
    n = x.shape[axis]
    return _scaled(lax, _along_last(lax, x, lax.FftType.RFFT, (axis,), n), norm, n, inverse=False)


def _rfft_transpose(y_bar: Value, x_shape: tuple[int, ...], axis: int, norm: Norm) -> Value:
    n = x_shape[axis]
    return irfft(mirrored(y_bar, axis, n, 0.5), n, axis, norm=OTHER_NORM[norm])


rfft_p = Primitive(
    "rfft",
    operands=("x",),
    numpy=lambda x, *, axis, norm: np.fft.rfft(x, None, axis, norm),
    xla=_rfft_xla,
    aval=lambda x, *, axis, norm: Aval(
        (*x.shape[:axis], half_length(x.shape[axis]), *x.shape[axis + 1 :]), complex_dtype(x.dtype)
    ),
    derivative=Multilinear(("x",), [_rfft_transpose]),
    batch=batch_axes("axis"),
    cost=lambda y, x, *, axis, **_: _flops(y.size, x.shape[axis]),
    forms=Forms(depends=mixed("axis")),
)


def rfft(x: Value, axis: int, *, norm: Norm = "backward") -> Value:
    """Return the transform of real values: frequencies from 0 to half their number. The others are their conjugates."""
    return rfft_p(x, axis=axis, norm=norm)


def _irfft_xla(lax: Lax, x: Array, *, n: int, axis: int, norm: Norm) -> Array:
    return _scaled(lax, _along_last(lax, x, lax.FftType.IRFFT, (axis,), n), norm, n, inverse=True)


irfft_p = Primitive(
    "irfft",
    operands=("x",),
    numpy=lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis, norm),
    xla=_irfft_xla,
    aval=lambda x, *, n, axis, norm: Aval((*x.shape[:axis], n, *x.shape[axis + 1 :]), real_dtype(x.dtype)),
    derivative=Multilinear(
        ("x",),
        [lambda y_bar, n, axis, norm: mirrored(rfft(y_bar, axis, norm=OTHER_NORM[norm]), axis, n, 2.0)],
    ),
    batch=batch_axes("axis"),
    cost=lambda y, x, *, n, **_: _flops(x.size, n),
    forms=Forms(depends=mixed("axis")),
)


def irfft(x: Value, n: int, axis: int, *, norm: Norm = "backward") -> Value:
    """Return the ``n`` real values of half a spectrum; ``x`` has its ``half_length(n)`` frequencies.

    The imaginary parts of frequencies that are their own mirrors are ignored.
    """
    return irfft_p(x, n=n, axis=axis, norm=norm)
