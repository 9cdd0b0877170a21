"""Convolution in NumPy by matrix products.

*Gathering* copies the inputs of each position of the result into a column of a matrix (Chellapilla, Puri and Simard,
"High performance convolutional neural networks for document processing", 2006). *Scattering* multiplies first and adds
each product to its position. Scattering is less work if the result has fewer channels, and multiplies no zeros if the
elements of the image have gaps.

NumPy copies and adds short rows slowly, and the rows of small images are short. So each row is first copied once for
each element of the kernel's last axis, and only for the positions of the result. The rows of these copies are
neighbours in memory. All further copies and additions are of whole images.
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
_BLOCK = 1 << 18
# Numbers that another thread should have at least. Fewer would be computed before it has started.
_SHARE = 1 << 16
# Products that are added back at once. Each element of the kernel needs one call of 2 us.
_ADDED = 1 << 19
# Columns of a product that give BLAS its full speed.
_COLUMNS = 256
# Columns of a matrix for a single image.
_SHORT = 32
# OpenBLAS computes products of fewer multiplications in the calling thread (its ``interface/gemm.c``: a second thread
# is for twice GEMM_MULTITHREAD_THRESHOLD * SMP_THRESHOLD_MIN). So several threads of ours can call it at once.
_SHARED = 1 << 19
# Numbers of the columns that are kept for the backward pass at most. More would have left the cache until then, and a
# network of many layers would keep all of them.
_KEPT = 1 << 20
# Adding costs this many times as much as copying, because it also reads.
_ADDING = 1.5

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
        return _by_scattering(x, kernel, window)
    if has_gaps:
        x = _spread_out(x, spread)
    # Choose the longer rows, which are copied faster. BLAS also takes a transposed matrix.
    gather = _by_places if lengths[-1] < kernel.shape[-1] else _by_offsets
    return gather(_padded(x, padding), kernel, window, y_shape)


def _is_one(steps: Sizes) -> bool:
    return all(step == 1 for step in steps)


def _times(steps: Sizes, strides: Sizes) -> Sizes:
    return tuple([step * stride for step, stride in zip(steps, strides, strict=True)])


def _rows(x: np.ndarray, lead: int, outer: tuple[int, int], inner: tuple[int, int]) -> np.ndarray:
    """Return copies of the rows of images, ``[..., outer, *others, inner]``, after ``lead`` leading axes.

    The element at ``i`` and ``j`` of a row is ``row[i * step_of_outer + j * step_of_inner]``; each pair is a length
    and a step.
    """
    (count, far), (length, near) = outer, inner
    last = x.strides[-1]
    shape = (*x.shape[:lead], count, *x.shape[lead:-1], length)
    return np.ascontiguousarray(as_strided(x, shape, (*x.strides[:lead], far * last, *x.strides[lead:-1], near * last)))


def _windows(x: np.ndarray, outer: Sizes, far: Sizes, inner: Sizes, near: Sizes) -> np.ndarray:
    """Return a view of the images ``x[..., *space]``, or of a copy: ``[..., *outer, *inner]``.

    The element at ``i`` and ``j`` is ``x[..., i * far + j * near]``.
    """
    lead = x.ndim - len(outer)
    ends = far[-1] * x.strides[-1], near[-1] * x.strides[-1]
    others = x.strides[lead:-1]
    if math.prod(outer[:-1]) > 1:
        x = _rows(x, lead, (outer[-1], far[-1]), (inner[-1], near[-1]))
        ends, others = (x.strides[lead], x.strides[-1]), x.strides[lead + 1 : -1]
    steps = (*_times(far[:-1], others), ends[0], *_times(near[:-1], others), ends[1])
    return as_strided(x, (*x.shape[:lead], *outer, *inner), (*x.strides[:lead], *steps))


def keeps_columns(x: np.ndarray, kernel: np.ndarray, window: Any) -> bool:
    """Return whether `conv_and_columns` computes a convolution: its columns are few, and long enough for BLAS."""
    places = window.lengths(x.shape[2:], kernel.shape[2:])
    count = math.prod(places)
    return (
        _is_one(window.spread)
        and kernel.shape[-1] <= places[-1]
        and 0 < len(x) * window.groups * math.prod(kernel.shape[1:]) * count <= _KEPT
        and _is_small(count, kernel.size // window.groups * count)
    )


def conv_and_columns(x: np.ndarray, kernel: np.ndarray, window: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the convolution, and its columns ``[batch, groups, in / groups * offsets, places]``."""
    places = window.lengths(x.shape[2:], kernel.shape[2:])
    columns = np.empty((len(x), window.groups, math.prod(kernel.shape[1:]), math.prod(places)), x.dtype)
    y_shape = (len(x), len(kernel), *places)
    return _by_offsets(_padded(x, window.padding), kernel, window, y_shape, columns), columns


def kernel_bar_of(y_bar: np.ndarray, columns: np.ndarray, kernel_shape: Sizes) -> np.ndarray:
    """Return the kernel's cotangent, the sum of an image's product over the batch."""
    n, groups, rows, count = columns.shape
    bars = y_bar.reshape(n, groups, -1, count).swapaxes(2, 3)
    found = np.empty((n, groups, rows, bars.shape[-1]), columns.dtype)

    def compute(part: slice) -> None:
        _product(columns[part], bars[part], found[part])

    _compute(compute, n, columns[0].size, True)
    return found.sum(0).swapaxes(1, 2).reshape(kernel_shape)


def _by_offsets(
    x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes, kept: np.ndarray | None = None
) -> np.ndarray:
    """Gather with one row of the matrix for each channel and element of the kernel; fill ``kept`` with the columns."""
    strides, _, _, dilation, groups = window
    out, inner, *offsets = kernel.shape
    n, places = len(x), y_shape[2:]
    rows, count = inner * math.prod(offsets), math.prod(places)
    matrix = kernel.reshape(groups, out // groups, rows)
    y = np.empty((n, groups, out // groups, count), x.dtype)
    alone = _is_small(count, matrix[0].size * count)

    def compute(part: slice) -> None:
        read = _windows(x[part], tuple(offsets), dilation, places, strides)
        if kept is not None:
            kept[part].reshape(read.shape)[...] = read
            _product(matrix, kept[part], y[part])
        elif alone:
            columns = np.ascontiguousarray(read).reshape(-1, groups, rows, count)
            _product(matrix, columns, y[part])
        else:
            columns = np.ascontiguousarray(np.moveaxis(read, 0, 1 + len(offsets)))
            found = _product(matrix, columns.reshape(groups, rows, -1))
            y[part] = np.moveaxis(found.reshape(groups, out // groups, -1, count), 2, 0)

    _compute(compute, n, groups * rows * count, alone)
    return y.reshape(y_shape)


def _by_places(x: np.ndarray, kernel: np.ndarray, window: Any, y_shape: Sizes) -> np.ndarray:
    """Gather with one row of the matrix for each position of the result, for kernels as large as the image."""
    strides, _, _, dilation, groups = window
    n, _, *space = x.shape
    out, inner, *offsets = kernel.shape
    places = y_shape[2:]
    count, length = math.prod(places), math.prod(offsets)
    # The channels of a group come first. In the derivative by a kernel, they are the images of the batch, which are
    # summed.
    images = x.reshape(n, groups, inner, *space).swapaxes(0, 2)
    matrices = kernel.reshape(groups, out // groups, inner, length)
    if _is_small(length, n * count * length * out // groups):
        found = np.empty((inner, groups, n * count, out // groups), x.dtype)

        def compute(part: slice) -> None:
            read = _windows(images[part], places, strides, tuple(offsets), dilation)
            columns = np.ascontiguousarray(read).reshape(-1, groups, n * count, length)
            _product(columns, matrices[:, :, part].transpose(2, 0, 3, 1), found[part])

        _compute(compute, inner, groups * n * count * length, True)
        y = found.sum(0, dtype=x.dtype).reshape(groups, n, count, out // groups)
        return np.ascontiguousarray(y.transpose(1, 0, 3, 2)).reshape(y_shape)
    y = np.zeros((groups, n, count, out // groups), x.dtype)
    # The sum has more terms than a block holds.
    for part in _parts(n, groups * count * (_BLOCK // _COLUMNS)):
        for some in _parts(inner, groups * count * length * len(range(n)[part])):
            read = _windows(images[some, :, part], places, strides, tuple(offsets), dilation)
            columns = np.ascontiguousarray(np.moveaxis(read, 0, 2 + len(places)))
            matrix = matrices[:, :, some].reshape(groups, out // groups, -1).swapaxes(1, 2)
            found = _product(columns.reshape(groups, -1, matrix.shape[1]), matrix)
            y[:, part] += found.reshape(groups, -1, count, out // groups)
    return np.ascontiguousarray(y.transpose(1, 0, 3, 2)).reshape(y_shape)


def _parts(n: int, size: int, block: int = _BLOCK, shares: int = 1) -> list[slice]:
    """Return slices of ``n`` items, each of a block's size; one item takes ``size`` numbers."""
    step = max(1, min(block // size, -(-n // shares)))
    return [slice(start, start + step) for start in range(0, n, step)]


def _is_small(length: int, products: int) -> bool:
    """Return whether a matrix per image is long enough for BLAS, and too small for BLAS to use several threads."""
    return length >= _SHORT and products < _SHARED


def _compute(compute: Callable[[slice], None], n: int, size: int, alone: bool = True, block: int = _BLOCK) -> None:
    """Compute the parts of a batch, in several threads if BLAS stays in the calling thread."""
    shares = min(workers(), n * size // _SHARE)
    if alone and shares > 1:
        each(compute, _parts(n, size, block, shares))
    else:
        for part in _parts(n, size, block):
            compute(part)


def _by_scattering(x: np.ndarray, kernel: np.ndarray, window: Any) -> np.ndarray:
    """Add the products to their positions, along all axes, or along all but the last one, which is gathered."""
    _, padding, spread, dilation, groups = window
    n, _, *space = x.shape
    out, inner, *offsets = kernel.shape
    taken, others = offsets[-1], math.prod(offsets[:-1])
    gathers = spread[-1] == 1 and taken * x.shape[1] + _ADDING * out * others < _ADDING * out * others * taken
    if gathers:
        x = _padded(x, (*[(0, 0)] * (len(space) - 1), padding[-1]))
        space[-1] = x.shape[-1] - (taken - 1) * dilation[-1]
        kernel = np.moveaxis(kernel, -1, 2)
        inner, offsets[-1], padding = inner * taken, 1, (*padding[:-1], (0, 0))
    grouped = kernel.reshape(groups, out // groups, inner, -1)
    matrix = np.ascontiguousarray(grouped.swapaxes(2, 3)).reshape(groups, -1, inner)
    reach = [(k - 1) * step for k, step in zip(offsets, dilation, strict=True)]
    spans = [(m - 1) * step + 1 for m, step in zip(space, spread, strict=True)]
    whole = np.zeros((n, out, *[span + far for span, far in zip(spans, reach, strict=True)]), x.dtype)
    # The positions of the products with each element of the kernel, the last element first.
    targets: list[Any] = [
        (
            ...,
            *[
                slice(far - i * gap, far - i * gap + span, step)
                for i, far, gap, span, step in zip(at, reach, dilation, spans, spread, strict=True)
            ],
        )
        for at in product(*map(range, offsets))
    ]
    count = math.prod(space)

    def compute(part: slice) -> None:
        some = x[part]
        if gathers:
            some = _rows(some, 2, (taken, dilation[-1]), (space[-1], 1))
        pieces = _product(matrix, some.reshape(len(some), groups, inner, count))
        pieces = pieces.reshape(len(some), out, len(targets), *space)
        within = whole[part]
        for i, where in enumerate(targets):
            view = within[where]
            np.add(view, pieces[:, :, i], view)

    _compute(compute, n, out * len(targets) * count, matrix[0].size * count < _SHARED, _ADDED)
    return _padded(whole, tuple([(low - far, high - far) for (low, high), far in zip(padding, reach, strict=True)]))


def _product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return the product of stacks of matrices; NumPy multiplies ml_dtypes' half precision as float32."""
    if a.dtype.kind != "V":
        return np.matmul(a, b, out=out)
    y = np.matmul(a, b).astype(a.dtype)
    if out is None:
        return y
    out[...] = y
    return out


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
