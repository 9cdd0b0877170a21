"""Convolutions and correlations of arrays, by sums or by transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.contract import convolve as ops
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, normalize_axes, promote
from funcgrad.scipy.signal._scipys import scipys

_fft = LazyModule("scipy.fft")

_MODES = ("full", "valid", "same")
# SciPy's extension modes of images, with NumPy's names for them.
_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symmetric",
    "symmetric": "symmetric",
}


def _both(name: str, in1: ArrayLike, in2: ArrayLike, mode: str) -> tuple[Any, Any]:
    """Return both as arrays; the second one is inside the first."""
    a, v = fnp.asarray(as_value(in1)), fnp.asarray(as_value(in2))
    if len(a.shape) != len(v.shape):
        raise ValueError(
            f"scipy.signal.{name}: in1 and in2 should have the same dimensionality, and are {aval_of(a)} and "
            f"{aval_of(v)}. Give both as many axes, with v[None] for one more."
        )
    if mode not in _MODES:
        raise ValueError(
            f"scipy.signal.{name}: acceptable mode flags are 'valid', 'same', or 'full', and mode is {mode!r}. Pass "
            "one of them."
        )
    return a, v


def _larger_first(name: str, a: ArrayLike, v: ArrayLike, axes: Sequence[int]) -> tuple[Any, Any]:
    if all(a.shape[i] >= v.shape[i] for i in axes):
        return a, v
    if any(a.shape[i] > v.shape[i] for i in axes):
        raise ValueError(
            f"scipy.signal.{name}: for 'valid' mode, one must be at least as large as the other in every dimension, "
            f"and they are {aval_of(a)} and {aval_of(v)}. Choose another mode."
        )
    return v, a


def _centered(y: ArrayLike, shape: Sequence[int]) -> Array:
    """Return the middle of an array."""
    starts = [(n - m) // 2 for n, m in zip(y.shape, shape, strict=True)]
    return y[tuple([slice(start, start + m) for start, m in zip(starts, shape, strict=True)])]


def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Array:
    """``scipy.signal.convolve``: the sums of products of an array and a second, reversed array.

    Args:
        in1: an array.
        in2: as many axes.
        mode: ``'full'``; ``'valid'`` for the positions at which one array is completely inside the other; ``'same'``
            for the middle of the full result, in the shape of ``in1``.
        method: ``'direct'`` for sums, ``'fft'`` for transforms, ``'auto'`` for the one that SciPy expects to be faster.

    Returns:
        An array of the common dtype.

    Raises:
        ValueError: the numbers of axes differ, or nothing has this mode or method.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([0.0, 1.0, 2.0])
        >>> fg.scipy.signal.convolve(x, np.array([1.0, -1.0]))
        array([ 0.,  1.,  1., -2.])
        >>> fg.grad(lambda w: np.sum(fg.scipy.signal.convolve(x, w, "same") ** 2))(np.array([1.0, -1.0]))
        array([6., 2.])
    """
    a, v = _both("convolve", in1, in2, mode)
    if method not in {"auto", "direct", "fft"}:
        raise ValueError(
            f"scipy.signal.convolve: acceptable method flags are 'auto', 'direct', or 'fft', and method is {method!r}. "
            "Pass one of them."
        )
    if not a.shape:
        return fnp.multiply(a, v)
    if not (math.prod(a.shape) and math.prod(v.shape)):
        raise ValueError(
            f"scipy.signal.convolve: in1 is {aval_of(a)} and in2 {aval_of(v)}, and neither can be empty. Leave out "
            "what is empty."
        )
    if mode == "valid":
        a, v = _larger_first("convolve", a, v, range(len(a.shape)))
    dtype = np.result_type(a.dtype, v.dtype)
    if method == "auto":
        # Sums of integers are exact.
        method = _method(a.shape, v.shape, mode) if is_inexact(dtype) else "direct"
    if method == "direct":
        return _by_sums(a, v, mode)
    y = fftconvolve(a, v, mode)
    return fnp.astype(y if is_inexact(dtype) else fnp.round(y), dtype)


@lru_cache(maxsize=1024)
def _method(a_shape: tuple[int, ...], v_shape: tuple[int, ...], mode: str) -> str:
    """Return the method that SciPy expects to be faster, from the lengths alone."""
    return scipys("choose_conv_method", np.broadcast_to(0.0, a_shape), np.broadcast_to(0.0, v_shape), mode)


def _by_sums(a: ArrayLike, v: ArrayLike, mode: str) -> Array:
    if len(a.shape) == 1:
        return _centered(fnp.convolve(a, v), a.shape) if mode == "same" else fnp.convolve(a, v, mode)
    shape = a.shape
    a, v = promote(a, v)
    rank = len(shape)
    y = ops.convolve_axes(a, v, rank, full=mode != "valid")
    return _centered(y, shape) if mode == "same" else y


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None) -> Array:
    """``scipy.signal.fftconvolve``: `convolve` by transforms, over all axes or some.

    Along the other axes both are multiplied, and broadcast where one has length 1.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([0.0, 1.0, 2.0])
        >>> np.round(fg.scipy.signal.fftconvolve(x, x), 9) + 0.0
        array([0., 0., 1., 4., 4.])
    """
    a, v = _both("fftconvolve", in1, in2, mode)
    if not a.shape:
        return fnp.multiply(a, v)
    if not (math.prod(a.shape) and math.prod(v.shape)):
        return np.array([])
    along = normalize_axes(axes if axes is None or isinstance(axes, int) else tuple(axes), len(a.shape))
    if not along and axes is not None:
        raise ValueError("scipy.signal.fftconvolve: axes is empty; needed one axis or more. Leave it out for all.")
    others = [i for i in range(len(a.shape)) if i not in along]
    if any(a.shape[i] != v.shape[i] and 1 not in {a.shape[i], v.shape[i]} for i in others):
        raise ValueError(
            f"scipy.signal.fftconvolve: incompatible shapes for in1 and in2: {aval_of(a)} and {aval_of(v)}. Along the "
            f"axes {others}, which are not in axes, needed equal lengths, or 1."
        )
    if mode == "valid":
        a, v = _larger_first("fftconvolve", a, v, along)
    lengths = [a.shape[i] + v.shape[i] - 1 for i in along]
    # SciPy transforms single precision combined with double precision in single precision, which loses digits.
    a, v = promote(a, v)
    real = a.dtype.kind != "c"
    fast = tuple([_fft.next_fast_len(n, real) for n in lengths])
    forward, back = (fnp.fft.rfftn, fnp.fft.irfftn) if real else (fnp.fft.fftn, fnp.fft.ifftn)
    y = back(fnp.multiply(forward(a, fast, along), forward(v, fast, along)), fast, along)
    whole = dict(zip(along, lengths, strict=True))
    y = y[tuple([slice(whole.get(i)) for i in range(len(a.shape))])]
    if mode == "full":
        return y
    if mode == "same":
        return _centered(y, a.shape)
    inside = [a.shape[i] - v.shape[i] + 1 if i in along else n for i, n in enumerate(y.shape)]
    return _centered(y, inside)


def oaconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None) -> Array:
    """``scipy.signal.oaconvolve``: the same as `fftconvolve`, computed in the same way."""
    return fftconvolve(in1, in2, mode, axes)


def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Array:
    """``scipy.signal.correlate``: the sums of products of an array and the conjugate of another one, moved over it.

    Args:
        in1: an array.
        in2: as many axes.
        mode: ``'full'``, ``'valid'`` or ``'same'``, as of `convolve`.
        method: ``'direct'``, ``'fft'`` or ``'auto'``.

    Returns:
        An array of the common dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.signal.correlate(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0]), "valid")
        array([2., 5.])
    """
    a, v = _both("correlate", in1, in2, mode)
    return convolve(a, _reversed(v), mode, method) if v.shape else fnp.multiply(a, fnp.conjugate(v))


def _reversed(v: ArrayLike) -> Array:
    turned = v[(slice(None, None, -1),) * len(v.shape)]
    return fnp.conjugate(turned) if v.dtype.kind == "c" else turned


def convolve2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: ArrayLike = 0
) -> Array:
    """``scipy.signal.convolve2d``: `convolve` of images, which go on beyond their edges.

    Args:
        in1: f[height, width].
        in2: f[height, width].
        mode: ``'full'``, ``'valid'`` or ``'same'``, as of `convolve`.
        boundary: the extension of ``in1``: ``'fill'``, ``'wrap'`` or ``'symm'``.
        fillvalue: the value beyond the edges in the mode ``'fill'``.

    Returns:
        An image of the common dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> image = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> fg.scipy.signal.convolve2d(image, np.array([[1.0, 1.0]]), "same", "wrap")
        array([[1., 1.],
               [5., 5.]])
    """
    a, v = _images("convolve2d", in1, in2, mode)
    if mode == "valid":
        a, v = _larger_first("convolve2d", a, v, (0, 1))
    return _with_edges("convolve2d", a, v, (mode, boundary, fillvalue), 1)


def correlate2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: ArrayLike = 0
) -> Array:
    """``scipy.signal.correlate2d``: `correlate` of images, with the arguments of `convolve2d`."""
    a, v = _images("correlate2d", in1, in2, mode)
    if mode == "valid" and _larger_first("correlate2d", a, v, (0, 1))[0] is not a:
        # SciPy exchanges the arguments, and then conjugates the smaller one.
        return _with_edges("correlate2d", v, _reversed(a), (mode, boundary, fillvalue), 0)[::-1, ::-1]
    return _with_edges("correlate2d", a, _reversed(v), (mode, boundary, fillvalue), 0)


def _images(name: str, in1: ArrayLike, in2: ArrayLike, mode: str) -> tuple[Any, Any]:
    a, v = _both(name, in1, in2, mode)
    if len(a.shape) != 2:
        raise ValueError(
            f"scipy.signal.{name}: the inputs must both be 2-D arrays, and are {aval_of(a)} and {aval_of(v)}. Use "
            f"{name.removesuffix('2d')} for other numbers of axes."
        )
    return a, v


def _with_edges(name: str, a: ArrayLike, v: ArrayLike, edge: tuple[str, str, Any], turned: int) -> Array:
    mode, boundary, fillvalue = edge
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"scipy.signal.{name}: acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or "
            f"'symm'), and boundary is {boundary!r}. Pass one of them."
        )
    shape = a.shape
    a, v = promote(a, v)
    plain = _BOUNDARIES[boundary] == "constant" and type(fillvalue) in {int, float} and not fillvalue
    if plain or mode == "valid":
        y = ops.convolve_axes(a, v, 2, full=mode != "valid")
    else:
        options = {"constant_values": fillvalue} if _BOUNDARIES[boundary] == "constant" else {}
        around = fnp.pad(a, [(m - 1, m - 1) for m in v.shape], mode=_BOUNDARIES[boundary], **options)
        y = ops.convolve_axes(around, v, 2, full=False)
    if mode != "same":
        return y
    # For an even number of elements, SciPy's correlation has another middle than its convolution.
    starts = [(m - turned) // 2 for m in v.shape]
    return y[tuple([slice(start, start + n) for start, n in zip(starts, shape, strict=True)])]
