"""Filters and interpolation of ``scipy.ndimage`` for arrays of either engine and for tracers.

SciPy's functions accept no other arrays: call the functions here. As there, everything is computed in double precision
and given back in the dtype of the input; of integers it carries no derivative. Filters cut the fraction of an integer
off and `map_coordinates` rounds, as SciPy's do; XLA may round a sum differently in its last digit.

Source: the definitions in the SciPy reference; ``ni_filters.c`` and ``ni_interpolation.c`` for the extension beyond
edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.words import in_our_words
from funcgrad._public import publish
from funcgrad._types import ArrayLike, DTypeLike
from funcgrad.errors import ConcretizationTypeError
from funcgrad.numpy.extend import as_value, concrete_value, known_value, normalize_axis, sliding_window_view
from funcgrad.scipy._coordinates import given_back, in_doubles, is_whole, map_coordinates

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "map_coordinates",
    "uniform_filter1d",
]

# SciPy's extension modes, with NumPy's names for them.
_PADDING = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def _padded(name: str, x: ArrayLike, widths: Sequence[tuple[int, int]], mode: str, cval: ArrayLike) -> Any:
    if mode not in _PADDING:
        raise RuntimeError(f"scipy.ndimage.{name}: mode is {mode!r}; needed one of {', '.join(_PADDING)}.")
    how = _PADDING[mode]
    return fnp.pad(x, widths, mode=how, **({"constant_values": cval} if how == "constant" else {}))


def _reach(name: str, size: int, origin: int) -> tuple[int, int]:
    """Return how many elements a filter covers before and after its centre."""
    before = size // 2 + origin
    if size < 1 or not 0 <= before < size:
        raise ValueError(
            f"scipy.ndimage.{name}: origin is {origin} for {size} weights, an invalid origin; needed one by which an "
            "element stays within the filter. Use 0 for its middle."
        )
    return before, size - 1 - before


@in_our_words
def correlate(
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    weights: ArrayLike,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int | Sequence[int] = 0,
) -> Any:
    """``scipy.ndimage.correlate``: the sum of the neighbours of each element times the weights.

    Args:
        input: an array.
        weights: as many axes as the input has.
        output: a float dtype for the result, or an array of traced values that gets it.
        mode: the extension beyond the edges: 'reflect', 'mirror', 'nearest', 'wrap' or 'constant'.
        cval: the value beyond the edges in the mode 'constant'.
        origin: the shift of the filter, along all axes or each.

    Returns:
        An array of the input's shape and dtype.

    Raises:
        RuntimeError: the weights have another number of axes.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.ndimage.correlate(np.array([1.0, 2.0, 4.0]), np.array([-1.0, 0.0, 1.0]))
        array([1., 3., 2.])
    """
    x, dtype = in_doubles("correlate", input, output)
    w = fnp.asarray(as_value(weights))
    origins = (origin,) * len(x.shape) if isinstance(origin, int) else tuple(origin)
    if len(w.shape) != len(x.shape) or len(origins) != len(x.shape):
        raise RuntimeError(
            f"scipy.ndimage.correlate: the filter weights array has incorrect shape: the weights are {aval_of(w)} for "
            f"{aval_of(x)}. Give both as many axes, with weights[None] for one more."
        )
    widths = [_reach("correlate", n, moved) for n, moved in zip(w.shape, origins, strict=True)]
    if not all(x.shape):
        return given_back(fnp.copy(x), dtype)
    windows = sliding_window_view(_padded("correlate", x, widths, mode, cval), w.shape)
    if is_whole(dtype):
        return given_back(_summed([windows[(..., *i)] * w[i] for i in np.ndindex(*w.shape)]), dtype)
    return given_back(fnp.tensordot(windows, w, len(w.shape)), dtype)


@in_our_words
def convolve(
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    weights: ArrayLike,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int | Sequence[int] = 0,
) -> Any:
    """``scipy.ndimage.convolve``: `correlate` with the reversed weights.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> smooth = lambda x: np.sum(fg.scipy.ndimage.convolve(x, np.array([0.25, 0.5, 0.25])) ** 2)
        >>> fg.grad(smooth)(np.array([0.0, 1.0, 0.0]))
        array([0.625, 0.75 , 0.625])
    """
    w = fnp.asarray(as_value(weights))
    origins = (origin,) * len(w.shape) if isinstance(origin, int) else tuple(origin)
    turned = [_turned(n, moved) for n, moved in zip(w.shape, origins, strict=False)]
    return correlate(input, w[(slice(None, None, -1),) * len(w.shape)], output, mode, cval, turned)


def _turned(size: int, origin: int) -> int:
    return -origin - (1 - size % 2)


@in_our_words
def correlate1d(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    weights: ArrayLike,
    axis: int = -1,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """``scipy.ndimage.correlate1d``: `correlate` along one axis."""
    return _along("correlate1d", input, weights, axis, output, (mode, cval, origin))


def _vector(name: str, weights: ArrayLike) -> Any:
    w = fnp.asarray(as_value(weights))
    if len(w.shape) != 1 or not w.shape[0]:
        raise RuntimeError(
            f"scipy.ndimage.{name}: weights is {aval_of(w)}, no filter weights; needed a vector of at least "
            "one. Pass a list."
        )
    return w


def _summed(terms: Sequence[Any]) -> Any:
    """Return a sum in SciPy's order: the last digit decides where the fraction of a nearly whole number is cut off."""
    total = terms[0]
    for term in terms[1:]:
        total = fnp.add(total, term)
    return total


def _whole_sums(windows: Any, w: ArrayLike) -> Any:
    """Return the sums of a filter along one axis for an integer image, computed as by SciPy."""
    n, known = w.shape[0], known_value(w)
    middle, sign = n // 2, 0
    if known is not None and n % 2:
        rest, turned = np.asarray(known)[middle + 1 :], np.asarray(known)[:middle][::-1]
        near = np.finfo(float).eps
        sign = 1 if np.all(abs(rest - turned) <= near) else -1 if np.all(abs(rest + turned) <= near) else 0
    if sign:
        pairs = [(windows[..., i] + sign * windows[..., n - 1 - i]) * w[i] for i in range(middle)]
        return _summed([windows[..., middle] * w[middle], *pairs])
    return _summed([windows[..., i] * w[i] for i in (n - 1, *range(n - 1))])


def _whole_means(windows: Any, w: ArrayLike) -> Any:
    """Return the means along one axis for an integer image, whose sums are exact."""
    return fnp.sum(windows, -1) / w.shape[0]


def _along(  # noqa: PLR0917  (SciPy's arguments)
    name: str,
    x: ArrayLike,
    weights: ArrayLike,
    axis: int,
    output: Any,
    edge: tuple[str, Any, int],
    whole: Callable[[Any, Any], Any] = _whole_sums,
) -> Any:
    mode, cval, origin = edge
    x, dtype = in_doubles(name, x, output)
    w = _vector(name, weights)
    axis = normalize_axis(axis, len(x.shape))
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = _reach(name, w.shape[0], origin)
    if not all(x.shape):
        return given_back(fnp.copy(x), dtype)
    windows = sliding_window_view(_padded(name, x, widths, mode, cval), w.shape[0], axis)
    if is_whole(dtype):
        return given_back(whole(windows, w), dtype)
    return given_back(fnp.matmul(windows, fnp.astype(w, np.result_type(w.dtype, x.dtype))), dtype)


@in_our_words
def convolve1d(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    weights: ArrayLike,
    axis: int = -1,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """``scipy.ndimage.convolve1d``: `convolve` along one axis."""
    w = _vector("convolve1d", weights)
    return _along("convolve1d", input, w[::-1], axis, output, (mode, cval, _turned(w.shape[0], origin)))


@in_our_words
def uniform_filter1d(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    size: int,
    axis: int = -1,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    origin: int = 0,
) -> Any:
    """``scipy.ndimage.uniform_filter1d``: the mean of ``size`` neighbours along an axis."""
    return _along("uniform_filter1d", input, np.full(size, 1 / size), axis, output, (mode, cval, origin), _whole_means)


@in_our_words
def gaussian_filter1d(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    sigma: ArrayLike,
    axis: int = -1,
    order: int = 0,
    output: DTypeLike | ArrayLike = None,
    mode: str = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """``scipy.ndimage.gaussian_filter1d``: differentiable by ``sigma`` too.

    ``sigma`` determines the length of the filter, so its number must be known unless ``radius`` is given.

    Args:
        input: an array.
        sigma: the standard deviation, in elements.
        axis: the axis to work along.
        order: the order of the derivative of the Gaussian function.
        output: a float dtype for the result, or an array of traced values that gets it.
        mode: the extension beyond the edges.
        cval: the value beyond the edges in the mode 'constant'.
        truncate: the length of the filter on each side, in standard deviations.
        radius: the length of the filter on each side, in elements.

    Returns:
        An array of the input's shape and dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.ndimage.gaussian_filter1d(np.array([0.0, 1.0, 0.0]), 1.0, radius=1).round(3)
        array([0.274, 0.452, 0.274])
    """
    if radius is None:
        known = concrete_value(sigma, "scipy.ndimage.gaussian_filter1d without radius")
        radius = int(truncate * float(np.asarray(known)) + 0.5)
    if not isinstance(radius, int | np.integer) or radius < 0 or order < 0:
        raise ValueError(
            f"scipy.ndimage.gaussian_filter1d: radius is {radius} and order {order}; needed a nonnegative integer for "
            "each. Leave radius out to have it from sigma."
        )
    weights = _gaussian(sigma, order, radius)
    return _along("gaussian_filter1d", input, weights[::-1], axis, output, (mode, cval, 0))


def _gaussian(sigma: ArrayLike, order: int, radius: int) -> Any:
    """Return the density and its derivatives: each has one more polynomial factor, by the product rule."""
    places = np.arange(-radius, radius + 1)
    square = fnp.multiply(sigma, sigma)
    density = fnp.exp(fnp.multiply(fnp.divide(-0.5, square), places**2))
    density = fnp.divide(density, fnp.sum(density))
    terms: list[Any] = [1.0] + [0.0] * order
    for _ in range(order):
        slopes = [fnp.multiply(i, terms[i]) for i in range(1, order + 1)] + [0.0]
        falls = [0.0] + [fnp.divide(term, square) for term in terms[:-1]]
        terms = [fnp.subtract(slope, fall) for slope, fall in zip(slopes, falls, strict=True)]
    factor: Any = 0.0
    for i, term in enumerate(terms):
        factor = fnp.add(factor, fnp.multiply(term, places**i))
    return fnp.multiply(factor, density)


@in_our_words
def gaussian_filter(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    sigma: ArrayLike,
    order: int | Sequence[int] = 0,
    output: DTypeLike | ArrayLike = None,
    mode: str | Sequence[str] = "reflect",
    cval: ArrayLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
) -> Any:
    """``scipy.ndimage.gaussian_filter``: `gaussian_filter1d` along each axis; one number or one for each.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> image = np.zeros((3, 3))
        >>> image[1, 1] = 1.0
        >>> fg.scipy.ndimage.gaussian_filter(image, 0.5)[1].round(3)
        array([0.084, 0.619, 0.084])
    """
    y, target = in_doubles("gaussian_filter", input, output)
    # Each filter rounds its result to the dtype of the output.
    rounded = None if output is None else target.dtype if isinstance(target, Tracer) else target
    if output is None:
        y = given_back(y, target)
    along = [normalize_axis(i, len(y.shape)) for i in (range(len(y.shape)) if axes is None else axes)]
    if len(set(along)) < len(along):
        raise ValueError(
            f"scipy.ndimage.gaussian_filter: axes must be unique; they are {tuple(along)}. Name each axis once."
        )
    widths = _for_each("sigma", as_value(sigma), along)
    orders, modes, reaches = _for_each("order", order, along), _for_each("mode", mode, along), [None] * len(along)
    if radius is not None:
        reaches = _for_each("radius", radius, along)
    for axis, width, which, how, reach in zip(along, widths, orders, modes, reaches, strict=True):
        if not _is_none(width, reach):
            y = gaussian_filter1d(y, width, axis, which, rounded, how, cval, truncate, radius=reach)
    return y if output is None else given_back(y, target)


def _is_none(sigma: ArrayLike, radius: int | None) -> bool:
    """Return whether a width is so small that the filter is the identity, if it is known."""
    try:
        known = concrete_value(sigma, "scipy.ndimage.gaussian_filter without radius")
    except ConcretizationTypeError:
        if radius is None:
            raise
        return False
    return float(np.asarray(known)) <= 1e-15


def _for_each(name: str, given: Any, axes: Sequence[int]) -> list[Any]:
    """Return one value for each axis."""
    if isinstance(given, str) or not np.shape(given):
        return [given] * len(axes)
    found = [given[i] for i in range(len(given))]
    if len(found) != len(axes):
        raise RuntimeError(
            f"scipy.ndimage.gaussian_filter: {name} has {len(found)} elements, and sequence argument must have length "
            f"equal to input rank, {len(axes)}. Give one for each axis, or a number."
        )
    return found


__dir__ = publish(__name__)
