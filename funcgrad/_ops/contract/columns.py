"""Convolution in NumPy by matrix products.

*Gathering* copies the inputs of each position of the result into a column of a matrix (Chellapilla, Puri and Simard,
"High performance convolutional neural networks for document processing", 2006). *Scattering* multiplies first and adds
each product to its position. Scattering is less work if the result has fewer channels, and multiplies no zeros if the
elements of the image have gaps.

Both copy or add rows, and the rows of small images are short. If neighbours are adjacent in memory, a whole image is
one row (a *run*), and an element of the kernel is a shift of it. The run contains numbers between the end of a row and
the beginning of the next. They are computed and dropped, or multiplied by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from funcgrad._core.threads import each, workers
from funcgrad._types import Array

# Numbers in a block of the matrix, which should stay in cache until BLAS has read it.
_BLOCK = 1 << 16
# Products that are added back at once. Each element of the kernel needs one call of 2 us.
_ADDED = 1 << 19
# Columns of a product that give BLAS its full speed.
_COLUMNS = 256
# Columns of a matrix for a single image.
_SHORT = 32
# OpenBLAS computes products of fewer multiplications in the calling thread (its ``interface/gemm.c``: a second thread
# is for twice GEMM_MULTITHREAD_THRESHOLD * SMP_THRESHOLD_MIN). So several threads of ours can call it at once.
_SHARED = 1 << 19
# Adding costs this many times as much as copying, because it also reads.
_ADDING = 1.5
# A run may be at most this many times as long as the part that counts.
_WASTE = 2

Sizes = tuple[int, ...]


def conv_numpy(x: Array, kernel: Array, *, window: Any) -> np.ndarray:
    """Run ``conv`` on NumPy arrays; ``window`` is a `Window`."""
    strides, padding, spread, *_ = window
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    y_shape = (x.shape[0], kernel.shape[0], *lengths)
    if not (x.size and kernel.size and math.prod(y_shape)):
        return np.zeros(y_shape, x.dtype)
    has_gaps = not _is_one(spread)
    laid_out = x.shape[1] * math.prod(lengths)
    added = kernel.shape[0] * math.prod(x.shape[2:])
    # Scattering calls NumPy once for each element of the kernel.
    is_short = math.prod(kernel.shape[2:]) <= math.prod(lengths)
    if _is_one(strides) and is_short and (has_gaps or _ADDING * added < laid_out):
        return _by_scattering(x, kernel, window, y_shape)
    if has_gaps:
        x = _spread_out(x, spread)
    x = np.ascontiguousarray(_padded(x, padding))
    # Choose the longer rows, which are copied faster. BLAS also takes a transposed matrix.
    gather = _by_places if lengths[-1] < kernel.shape[-1] else _by_offsets
    return gather(x, kernel, window, y_shape)


def _is_one(steps: Sizes) -> bool:
    return all(step == 1 for step in steps)


def _pitches(lengths: Sizes) -> Sizes:
    """Return the distance in memory between neighbours along each axis."""
    return tuple([math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))])


def _run(counts: Sizes, pitches: Sizes) -> int:
    """Return the length in memory from the first element of a part of an image to its last."""
    return sum([(count - 1) * pitch for count, pitch in zip(counts, pitches, strict=True)]) + 1


def _times(steps: Sizes, pitches: Sizes) -> Sizes:
    return tuple([step * pitch for step, pitch in zip(steps, pitches, strict=True)])


def _show(x: np.ndarray, shape: Sizes, steps: Sizes) -> np.ndarray:
    """Return a view with these strides, in elements."""
    return as_strided(x, shape, [step * x.itemsize for step in steps])


def _by_offsets(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    """Gather with one row of the matrix for each channel and element of the kernel."""
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
        (n, groups, inner, *offsets, *shape),
        (channels * area, inner * area, area, *_times(dilation, pitches), *steps),
    )
    matrix = kernel.reshape(groups, out // groups, rows)
    y = np.empty(y_shape, x.dtype)
    alone = _is_small(count, matrix[0].size * count)

    def compute(part: slice) -> None:
        read = seen[part]
        some = len(read)
        if alone:
            found = _product(matrix, np.ascontiguousarray(read).reshape(some, groups, rows, count))
            far = out * count, count
        else:
            columns = np.ascontiguousarray(np.moveaxis(read, 0, 2 + len(offsets)))
            found = _product(matrix, columns.reshape(groups, rows, some * count))
            far = count, some * count
        y[part] = _show(found, (some, out, *places), (*far, *(pitches if as_run else _pitches(places))))

    _compute(compute, n, groups * rows * count, alone)
    return y


def _by_places(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    """Gather with one row of the matrix for each position of the result, for kernels as large as the image."""
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
    area, count, length = math.prod(space), math.prod(places), math.prod(shape)
    # The channels of a group come first. In the derivative by a kernel, they are the images of the batch, which are
    # summed.
    seen = _show(
        x,
        (inner, groups, n, *places, *shape),
        (area, inner * area, channels * area, *_times(strides, pitches), *steps),
    )
    matrices = kernel.reshape(groups, out // groups, inner, length)
    if _is_small(length, n * count * length * out // groups):
        found = np.empty((inner, groups, n * count, out // groups), x.dtype)

        def compute(part: slice) -> None:
            columns = np.ascontiguousarray(seen[part]).reshape(-1, groups, n * count, length)
            found[part] = _product(columns, matrices[:, :, part].transpose(2, 0, 3, 1))

        _compute(compute, inner, groups * n * count * length, True)
        y = found.sum(0, dtype=x.dtype).reshape(groups, n, count, out // groups)
        return np.ascontiguousarray(y.transpose(1, 0, 3, 2)).reshape(y_shape)
    y = np.zeros((groups, n, count, out // groups), x.dtype)
    # The sum has more terms than a block holds.
    for part in _parts(n, groups * count * (_BLOCK // _COLUMNS)):
        for some in _parts(inner, groups * count * length * len(range(n)[part])):
            read = np.moveaxis(seen[some, :, part], 0, 2 + len(places))
            matrix = matrices[:, :, some].reshape(groups, out // groups, -1).swapaxes(1, 2)
            found = _product(np.ascontiguousarray(read).reshape(groups, -1, matrix.shape[1]), matrix)
            y[:, part] += found.reshape(groups, -1, count, out // groups)
    return np.ascontiguousarray(y.transpose(1, 0, 3, 2)).reshape(y_shape)


def _parts(n: int, size: int, block: int = _BLOCK, shares: int = 1) -> list[slice]:
    """Return slices of ``n`` items, each of a block's size; one item takes ``size`` numbers."""
    step = max(1, min(block // size, -(-n // shares)))
    return [slice(start, start + step) for start in range(0, n, step)]


def _is_small(length: int, products: int) -> bool:
    """Return whether a matrix per image is long enough for BLAS, and too small for BLAS to use several threads."""
    return length >= _SHORT and products < _SHARED


def _compute(compute: Callable[[slice], None], n: int, size: int, alone: bool, block: int = _BLOCK) -> None:
    """Compute the parts of a batch, in several threads if BLAS stays in the calling thread."""
    # A share smaller than a block would be done before another thread has started.
    shares = min(workers(), n * size // _BLOCK)
    if alone and shares > 1:
        each(compute, _parts(n, size, block, shares))
    else:
        for part in _parts(n, size, block):
            compute(part)


def _by_scattering(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    _, padding, spread, dilation, groups = window
    n, channels, *space = x.shape
    out, inner, *offsets = kernel.shape
    grouped = kernel.reshape(groups, out // groups, inner, -1)
    matrix = np.ascontiguousarray(grouped.swapaxes(2, 3)).reshape(groups, -1, inner)
    reach = [(k - 1) * step for k, step in zip(offsets, dilation, strict=True)]
    spans = [(m - 1) * step + 1 for m, step in zip(space, spread, strict=True)]
    whole = np.zeros((n, out, *[span + far for span, far in zip(spans, reach, strict=True)]), x.dtype)
    pitches = _pitches(whole.shape[2:])
    run = _run(tuple(space), pitches) if _is_one(spread) else 0
    # The positions of the products with each element of the kernel, the last element first.
    firsts = [
        [far - i * step for i, far, step in zip(at, reach, dilation, strict=True)]
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
            (..., *[slice(low, low + span, step) for low, span, step in zip(first, spans, spread, strict=True)])
            for first in firsts
        ]
    count = math.prod(shape)

    def compute(part: slice) -> None:
        some = images[part]
        pieces = _product(matrix, some.reshape(len(some), groups, inner, count))
        pieces = pieces.reshape(len(some), out, len(targets), *shape)
        within = target[part]
        for i, where in enumerate(targets):
            view = within[where]
            np.add(view, pieces[:, :, i], view)

    _compute(compute, n, out * len(targets) * count, matrix[0].size * count < _SHARED, _ADDED)
    return _padded(whole, tuple([(low - far, high - far) for (low, high), far in zip(padding, reach, strict=True)]))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of stacks of matrices; NumPy multiplies ml_dtypes' half precision as float32."""
    y = np.matmul(a, b)
    return y if y.dtype == a.dtype else y.astype(a.dtype)


def _padded(x: np.ndarray, padding: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Return an image with zeros around it; negative padding cuts it."""
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
    """Return an image with zeros between its elements."""
    wide = np.zeros((*x.shape[:2], *[(n - 1) * step + 1 for n, step in zip(x.shape[2:], spread, strict=True)]), x.dtype)
    wide[(..., *[slice(None, None, step) for step in spread])] = x
    return wide
