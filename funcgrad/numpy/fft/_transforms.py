"""The transforms of ``numpy.fft``: NumPy's lengths and axes, and the primitives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.bind import NUMPY_TYPES
from funcgrad._ops.elementwise.cast import cast, real_dtype
from funcgrad._ops.fft import transform as ops
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import pad
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import in_numpys_mode, late_functions
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._layout.shape import as_array
from funcgrad.numpy._math.complex import conjugate

# The transform of one axis, ``run(x, n, axis, norm)``. ``n`` is the length of the result, or of the values of a half
# spectrum.
_Along = Callable[[Any, int, int, ops.Norm], Any]


def _fit(x: ArrayLike, axis: int, n: int) -> Array:
    """Return the axis cut to ``n`` elements, or padded with zeros."""
    length = x.shape[axis]
    if length >= n:
        return x if length == n else slice_axis(x, axis, 0, n)
    return pad(x, tuple([(0, n - length if i == axis else 0) for i in range(len(x.shape))]))


def _as_complex(x: ArrayLike) -> Array:
    """Return the array in NumPy's dtype of transforms: half and single precision in single, integers in double."""
    return cast(x, np.result_type(x.dtype, 1j))


def _forward(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Array:
    return ops.fft(_fit(_as_complex(x), axis, n), (axis,), norm=norm)


def _inverse(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Array:
    return ops.fft(_fit(_as_complex(x), axis, n), (axis,), inverse=True, norm=norm)


def _real(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Array:
    if x.dtype.kind == "c":
        raise TypeError(
            f"fft.rfft: the array is {type_text(x.shape, x.dtype)}; needed real values. Use fft.fft of complex ones, "
            "or take their real part."
        )
    return ops.rfft(_fit(cast(x, real_dtype(np.result_type(x.dtype, 1j))), axis, n), axis, norm=norm)


def _from_half(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Array:
    y = ops.irfft(_fit(_as_complex(x), axis, ops.half_length(n)), n, axis, norm=norm)
    return cast(y, np.result_type(real_dtype(x.dtype), 1.0))


def _hermitian(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Any:
    return _from_half(conjugate(x), n, axis, ops.OTHER_NORM[norm])


def _to_hermitian(x: ArrayLike, n: int, axis: int, norm: ops.Norm) -> Any:
    return conjugate(_real(x, n, axis, ops.OTHER_NORM[norm]))


def _norm_of(name: str, norm: Any) -> ops.Norm:
    if norm is None:
        return "backward"
    if norm not in ops.OTHER_NORM:
        raise ValueError(
            f"fft.{name}: Invalid norm value {norm}; should be 'backward', 'ortho' or 'forward'. Leave it out for "
            "'backward': the inverse divides by the number of points."
        )
    return norm


def _check_length(name: str, n: ArrayLike) -> int:
    n = operator.index(n)
    if n < 1:
        raise ValueError(
            f"fft.{name}: Invalid number of FFT data points ({n}) specified; needed at least one. Give a length with "
            "n= or s=, or leave out what is empty."
        )
    return n


def _publish(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.fft.{name}``: {text}"
    ours = in_numpys_mode(function)
    late_functions[f"numpy.fft.{name}"] = ours
    return ours


def _one(name: str, along: _Along, text: str, *, from_half: bool = False) -> Callable[..., Any]:
    """Return a function of one axis. The default of ``n`` is the axis's length, or that of the whole spectrum."""

    @takes_out
    def function(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, out: Array = None) -> Any:
        x = as_array(as_value(a))
        if type(x) in NUMPY_TYPES:
            return getattr(np.fft, name)(x, n, axis, norm)
        axis = normalize_axis(axis, len(x.shape))
        if n is None:
            n = 2 * (x.shape[axis] - 1) if from_half else x.shape[axis]
        return along(x, _check_length(name, n), axis, _norm_of(name, norm))

    return _publish(function, name, text)


fft = _one("fft", _forward, "the frequencies of values along one axis.")
ifft = _one("ifft", _inverse, "the values of frequencies along one axis.")
rfft = _one("rfft", _real, "the frequencies of real values, up to half their number.")
irfft = _one("irfft", _from_half, "the real values of half a spectrum.", from_half=True)
hfft = _one("hfft", _hermitian, "the real spectrum of half a Hermitian signal.", from_half=True)
ihfft = _one("ihfft", _to_hermitian, "half the Hermitian signal of a real spectrum.")

_Axes = Sequence[int] | None


def _lengths_and_axes(name: str, x: ArrayLike, s: Any, axes: _Axes, *, from_half: bool) -> tuple[list[int], list[int]]:
    """Return the lengths and their axes in NumPy's order. An axis may occur twice."""
    ndim = len(x.shape)
    if axes is None:
        axes = range(ndim) if s is None else range(-len(s), 0)
    whole = [normalize_axis(axis, ndim) for axis in axes]
    given: list[int | None] = [None] * len(whole) if s is None else list(s)
    if len(given) != len(whole):
        raise ValueError(
            f"fft.{name}: Shape and axes have different lengths: s is {tuple(given)}, axes {tuple(axes)}; needed a "
            "length for each axis. Give both, or leave s out."
        )
    lengths = [x.shape[axis] if n is None or n == -1 else n for axis, n in zip(whole, given, strict=True)]
    if from_half and s is None and whole:
        lengths[-1] = 2 * (lengths[-1] - 1)
    return [_check_length(name, n) for n in lengths], whole


def _over(x: ArrayLike, lengths: Sequence[int], axes: Sequence[int], norm: ops.Norm, *, inverse: bool) -> Array:
    """Return the transform of complex values over several axes."""
    if not axes:
        return x
    x = _as_complex(x)
    if len(set(axes)) < len(axes):
        for axis, n in zip(reversed(axes), reversed(lengths), strict=True):
            x = _over(x, [n], [axis], norm, inverse=inverse)
        return x
    for axis, n in zip(axes, lengths, strict=True):
        x = _fit(x, axis, n)
    return ops.fft(x, tuple(axes), inverse=inverse, norm=norm)


def _complex_over(inverse: bool) -> Callable[..., Any]:
    return lambda x, lengths, axes, norm: _over(x, lengths, axes, norm, inverse=inverse)


def _real_over(x: ArrayLike, lengths: Sequence[int], axes: Sequence[int], norm: ops.Norm) -> Array:
    return _over(_real(x, lengths[-1], axes[-1], norm), lengths[:-1], axes[:-1], norm, inverse=False)


def _from_half_over(x: ArrayLike, lengths: Sequence[int], axes: Sequence[int], norm: ops.Norm) -> Array:
    # The inverse transforms run in the order of the axes.
    whole = _over(x, lengths[-2::-1], axes[-2::-1], norm, inverse=True)
    return _from_half(whole, lengths[-1], axes[-1], norm)


def _many(name: str, over: Callable[..., Any], text: str, *, default: _Axes, half: str = "") -> Callable[..., Any]:
    """Return a function of several axes. ``half`` says which side of a real transform is half a spectrum."""

    @takes_out
    def function(a: ArrayLike, s: Any = None, axes: _Axes = default, norm: str | None = None, out: Array = None) -> Any:
        x = as_array(as_value(a))
        if type(x) in NUMPY_TYPES:
            return getattr(np.fft, name)(x, s, axes, norm)
        lengths, whole = _lengths_and_axes(name, x, s, axes, from_half=half == "from")
        if half and not whole:
            raise IndexError(f"fft.{name}: there are no axes; needed at least one. Name one in axes=.")
        return over(x, lengths, whole, _norm_of(name, norm))

    return _publish(function, name, text)


_PLANE = (-2, -1)
fftn = _many("fftn", _complex_over(False), "the frequencies of values over several axes.", default=None)
ifftn = _many("ifftn", _complex_over(True), "the values of frequencies over several axes.", default=None)
rfftn = _many("rfftn", _real_over, "of real values, half along the last of the axes.", default=None, half="to")
irfftn = _many("irfftn", _from_half_over, "real values over several axes.", default=None, half="from")
fft2 = _many("fft2", _complex_over(False), "the frequencies of values over two axes.", default=_PLANE)
ifft2 = _many("ifft2", _complex_over(True), "the values of frequencies over two axes.", default=_PLANE)
rfft2 = _many("rfft2", _real_over, "of real values, half along the second axis.", default=_PLANE, half="to")
irfft2 = _many("irfft2", _from_half_over, "real values over two axes.", default=_PLANE, half="from")
