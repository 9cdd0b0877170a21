"""Add overlapping slices to zeros in one pass: the gradient of a stencil, `zeros; zeros[1:] += a; zeros[:-1] += b`.

The elements that all slices have are one loop, which reads all slices and writes each element once. The parts around
them, one before and one after along each axis, are zeros to which the slices are added one after another.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import Access, Apply, Matrices, Scalar, StridedView

# Sums of fewer elements take less time than the loops around take to build.
_LEAST = 256
# The axes of `accumulate`.
_AXES = 3

# For each axis, where a part begins and ends.
Box = tuple[tuple[int, int], ...]


def add_slices(w: Lowering, made: StridedView, zero: Scalar, pieces: Sequence[tuple[Any, Access]]) -> bool:
    """Write zeros plus slices to an array; return whether the slices overlap in most of it. Else nothing is written.

    Args:
        w: collects the steps.
        made: the array, whole.
        zero: the number.
        pieces: the index of each slice, and what is added there.
    """
    boxes = [_box(index, made.shape) for index, _ in pieces]
    found = [box for box in boxes if box is not None]
    if len(found) < max(2, len(pieces)) or math.prod(made.shape) < _LEAST:
        return False
    core = functools.reduce(_shared, found)
    if made.dtype.kind != "f" or len(core) > _AXES or 2 * _size(core) < math.prod(made.shape):
        return False
    values = [_spread(w.held(x), box) for box, (_, x) in zip(found, pieces, strict=True)]
    for part in _around(core, made.shape):
        w.steps.append(Apply(_shown(made, part), "{}", (zero,)))
        for x, box in zip(values, found, strict=True):
            both = _shared(box, part)
            if _size(both):
                _accumulate(w, _shown(made, both), _shown(x, both, box))
    total: Access = zero
    for x, box in zip(values, found, strict=True):
        total = w.applied("{} + {}", [total, _shown(x, core, box)], _lengths(core), made.dtype)
    w.steps.append(Apply(_shown(made, core), "{}", (total,)))
    return True


def _box(index: Any, shape: tuple[int, ...]) -> Box | None:
    """Return the part that an index of slices names; ``None`` for other indices."""
    entries = index.entries
    if any(type(entry) is not slice for entry in entries) or len(entries) > len(shape):
        return None
    found = [entry.indices(n) for entry, n in zip(entries, shape, strict=False)]
    if any(step != 1 for _, _, step in found):
        return None
    return (*[(a, max(a, b)) for a, b, _ in found], *[(0, n) for n in shape[len(entries) :]])


def _shared(a: Box, b: Box) -> Box:
    """Return the part that is in both of two parts."""
    return tuple([(max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b, strict=True)])


def _lengths(box: Box) -> tuple[int, ...]:
    return tuple([b - a for a, b in box])


def _size(box: Box) -> int:
    return math.prod([max(b - a, 0) for a, b in box])


def _around(core: Box, shape: tuple[int, ...]) -> list[Box]:
    """Return the parts around a part: they have all other elements, each once."""
    found: list[Box] = []
    for k, ((a, b), n) in enumerate(zip(core, shape, strict=True)):
        rest = tuple([(0, m) for m in shape[k + 1 :]])
        found += [(*core[:k], each, *rest) for each in ((0, a), (b, n))]
    return [box for box in found if _size(box)]


def _accumulate(w: Lowering, target: StridedView, x: StridedView) -> None:
    """Add an array to a part, by a function that all parts share: a loop for each would take long to compile."""
    missing = _AXES - len(target.shape)
    lengths, none = (*[1] * missing, *target.shape), [0] * missing
    numbers = (*lengths, *none, *x.strides, *none, *target.strides)
    w.steps.append(Matrices("accumulate", numbers, (x, target), (target,)))


def _spread(x: StridedView, box: Box) -> StridedView:
    """Return an operand in the shape of a part."""
    extra = max(len(x.shape) - len(box), 0)
    return x._replace(shape=x.shape[extra:], strides=x.strides[extra:]).spread(_lengths(box))


def _shown(x: StridedView, part: Box, box: Box | None = None) -> StridedView:
    """Return the elements of a part; ``x`` is the array, or the part ``box`` of it."""
    begins = [0] * len(part) if box is None else [a for a, _ in box]
    offset = sum((a - begin) * s for (a, _), begin, s in zip(part, begins, x.strides, strict=True))
    return StridedView(x.memory, x.offset + offset, _lengths(part), x.strides)
