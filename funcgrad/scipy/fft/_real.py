"""The discrete cosine and sine transforms of ``scipy.fft``, of types I to IV, each by one Fourier transform.

With ``e(t) = exp(-i pi t)``, each is ``2 Re`` or ``-2 Im`` of ``after[k] * sum(before[n] * x[n] * e(2 k n / L))``,
where ``n`` and ``k`` begin at 0 or at 1. The sum is a Fourier transform of ``L`` points, of which some are zero. It
takes about twice the operations of an algorithm of its own, and it differentiates, stages and batches as `fft` does.

Source: the definitions in SciPy's reference of `scipy.fft.dct` and `scipy.fft.dst`, product formulas in the exponent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import in_our_words
from funcgrad._types import ArrayLike, AxesLike
from funcgrad.numpy.extend import as_value, normalize_axis
from funcgrad.scipy.fft._complex import check_options, lengths_and_axes

# The type of the inverse transform.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


class _Form(NamedTuple):
    """How a transform of ``count`` numbers is one of ``points`` numbers."""

    points: int
    # The position of the first number among the points, and of the first result.
    first: int
    begin: int
    before: np.ndarray
    after: np.ndarray


@functools.lru_cache(maxsize=256)
def _form(sine: bool, kind: int, count: int) -> _Form:
    n = np.arange(count)
    weights = np.ones(count)
    if kind == 1:
        if not sine:
            weights[0] = weights[-1] = 0.5
        return _Form(2 * (count + 1 if sine else count - 1), int(sine), int(sine), weights, np.ones(count))
    points = 2 * count
    if kind == 2:
        return _Form(points, 0, int(sine), weights, _turn((n + sine) / points))
    if kind == 3:
        weights[-1 if sine else 0] = 0.5
        return _Form(points, int(sine), 0, weights * _turn((n + sine) / points), np.ones(count))
    return _Form(points, 0, 0, _turn(n / points), _turn((2 * n + 1) / (2 * points)))


def _turn(angles: np.ndarray) -> np.ndarray:
    return np.exp(-1j * np.pi * angles)


def _scale(sine: bool, kind: int, count: int, norm: str | None, inverse: bool) -> float:
    """Return the factor that ``norm`` asks for, of one axis."""
    points = _form(sine, kind, count).points
    if norm == "ortho":
        return 1 / float(np.sqrt(points))
    return 1 / points if (norm == "forward") != inverse else 1.0


def _orthogonal(sine: bool, kind: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of numbers and results that make the matrix of a transform orthogonal."""
    before, after = np.ones(count), np.ones(count)
    end = -1 if sine else 0
    if kind == 1 and not sine:
        before[[0, -1]], after[[0, -1]] = np.sqrt(2.0), np.sqrt(0.5)
    elif kind == 2:
        after[end] = np.sqrt(0.5)
    elif kind == 3:
        before[end] = np.sqrt(2.0)
    return before, after


class _Options(NamedTuple):
    sine: bool
    kind: int
    inverse: bool
    norm: str | None
    orthogonal: bool


def _along(x: ArrayLike, axis: int, n: int | None, options: _Options, name: str) -> Any:
    """Return the transform along one axis, cut to ``n`` numbers or filled with zeros up to that."""
    x = fnp.moveaxis(x, axis, -1)
    count = x.shape[-1] if n is None or n == -1 else int(n)
    _check_count(name, count, options)
    given = min(count, x.shape[-1])
    sine, kind = options.sine, options.kind
    form = _form(sine, kind, count)
    before, after = form.before, form.after
    if options.orthogonal:
        first, last = _orthogonal(sine, kind, count)
        before, after = before * first, after * last
    after = after * (2 * _scale(sine, kind, count, options.norm, options.inverse))
    wide = np.result_type(x.dtype, 1j)
    numbers = x[..., :given] * before[:given].astype(wide if before.dtype.kind == "c" else x.dtype)
    widths = [(0, 0)] * (len(x.shape) - 1) + [(form.first, form.points - form.first - given)]
    whole = fnp.fft.fft(fnp.pad(numbers, widths))[..., form.begin : form.begin + count] * after.astype(wide)
    return fnp.moveaxis(-fnp.imag(whole) if sine else fnp.real(whole), -1, axis)


def _check_count(name: str, count: int, options: _Options) -> None:
    if count < 1:
        raise ValueError(
            f"scipy.fft.{name}: invalid number of data points ({count}) specified; needed at least one. Give a length "
            "with n= or s=, or leave out what is empty."
        )
    if count == 1 and options.kind == 1 and not options.sine:
        raise RuntimeError(
            f"scipy.fft.{name}: DCT-I is not defined for 1 points: its period is 2 (n - 1) = 0, and zero-length FFT "
            "requested. Give two numbers or more, or take type 2."
        )


def _transformed(name: str, x: ArrayLike, axes: list[tuple[int, int | None]], options: _Options) -> Any:
    if options.kind not in _INVERSE:
        raise ValueError(f"scipy.fft.{name}: type is {options.kind!r}; needed 1, 2, 3 or 4. SciPy's default is type 2.")
    if options.inverse:
        options = options._replace(kind=_INVERSE[options.kind])
    if x.dtype.kind == "c":
        # SciPy passes ``orthogonalize`` on for real numbers only.
        options = options._replace(orthogonal=options.norm == "ortho")
        parts = [_transformed_real(name, part, axes, options) for part in (fnp.real(x), fnp.imag(x))]
        return parts[0] + 1j * parts[1]
    return _transformed_real(name, x, axes, options)


def _transformed_real(name: str, x: ArrayLike, axes: list[tuple[int, int | None]], options: _Options) -> Any:
    x = x.astype(np.float32 if x.dtype == np.float16 else np.result_type(x.dtype, 1.0))
    for axis, n in axes:
        x = _along(x, axis, n, options, name)
    return x


def _one(name: str, text: str) -> Callable[..., Any]:
    inverse, sine = name.startswith("i"), "s" in name

    def function(  # noqa: PLR0917  (SciPy's arguments)
        x: ArrayLike,
        type: int = 2,  # noqa: A002  (SciPy's name)
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        del overwrite_x, workers
        check_options(name, norm)
        x = fnp.asarray(as_value(x))
        orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
        along = [(normalize_axis(axis, len(x.shape)), n)]
        return _transformed(name, x, along, _Options(sine, type, inverse, norm, orthogonal))

    return _named(function, name, f"{text} along one axis.")


def _many(name: str, text: str) -> Callable[..., Any]:
    inverse, sine = name.startswith("i"), "s" in name

    def function(  # noqa: PLR0917  (SciPy's arguments)
        x: ArrayLike,
        type: int = 2,  # noqa: A002  (SciPy's name)
        s: ArrayLike = None,
        axes: AxesLike = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        del overwrite_x, workers
        check_options(name, norm)
        x = fnp.asarray(as_value(x))
        orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
        lengths, whole = lengths_and_axes(name, x, s, axes)
        along = list(zip(whole, lengths or [None] * len(whole), strict=True))
        return _transformed(name, x, along, _Options(sine, type, inverse, norm, orthogonal))

    return _named(function, name, f"{text} along several axes.")


def _named(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``scipy.fft.{name}``: {text}"
    return in_our_words(function)


dct = _one("dct", "the discrete cosine transform, of type I to IV,")
idct = _one("idct", "the inverse of the discrete cosine transform")
dst = _one("dst", "the discrete sine transform, of type I to IV,")
idst = _one("idst", "the inverse of the discrete sine transform")
dctn = _many("dctn", "the discrete cosine transform, of type I to IV,")
idctn = _many("idctn", "the inverse of the discrete cosine transform")
dstn = _many("dstn", "the discrete sine transform, of type I to IV,")
idstn = _many("idstn", "the inverse of the discrete sine transform")
