"""The Fourier transforms of ``scipy.fft``, which are those of ``numpy.fft`` with SciPy's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import in_our_words
from funcgrad._types import ArrayLike, AxesLike, DeviceLike
from funcgrad.numpy.extend import as_value, normalize_axis

# Which transform of NumPy's, by the name of the Hermitian one: this one with the norm of the other direction.
_OTHER_NORM = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def check_options(name: str, norm: Any, plan: Any = None) -> None:
    """Refuse a plan, as SciPy does, and a norm that there is not."""
    if plan is not None:
        raise NotImplementedError(
            f"scipy.fft.{name}: plan= is {plan!r}; SciPy takes no plan that was made before. Leave it out."
        )
    if norm not in _OTHER_NORM:
        raise ValueError(
            f"scipy.fft.{name}: Invalid norm value {norm!r}, should be 'backward', 'ortho' or 'forward'. Leave it out "
            "for 'backward': the inverse divides by the number of points."
        )


def lengths_and_axes(name: str, x: ArrayLike, s: ArrayLike, axes: AxesLike) -> tuple[list[int] | None, list[int]]:
    """Return ``s`` and ``axes`` as lists; axes that are not given are the last ones, or all.

    Raises:
        ValueError: an axis is repeated, or the numbers of lengths and axes differ.
    """
    ndim = len(x.shape)
    lengths: list[int] | None = None if s is None else np.atleast_1d(s).tolist()
    if axes is None:
        named: Sequence[int] = range(ndim) if lengths is None else range(ndim - len(lengths), ndim)
    else:
        named = np.atleast_1d(axes).astype(int).tolist()
    if lengths is not None and len(lengths) > ndim:
        raise ValueError(
            f"scipy.fft.{name}: shape requires more axes than are present: s is {lengths}, the array has {ndim} axes. "
            "Give one length for each axis."
        )
    whole = [normalize_axis(axis, ndim) for axis in named]
    if len(set(whole)) != len(whole):
        raise ValueError(f"scipy.fft.{name}: all axes must be unique; axes is {tuple(named)}. Name each axis once.")
    if lengths is not None and len(lengths) != len(whole):
        raise ValueError(
            f"scipy.fft.{name}: when given, axes and shape arguments have to be of the same length: s is {lengths}, "
            f"axes {tuple(named)}. Give one length for each axis."
        )
    return lengths, whole


def _named(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``scipy.fft.{name}``: {text}"
    return in_our_words(function)


def _one(name: str, text: str) -> Callable[..., Any]:
    """Return a transform along one axis."""
    numpys = getattr(fnp.fft, name)

    def function(
        x: ArrayLike,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: None = None,
    ) -> Any:
        del overwrite_x, workers
        check_options(name, norm, plan)
        return numpys(as_value(x), n, axis, norm)

    return _named(function, name, text)


def _many(name: str, text: str, default: tuple[int, int] | None) -> Callable[..., Any]:
    """Return a transform along several axes."""
    numpys: Any = {"h": fnp.fft.irfftn, "i": fnp.fft.ifftn, "r": fnp.fft.rfftn, "f": fnp.fft.fftn}[name[0]]
    numpys = {"ir": fnp.fft.irfftn, "ih": fnp.fft.rfftn}.get(name[:2], numpys)
    is_hermitian = "h" in name

    def function(
        x: ArrayLike,
        s: ArrayLike = None,
        axes: AxesLike = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: None = None,
    ) -> Any:
        del overwrite_x, workers
        check_options(name, norm, plan)
        x = fnp.asarray(as_value(x))
        lengths, along = lengths_and_axes(name, x, s, axes)
        if not is_hermitian:
            return numpys(x, lengths, along, norm)
        # A Hermitian transform is the transform in the other direction, of the conjugate.
        y = numpys(fnp.conj(x) if numpys is fnp.fft.irfftn else x, lengths, along, _OTHER_NORM[norm])
        return fnp.conj(y) if numpys is fnp.fft.rfftn else y

    return _named(function, name, text)


_FREQUENCIES, _VALUES = "the frequencies of values", "the values of frequencies"
_HALF, _FROM_HALF = "the frequencies of real values, up to half their number,", "the real values of half a spectrum"
_SPECTRUM, _SIGNAL = "the real spectrum of half a Hermitian signal", "half the Hermitian signal of a real spectrum"
_PLANE = (-2, -1)

fft = _one("fft", f"{_FREQUENCIES} along one axis.")
ifft = _one("ifft", f"{_VALUES} along one axis.")
rfft = _one("rfft", f"{_HALF} along one axis.")
irfft = _one("irfft", f"{_FROM_HALF} along one axis.")
hfft = _one("hfft", f"{_SPECTRUM} along one axis.")
ihfft = _one("ihfft", f"{_SIGNAL} along one axis.")
fft2 = _many("fft2", f"{_FREQUENCIES} along two axes.", _PLANE)
ifft2 = _many("ifft2", f"{_VALUES} along two axes.", _PLANE)
rfft2 = _many("rfft2", f"{_HALF} along two axes.", _PLANE)
irfft2 = _many("irfft2", f"{_FROM_HALF} along two axes.", _PLANE)
hfft2 = _many("hfft2", f"{_SPECTRUM} along two axes.", _PLANE)
ihfft2 = _many("ihfft2", f"{_SIGNAL} along two axes.", _PLANE)
fftn = _many("fftn", f"{_FREQUENCIES} along several axes.", None)
ifftn = _many("ifftn", f"{_VALUES} along several axes.", None)
rfftn = _many("rfftn", f"{_HALF} along several axes.", None)
irfftn = _many("irfftn", f"{_FROM_HALF} along several axes.", None)
hfftn = _many("hfftn", f"{_SPECTRUM} along several axes.", None)
ihfftn = _many("ihfftn", f"{_SIGNAL} along several axes.", None)


def fftshift(x: ArrayLike, axes: AxesLike = None) -> Any:
    """``scipy.fft.fftshift``: move frequency 0 from the start to the middle of each axis."""
    return fnp.fft.fftshift(x, axes)


def ifftshift(x: ArrayLike, axes: AxesLike = None) -> Any:
    """``scipy.fft.ifftshift``: the inverse of `fftshift`."""
    return fnp.fft.ifftshift(x, axes)


def fftfreq(n: int, d: ArrayLike = 1.0, *, xp: ArrayLike = None, device: DeviceLike = None) -> Any:
    """``scipy.fft.fftfreq``: the frequencies of `fft` for ``n`` samples a time ``d`` apart."""
    del xp
    return fnp.fft.fftfreq(n, d, device)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, xp: ArrayLike = None, device: DeviceLike = None) -> Any:
    """``scipy.fft.rfftfreq``: the frequencies of `rfft` for ``n`` samples a time ``d`` apart."""
    del xp
    return fnp.fft.rfftfreq(n, d, device)
