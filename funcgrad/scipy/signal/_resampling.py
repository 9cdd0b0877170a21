"""Signals at other rates, without their trends, and as analytic ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._ops.reduce.resampling import resampled, resampled_length
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, normalize_axis
from funcgrad.scipy.signal._filters import sosfilt, sosfiltfilt
from funcgrad.scipy.signal._scipys import scipys
from funcgrad.scipy.signal.windows import get_window

# SciPy's extension modes of signals, with NumPy's names for them.
_EXTENSIONS = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "wrap"}
_BACKGROUNDS: dict[str, Callable[..., Any]] = {
    "mean": fnp.mean,
    "median": fnp.median,
    "minimum": fnp.min,
    "maximum": fnp.max,
}


def resample(
    x: ArrayLike, num: int, t: ArrayLike = None, axis: int = 0, window: ArrayLike = None, domain: str = "time"
) -> Any:
    """``scipy.signal.resample``: ``num`` samples of periodic signals, by their Fourier transforms.

    Args:
        x: the signals.
        num: the number of samples of the result.
        t: the times of the samples, evenly spaced; the new ones are returned too.
        axis: the axis to work along.
        window: a factor of the spectrum: an array of its length, a function of its frequencies, or an argument of
            `get_window`.
        domain: ``'time'``, or ``'freq'`` where ``x`` is the spectrum.

    Returns:
        The signals; with ``t`` given, those and the times.

    Raises:
        ValueError: the domain is another one, or the window has another length.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> y = fg.scipy.signal.resample(np.array([1.0, 0.0, -1.0, 0.0]), 8)
        >>> np.round(y, 3) + 0.0
        array([ 1.   ,  0.707,  0.   , -0.707, -1.   , -0.707,  0.   ,  0.707])
    """
    if domain not in {"time", "freq"}:
        raise ValueError(
            f"scipy.signal.resample: domain is {domain!r}; needed 'time', or 'freq' for a spectrum. Pass one of them."
        )
    x = fnp.asarray(as_value(x))
    x = fnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    weights = None if window is None else _weights(window, n)
    real = domain == "time" and x.dtype.kind != "c"
    y = (_of_half_spectrum if real else _of_spectrum)(x, num, weights, domain)
    y = fnp.moveaxis(y, -1, axis)
    if t is None:
        return y
    t = fnp.asarray(as_value(t))
    return y, fnp.add(t[0], fnp.multiply(fnp.multiply(fnp.subtract(t[1], t[0]), n / num), np.arange(num)))


def _weights(window: ArrayLike, n: int) -> Any:
    """Return the weights in the order of the frequencies in a spectrum."""
    if callable(window):
        return window(np.fft.fftfreq(n))
    if hasattr(window, "shape"):
        if tuple(window.shape) != (n,):
            raise ValueError(
                f"scipy.signal.resample: the window is {aval_of(window)}, and its length is not equal to the number of "
                f"frequency bins, {n}. Give a number for each."
            )
        return as_value(window)
    return fnp.fft.fftshift(get_window(window, n))


def _of_half_spectrum(x: ArrayLike, num: int, weights: ArrayLike, domain: str) -> Array:
    n = x.shape[-1]
    m = min(num, n)
    spectrum = fnp.fft.rfft(x)
    if weights is not None:
        # Frequencies and their negatives are weighted alike.
        half = spectrum.shape[-1]
        mirrored = fnp.divide(fnp.add(weights[1:half], weights[:-half:-1]), 2)
        spectrum = fnp.multiply(spectrum, fnp.astype(fnp.concatenate([weights[:1], mirrored]), _real(x)))
    factors = np.full(m // 2 + 1, num / n)
    if m % 2 == 0 and num != n:
        factors[m // 2] *= 2 if num < n else 0.5
    return fnp.fft.irfft(fnp.multiply(spectrum[..., : m // 2 + 1], factors.astype(_real(x))), num)


def _real(x: ArrayLike) -> np.dtype:
    """Return the real dtype of a spectrum."""
    return np.dtype(np.float32) if np.result_type(x.dtype, 1j) == np.complex64 else np.dtype(float)


def _of_spectrum(x: ArrayLike, num: int, weights: ArrayLike, domain: str) -> Any:
    n = x.shape[-1]
    m = min(num, n)
    spectrum = fnp.fft.fft(x) if domain == "time" else x
    if weights is not None:
        spectrum = fnp.multiply(spectrum, weights)
    half = m // 2 + 1
    low, high = spectrum[..., :half], spectrum[..., n - (m - half) :]
    if m % 2 == 0 and num < n:
        # The two halves of the highest frequency become one.
        both = fnp.add(low[..., -1:], spectrum[..., n - m // 2 : n - m // 2 + 1])
        low = fnp.concatenate([low[..., :-1], both], -1)
    if m % 2 == 0 and n < num:
        # The highest frequency is split into two halves.
        split = fnp.divide(low[..., -1:], 2)
        low, high = fnp.concatenate([low[..., :-1], split], -1), fnp.concatenate([split, high], -1)
    between = [(0, 0)] * (len(x.shape) - 1) + [(0, num - low.shape[-1] - high.shape[-1])]
    whole = fnp.concatenate([fnp.pad(low, between), high], -1)
    return fnp.fft.ifft(fnp.multiply(whole, whole.dtype.type(num / n)), num)


def upfirdn(  # noqa: PLR0917  (SciPy's arguments)
    h: ArrayLike, x: ArrayLike, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: ArrayLike = 0
) -> Array:
    """``scipy.signal.upfirdn``: put zeros between samples, filter, and take every ``down``-th result.

    Args:
        h: f[taps], the filter.
        x: the signals.
        up: ``up - 1`` zeros are put between samples.
        down: one of ``down`` results is kept.
        axis: the axis to work along.
        mode: how the signals go on beyond their ends: 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'.
        cval: the value beyond the edges in the mode 'constant'.

    Returns:
        The results, of the common dtype.

    Raises:
        UnsupportedFunctionError: the mode is another one.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.upfirdn([1.0, 1.0], np.array([1.0, 2.0]), up=2)
        array([1., 1., 2., 2.])
    """
    h, x = fnp.asarray(as_value(h)), fnp.asarray(as_value(x))
    if len(h.shape) != 1 or not h.shape[0]:
        raise ValueError(
            f"scipy.signal.upfirdn: h must be 1-D with non-zero length, and is {aval_of(h)}. Use fg.vmap for several."
        )
    if mode not in _EXTENSIONS:
        raise UnsupportedFunctionError(
            f"scipy.signal.upfirdn: the mode {mode!r} is not supported. Use one of {', '.join(_EXTENSIONS)}."
        )
    if up < 1 or down < 1:
        raise ValueError(
            f"scipy.signal.upfirdn: both up and down must be >= 1, and are {up} and {down}. Pass integers."
        )
    axis = normalize_axis(axis, len(x.shape))
    dtype = np.result_type(h.dtype, x.dtype, np.float32)
    x = fnp.moveaxis(fnp.astype(x, dtype), axis, -1)
    length = resampled_length(h.shape[0], x.shape[-1], up, down)
    start = 0
    if mode != "constant" or _is_other_than_zero(cval):
        # Extend by the length of the filter, rounded up so that a whole number of results is cut off.
        width = down * math.ceil(math.ceil(h.shape[0] / up) / down)
        options = {"constant_values": cval} if mode == "constant" else {}
        x = fnp.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(width, width)], mode=_EXTENSIONS[mode], **options)
        start = width * up // down
    y = resampled(fnp.astype(h, dtype), x, up, down)[..., start : start + length]
    return fnp.moveaxis(y, -1, axis)


def _is_other_than_zero(cval: ArrayLike) -> bool:
    return not issubclass(type(cval), int | float) or cval != 0


def resample_poly(  # noqa: PLR0917  (SciPy's arguments)
    x: ArrayLike,
    up: int,
    down: int,
    axis: int = 0,
    window: ArrayLike = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: ArrayLike = None,
) -> Array:
    """``scipy.signal.resample_poly``: signals at ``up / down`` times their rate, by a filter.

    Args:
        x: the signals.
        up: the factor of the rate.
        down: the divisor of the rate.
        axis: the axis to work along.
        window: the window that the filter is designed with, or the filter itself.
        padtype: how the signals go on beyond their ends, as of `upfirdn`; or ``'mean'``, ``'median'``, ``'minimum'``
            or ``'maximum'``, which is taken from them before, and added after.
        cval: the value beyond the ends for ``'constant'``.

    Returns:
        The signals.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.resample_poly(np.array([1.0, 1.0, 1.0]), 2, 1, padtype="edge").shape
        (6,)
    """
    x = fnp.asarray(as_value(x))
    if up != int(up) or down != int(down) or up < 1 or down < 1:
        raise ValueError(
            f"scipy.signal.resample_poly: up and down must be >= 1, and integers, and are {up} and {down}. Give the "
            "ratio of the rates as a fraction."
        )
    if cval is not None and padtype != "constant":
        raise ValueError(
            f"scipy.signal.resample_poly: cval has no effect when padtype is {padtype!r}; needed 'constant'. Leave one "
            "of them out."
        )
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return fnp.array(x)
    axis = normalize_axis(axis, len(x.shape))
    n = x.shape[axis]
    h, reach = _low_pass(window, max(up, down), x.dtype)
    h = fnp.multiply(h, h.dtype.type(up))
    before = down - reach % down
    first = (reach + before) // down
    length = -(-n * up // down)
    after = 0
    while resampled_length(h.shape[0] + before + after, n, up, down) < length + first:
        after += 1
    h = fnp.pad(h, (before, after))
    if padtype not in _BACKGROUNDS:
        y = upfirdn(h, x, up, down, axis, padtype, 0 if cval is None else cval)
        return _part(y, axis, first, length)
    background = _BACKGROUNDS[padtype](x, axis=axis, keepdims=True)
    y = upfirdn(h, fnp.subtract(x, background), up, down, axis)
    return fnp.add(_part(y, axis, first, length), background)


def _part(y: ArrayLike, axis: int, start: int, length: int) -> Array:
    return y[(slice(None),) * axis + (slice(start, start + length),)]


def _low_pass(window: ArrayLike, rate: int, dtype: np.dtype) -> tuple[Any, int]:
    """Return the filter, and the number of elements on each side of its middle."""
    if isinstance(window, list) or hasattr(window, "shape"):
        h = fnp.asarray(as_value(window))
        if len(h.shape) != 1:
            raise ValueError(
                f"scipy.signal.resample_poly: the window must be 1-D, and is {aval_of(h)}. Give the coefficients."
            )
        return h, (h.shape[0] - 1) // 2
    # A length that is enough for a sinc function.
    reach = 10 * rate
    h = scipys("firwin", 2 * reach + 1, 1 / rate, window=window)
    return h.astype(dtype) if is_inexact(dtype) else h, reach


def decimate(
    x: ArrayLike, q: int, n: int | None = None, ftype: str = "iir", axis: int = -1, zero_phase: bool = True
) -> Array:
    """``scipy.signal.decimate``: remove high frequencies with a filter, and keep every ``q``-th sample.

    Args:
        x: the signals.
        q: the factor between the rates.
        n: the order of the filter.
        ftype: ``'iir'`` or ``'fir'``; systems are refused.
        axis: the axis to work along.
        zero_phase: whether to filter forward and backward.

    Returns:
        The signals.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.decimate(np.ones(40), 4).round(2)
        array([0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99])
    """
    if ftype not in {"iir", "fir"}:
        raise ValueError(f"scipy.signal.decimate: invalid ftype {ftype!r}; needed 'iir' or 'fir'. Pass one of them.")
    x = fnp.asarray(as_value(x))
    axis = normalize_axis(axis, len(x.shape))
    dtype = x.dtype if is_inexact(x.dtype) and x.dtype != np.float16 else np.dtype(float)
    if ftype == "fir":
        h = scipys("firwin", (20 * q if n is None else n) + 1, 1 / q, window="hamming").astype(dtype)
        if zero_phase:
            return resample_poly(x, 1, q, axis, h)
        return _part(upfirdn(h, x, 1, q, axis), axis, 0, -(-x.shape[axis] // q))
    sections = scipys("cheby1", 8 if n is None else operator.index(n), 0.05, 0.8 / q, output="sos").astype(dtype)
    y = sosfiltfilt(sections, x, axis) if zero_phase else sosfilt(sections, x, axis)
    return y[(slice(None),) * axis + (slice(None, None, q),)]


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",  # noqa: A002  (SciPy's name)
    bp: ArrayLike = 0,
    overwrite_data: bool = False,
) -> Array:
    """``scipy.signal.detrend``: signals without the line, or the mean, that fits them best.

    Args:
        data: the signals.
        axis: the axis to work along.
        type: ``'linear'`` or ``'constant'``.
        bp: where one line ends and the next begins.
        overwrite_data: ignored; no argument is overwritten.

    Returns:
        An array of the shape of the data.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.detrend(np.array([0.0, 2.0, 1.0, 3.0])).round(3) + 0.0
        array([-0.3,  0.9, -0.9,  0.3])
    """
    del overwrite_data
    if type not in {"linear", "l", "constant", "c"}:
        raise ValueError(
            f"scipy.signal.detrend: trend type must be 'linear' or 'constant', and is {type!r}. Pass one of them."
        )
    x = fnp.asarray(as_value(data))
    if type in {"constant", "c"}:
        return fnp.subtract(x, fnp.mean(x, axis, keepdims=True))
    axis = normalize_axis(axis, len(x.shape))
    x = fnp.moveaxis(x if x.dtype.char in "dfDF" else fnp.astype(x, np.dtype(float)), axis, -1)
    n = x.shape[-1]
    ends = np.unique(np.concatenate([[0], np.ravel(bp), [n]])).astype(int)
    if ends[-1] > n:
        raise ValueError(
            f"scipy.signal.detrend: breakpoints must be less than length of data along given axis, {n}, and one is "
            f"{ends[-1]}. Leave it out."
        )
    parts = [_without_line(x[..., a:b]) for a, b in pairwise(ends)]
    return fnp.moveaxis(fnp.concatenate(parts, -1), -1, axis)


def _without_line(x: ArrayLike) -> Array:
    """Return the part that is orthogonal to constants and to a slope."""
    n = x.shape[-1]
    basis, _ = np.linalg.qr(np.stack([np.ones(n), np.arange(n) - (n - 1) / 2], 1))
    basis = basis.astype(x.dtype)
    return fnp.subtract(x, fnp.matmul(fnp.matmul(x, basis), basis.T))


def hilbert(x: ArrayLike, N: int | None = None, axis: int = -1) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.signal.hilbert``: the analytic signal, whose imaginary part is the Hilbert transform.

    Args:
        x: real signals.
        N: the number of samples to transform; all of them for ``None``.
        axis: the axis to work along.

    Returns:
        Complex signals.

    Raises:
        ValueError: the signals are complex.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> np.abs(signal.hilbert(np.cos(np.arange(8) * np.pi / 4))).round(6)
        array([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    x = fnp.asarray(as_value(x))
    if x.dtype.kind == "c":
        raise ValueError(f"scipy.signal.hilbert: x must be real, and is {aval_of(x)}. Take its real part.")
    axis = normalize_axis(axis, len(x.shape))
    n = x.shape[axis] if N is None else N
    if n <= 0:
        raise ValueError(f"scipy.signal.hilbert: N must be positive, and is {n}. Give signals at least one sample.")
    spectrum = fnp.moveaxis(fnp.fft.fft(x, n, axis), axis, -1)
    # Keep only the positive frequencies, with the weight of both.
    factors = np.zeros(n, spectrum.dtype)
    factors[0] = factors[n // 2] = 1
    factors[1 : (n + 1) // 2] = 2
    return fnp.moveaxis(fnp.fft.ifft(fnp.multiply(spectrum, factors)), -1, axis)
