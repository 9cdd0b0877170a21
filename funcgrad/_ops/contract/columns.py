"""Convolution in NumPy, as products of matrices: what belongs together is laid side by side for BLAS, or added back.

*Gathering* copies what each place of the result reads into a column of a matrix (Chellapilla, Puri and Simard, "High
performance convolutional neural networks for document processing", 2006); *scattering* multiplies first and adds each
product where it belongs, which is less where there are fewer channels in the result, and has no zeros to multiply where
the elements of the image stand apart.

What is copied and added is rows, and the rows of small images are short. Where neighbours stand side by side, all of an
image is taken as one row (a *run*): an element of the kernel is a shift of it. What then stands between the end of a
row and the beginning of the next is computed and dropped, or multiplied by zero.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

# Numbers in the matrix that is laid out at once: it should not leave the cache before BLAS has read it.
_BLOCK = 1 << 17
# Columns of a product that suffice for BLAS's full speed.
_COLUMNS = 256
# Adding reads what copying only writes.
_ADDING = 1.5
# Of a run, how much longer it may be than what of it counts.
_WASTE = 2

Sizes = tuple[int, ...]


def conv_numpy(x: Any, kernel: Any, *, window: Any) -> np.ndarray:
    """``conv``'s implementation; ``window`` is its `Window`."""
    strides, padding, spread, *_ = window
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    y_shape = (x.shape[0], kernel.shape[0], *lengths)
    if not (x.size and kernel.size and math.prod(y_shape)):
        return np.zeros(y_shape, x.dtype)
    apart = not _is_one(spread)
    laid_out = x.shape[1] * math.prod(lengths)
    added = kernel.shape[0] * math.prod(x.shape[2:])
    if _is_one(strides) and (apart or _ADDING * added < laid_out):
        return _by_scattering(x, kernel, window, y_shape)
    if apart:
        x = _spread_out(x, spread)
    x = np.ascontiguousarray(_padded(x, padding))
    # The longer rows are copied faster, and BLAS takes the matrix turned as well.
    gather = _by_places if lengths[-1] < kernel.shape[-1] else _by_offsets
    return gather(x, kernel, window, y_shape)


def _is_one(steps: Sizes) -> bool:
    return all(step == 1 for step in steps)


def _pitches(lengths: Sizes) -> Sizes:
    """How far apart neighbours along each axis lie in memory."""
    return tuple([math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))])


def _run(counts: Sizes, pitches: Sizes) -> int:
    """From the first element of a part of an image to its last, in memory."""
    return sum([(count - 1) * pitch for count, pitch in zip(counts, pitches, strict=True)]) + 1


def _times(steps: Sizes, pitches: Sizes) -> Sizes:
    return tuple([step * pitch for step, pitch in zip(steps, pitches, strict=True)])


def _show(x: np.ndarray, shape: Sizes, steps: Sizes) -> np.ndarray:
    """What of memory stands at these distances, in elements."""
    return as_strided(x, shape, [step * x.itemsize for step in steps])


def _by_offsets(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    """Gathered with a row of the matrix for each channel and element of the kernel."""
    strides, _, _, dilation, groups = window
    n, channels, *space = x.shape
    out, inner, *offsets = kernel.shape
    places = y_shape[2:]
    pitches = _pitches(tuple(space))
    run = _run(places, pitches) if _is_one(strides) else 0
    as_run = 0 < run <= _WASTE * math.prod(places)
    shape, steps = ((run,), (1,)) if as_run else (places, _times(strides, pitches))
    area, rows, count = math.prod(space), inner * math.prod(offsets), math.prod(shape)
    seen = _show(
        x,
        (groups, inner, *offsets, n, *shape),
        (inner * area, area, *_times(dilation, pitches), channels * area, *steps),
    )
    matrix = kernel.reshape(groups, out // groups, rows)
    y = np.empty(y_shape, x.dtype)
    images = 1 + len(offsets) + 1
    for part in _parts(n, groups * rows * count):
        columns = np.ascontiguousarray(seen[(slice(None),) * images + (part,)])
        some = columns.shape[images]
        found = _product(matrix, columns.reshape(groups, rows, some * count)).reshape(out, some, count)
        if as_run:
            found = _show(found, (out, some, *places), (some * count, count, *pitches))
        y[part] = found.reshape(out, some, *places).swapaxes(0, 1)
    return y


def _by_places(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    """Gathered with a row of the matrix for each place of the result: there are few, of a kernel that is an image."""
    strides, _, _, dilation, groups = window
    n, channels, *space = x.shape
    out, inner, *offsets = kernel.shape
    places = y_shape[2:]
    pitches = _pitches(tuple(space))
    run = _run(tuple(offsets), pitches) if _is_one(dilation) else 0
    if 0 < run <= _WASTE * math.prod(offsets):
        wide = np.zeros((out, inner, run), x.dtype)
        _show(wide, kernel.shape, (inner * run, run, *pitches))[...] = kernel
        kernel, shape, steps = wide, (run,), (1,)
    else:
        shape, steps = tuple(offsets), _times(dilation, pitches)
    area, count = math.prod(space), math.prod(places)
    seen = _show(
        x,
        (groups, n, *places, inner, *shape),
        (inner * area, channels * area, *_times(strides, pitches), area, *steps),
    )
    y = np.zeros((n, groups, out // groups, count), x.dtype)
    matrices = kernel.reshape(groups, out // groups, inner, math.prod(shape))
    channel = 2 + len(places)
    # What is summed over is more than a block: the images of a batch, where a kernel's cotangent is sought.
    for part in _parts(n, groups * count * (_BLOCK // _COLUMNS)):
        for some in _parts(inner, groups * count * math.prod(shape) * len(range(n)[part])):
            read = np.ascontiguousarray(seen[(slice(None), part, *(slice(None),) * len(places), some)])
            length = math.prod(read.shape[channel:])
            matrix = matrices[:, :, some].reshape(groups, out // groups, length)
            found = _product(matrix, read.reshape(groups, -1, length).swapaxes(1, 2))
            y[part] += found.reshape(groups, out // groups, -1, count).transpose(2, 0, 1, 3)
    return y.reshape(y_shape)


def _parts(n: int, size: int) -> list[slice]:
    """``n`` of something in parts, of which each lays out a block; ``size`` numbers are laid out for one."""
    step = max(1, _BLOCK // size)
    return [slice(start, start + step) for start in range(0, n, step)]


def _by_scattering(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    _, padding, spread, dilation, groups = window
    n, channels, *space = x.shape
    out, inner, *offsets = kernel.shape
    grouped = kernel.reshape(groups, out // groups, inner, -1)
    matrix = np.ascontiguousarray(grouped.swapaxes(2, 3)).reshape(groups, -1, inner)
    reach = [(k - 1) * apart for k, apart in zip(offsets, dilation, strict=True)]
    spans = [(m - 1) * apart + 1 for m, apart in zip(space, spread, strict=True)]
    whole = np.zeros((n, out, *[span + far for span, far in zip(spans, reach, strict=True)]), x.dtype)
    pitches = _pitches(whole.shape[2:])
    run = _run(tuple(space), pitches) if _is_one(spread) else 0
    # Where the products with each element of the kernel belong, the last element first.
    firsts = [
        [far - i * apart for i, far, apart in zip(at, reach, dilation, strict=True)]
        for at in product(*map(range, offsets))
    ]
    if run and run <= _WASTE * math.prod(space):
        images = np.zeros((n, channels, run), x.dtype)
        _show(images, x.shape, (channels * run, run, *pitches))[...] = x
        target = whole.reshape(n, out, -1)
        shifts = [sum(_times(tuple(first), pitches)) for first in firsts]
        targets: list[Any] = [(..., slice(shift, shift + run)) for shift in shifts]
        shape: Sizes = (run,)
    else:
        images, target, shape = x, whole, tuple(space)
        targets = [
            (..., *[slice(low, low + span, apart) for low, span, apart in zip(first, spans, spread, strict=True)])
            for first in firsts
        ]
    count = math.prod(shape)
    for part in _parts(n, out * len(targets) * count):
        some = images[part]
        pieces = _product(matrix, some.reshape(len(some), groups, inner, count))
        pieces = pieces.reshape(len(some), out, len(targets), *shape)
        for i, where in enumerate(targets):
            target[part][where] += pieces[:, :, i]
    return _padded(whole, tuple([(low - far, high - far) for (low, high), far in zip(padding, reach, strict=True)]))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of stacks of matrices; NumPy multiplies half precision of ml_dtypes' as float32."""
    y = np.matmul(a, b)
    return y if y.dtype == a.dtype else y.astype(a.dtype)


def _padded(x: np.ndarray, padding: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Zeros around the space of an image, or less of it."""
    if any(low < 0 or high < 0 for low, high in padding):
        x = x[
            (
                ...,
                *[slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(x.shape[2:], padding, strict=True)],
            )
        ]
    if not any(low > 0 or high > 0 for low, high in padding):
        return x
    around = [(max(low, 0), max(high, 0)) for low, high in padding]
    wide = np.zeros(
        (*x.shape[:2], *[n + low + high for n, (low, high) in zip(x.shape[2:], around, strict=True)]), x.dtype
    )
    wide[(..., *[slice(low, low + n) for n, (low, _) in zip(x.shape[2:], around, strict=True)])] = x
    return wide


def _spread_out(x: np.ndarray, spread: Sizes) -> np.ndarray:
    """Zeros between the elements of an image."""
    wide = np.zeros(
        (*x.shape[:2], *[(n - 1) * apart + 1 for n, apart in zip(x.shape[2:], spread, strict=True)]), x.dtype
    )
    wide[(..., *[slice(None, None, apart) for apart in spread])] = x
    return wide
