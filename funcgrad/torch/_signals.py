"""PyTorch's short-time Fourier transforms and histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array
from funcgrad.autograd.extend import RETURN_TYPES, is_tensor, type_name
from funcgrad.numpy.extend import At
from funcgrad.torch._functions import of_tensors


def _window(name: str, x: Array, window: Array, win_length: int | None, n_fft: int) -> Any:
    """Return a window of the transform's length: ones by default, with zeros on both sides if it is shorter."""
    length = n_fft if win_length is None else win_length
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        real = np.dtype(x.dtype.name.replace("complex128", "float64").replace("complex64", "float32"))
        window = np.ones(length, real)
    elif window.shape != (length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )
    before = (n_fft - length) // 2
    return fnp.pad(window, (before, n_fft - length - before)) if length < n_fft else window


def stft(  # noqa: PLR0917  (PyTorch's signature)
    input: Array,  # noqa: A002  (PyTorch's name)
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Return the Fourier transforms of overlapping windows, ``c64[batch, frequencies, frames]``.

    Args:
        input: ``f32[batch, length]`` or ``f32[length]``.
        n_fft: the length of each transform, in samples.
        hop_length: the distance between windows, in samples; a quarter of ``n_fft`` by default.
        win_length: the length of the window, in samples; ``n_fft`` by default.
        window: ``f32[win_length]``; ones by default.
        center: pad both ends, so that the first window is centered at the first sample.
        pad_mode: how to pad, as for `numpy.pad`; ``"replicate"`` and ``"circular"`` are PyTorch's words for edges and
            wrapping.
        normalized: divide by the root of ``n_fft``.
        onesided: leave out the negative frequencies, which is the default for real input.
        return_complex: whether the result is complex; else real and imaginary parts are a last axis. Needed for real
            input.
        align_to_window: not supported.
    """
    x, hop = input, n_fft // 4 if hop_length is None else hop_length
    is_complex = x.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if align_to_window is not None:
        raise NotImplementedError("stft: align_to_window was given. Cut the input, and leave the argument out.")
    if len(x.shape) not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {len(x.shape)}D input")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    weights = _window("stft", x, window, win_length, n_fft)
    if center:
        mode = {"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode)
        x = fnp.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(n_fft // 2, n_fft // 2)], mode=mode)
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    frames = fnp.take(x, _positions(x.shape[-1], n_fft, hop), axis=-1) * weights
    one = not is_complex if onesided is None else onesided
    if one and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = fnp.fft.rfft if one else fnp.fft.fft
    y = fnp.swapaxes(transform(frames, norm="ortho" if normalized else None), -1, -2)
    return y if return_complex or (is_complex and return_complex is None) else _as_real(y)


def _as_real(y: Array) -> Any:
    return fnp.stack([fnp.real(y), fnp.imag(y)], axis=-1)


def _positions(length: int, n_fft: int, hop: int) -> np.ndarray:
    """Return the positions of the samples of each frame, ``i64[frames, n_fft]``."""
    return np.arange(0, length - n_fft + 1, hop)[:, None] + np.arange(n_fft)


def istft(  # noqa: PLR0917  (PyTorch's signature)
    input: Array,  # noqa: A002  (PyTorch's name)
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Return the signal whose transforms by `stft` are nearest, ``f32[batch, length]``.

    The arguments are those of `stft`, and ``length`` cuts the signal or pads it with zeros.
    """
    y, hop = input, n_fft // 4 if hop_length is None else hop_length
    if y.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    weights = _window("istft", y, window, win_length, n_fft)
    one = y.shape[-2] != n_fft if onesided is None else onesided
    if y.shape[-2] != (n_fft // 2 + 1 if one else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
            f"{'/ 2 + 1 ' if one else ''}when onesided={one}, but got {y.shape[-2]}"
        )
    spectra, norm = fnp.swapaxes(y, -1, -2), "ortho" if normalized else None
    if one:
        frames = fnp.fft.irfft(spectra, n_fft, norm=norm)
    else:
        frames = fnp.fft.ifft(spectra, norm=norm)
        frames = frames if return_complex else fnp.real(frames)
    total = n_fft + hop * (y.shape[-1] - 1)
    where = _positions(total, n_fft, hop)
    signal = _added(frames * weights, where, total)
    envelope = _added(fnp.broadcast_to(fnp.square(fnp.abs(weights)), where.shape), where, total)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    held = slice(start, min(end, total))
    plain = np.asarray(envelope.detach() if is_tensor(envelope) else envelope)
    if plain.size == 0 or np.abs(plain[held]).min() <= 1e-11:
        raise RuntimeError(
            "window overlap add min: 1. The window and hop_length leave samples that no window covers. Choose a "
            "smaller hop_length."
        )
    found = signal[..., held] / envelope[held]
    lacking = end - total
    return fnp.pad(found, [(0, 0)] * (len(found.shape) - 1) + [(0, lacking)]) if lacking > 0 else found


def _added(frames: Array, where: np.ndarray, total: int) -> Any:
    """Return the sum of frames in their positions."""
    zeros = fnp.zeros((*frames.shape[:-2], total), frames.dtype)
    return At(zeros)[..., where].add(frames)


def histogram(
    input: Array,  # noqa: A002  (PyTorch's name)
    bins: Any,
    *,
    range: Any = None,  # noqa: A002  (PyTorch's name)
    weight: Array = None,
    density: bool = False,
) -> Any:
    """Return the number of elements in each bin, or the sum of their weights, and the edges of the bins.

    They carry no derivative.
    """
    edges = _numbers(bins)
    weights = None if weight is None else _numbers(weight).ravel()
    count = int(edges) if edges.ndim == 0 else edges
    found = np.histogram(_numbers(input).ravel(), count, range, density, weights)
    make = input.new_tensor
    return RETURN_TYPES["histogram"](*[make(x.astype(input.dtype)) for x in found])


def _edges(
    values: np.ndarray,
    bins: Any,
    range: Any,  # noqa: A002  (PyTorch's name)
) -> list[np.ndarray]:
    """Return the edges of the bins along each axis, in the dtype of the values."""
    ndim = values.shape[-1]
    counts = [bins] * ndim if isinstance(bins, int) else list(bins)
    if any(not isinstance(n, int) for n in counts):
        if len(counts) != ndim:
            raise RuntimeError(
                f"torch.histogramdd: expected {ndim} sequences of bin edges for a {ndim}-dimensional histogram but got "
                f"{len(counts)}"
            )
        return [_numbers(edges) for edges in counts]
    if len(counts) != ndim:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * ndim:
        raise RuntimeError(
            f"torch.histogramdd: for a {ndim}-dimensional histogram range should have {2 * ndim} elements, but got "
            f"{len(range)}"
        )
    found = []
    for i, n in enumerate(counts):
        if n <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {i}")
        column = values[:, i]
        ends = (column.min(), column.max()) if len(column) else (0.0, 0.0)
        low, high = ends if range is None else range[2 * i : 2 * i + 2]
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {i}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {i}"
            )
        if low == high:
            low, high = (low - 0.5, high + 0.5) if len(column) or range is not None else (0.0, 1.0)
        found.append(np.linspace(low, high, n + 1, dtype=values.dtype))
    return found


def histogramdd(
    input: Array,  # noqa: A002  (PyTorch's name)
    bins: Any,
    *,
    range: Any = None,  # noqa: A002  (PyTorch's name)
    weight: Array = None,
    density: bool = False,
) -> Any:
    """Return the number of points in each cell of a grid, or the sum of their weights, and the edges along each axis.

    The last axis of the input has the coordinates. Results carry no derivative.
    """
    if not input.shape:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if input.dtype.kind != "f":
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{type_name(input.dtype)}'")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    values = _numbers(input).reshape(-1, input.shape[-1])
    edges = _edges(values, bins, range)
    weights = None if weight is None else _numbers(weight).ravel()
    with np.errstate(invalid="ignore"):
        found, _ = np.histogramdd(values, edges, density=density, weights=weights)
    make = input.new_tensor
    return RETURN_TYPES["histogramdd"](
        make(found.astype(input.dtype)), tuple([make(x.astype(input.dtype)) for x in edges])
    )


def _numbers(x: Array) -> np.ndarray:
    return np.asarray(x.detach() if is_tensor(x) else x)


_PLAIN: tuple[Callable[..., Any], ...] = (stft, istft, histogram, histogramdd)
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: of_tensors(function) for function in _PLAIN}
