"""Many small parameters stepped as one: packed in the state, or for the time of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.rows import Rows
from funcgrad._ops.split import join, split
from funcgrad.optim._run.leaf import Leaf, Stepper
from funcgrad.tree import Packed

# NumPy arrays up to this size are packed for a step where there are so many of a kind: what a step costs beyond its
# arithmetic (10 us) is then more than the copies.
SMALL = 1 << 16
MANY = 8


def step_packed(stepper: Stepper, given: Sequence[Leaf], packed: Packed, results: list[Any]) -> Packed:
    """Step the parameters whose buffers lie packed in the state; returns the new buffers, packed alike."""
    layout = packed.layout
    holders = [i for i, leaf in enumerate(given) if leaf.buffer is not None]
    arrays = []
    for array, members, shapes in zip(packed.arrays, layout.members, layout.shapes, strict=True):
        numbers = [holders[k] for k in members]
        leaves = [given[i] for i in numbers]
        if _alike(leaves):
            p, buffer = _step_together(stepper, numbers, leaves, array)
            for i, part in zip(numbers, split(p, shapes), strict=True):
                results[i] = part, None, None
        else:
            for i, leaf in zip(numbers, leaves, strict=True):
                results[i] = stepper.step(i, leaf)
            buffer = join([results[i][1] for i in numbers])
        arrays.append(buffer)
    return Packed(tuple(arrays), layout)


def _step_together(stepper: Stepper, numbers: Sequence[int], leaves: Sequence[Leaf], buffer: Any) -> tuple[Any, Any]:
    gradients = [stepper.conformed(i, leaf.g, leaf.p) for i, leaf in zip(numbers, leaves, strict=True)]
    first = leaves[0]
    return stepper.step_flat(join([leaf.p for leaf in leaves]), join(gradients), buffer, first.keep, first.hyper)


def _alike(leaves: Sequence[Leaf]) -> bool:
    """Whether one step serves all: each has a gradient, and hyperparameters and stage are the same."""
    _, _, _, _, keep, hyper = leaves[0]
    return all(
        leaf.g is not None and type(leaf.g) is not Rows and leaf.hyper is hyper and _same_keep(leaf.keep, keep)
        for leaf in leaves
    )


def _same_keep(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) is float and x == y)


def step_small(stepper: Stepper, given: Sequence[Leaf], results: list[Any]) -> None:
    """Step small NumPy arrays together where there are many of a kind; the others are left."""
    if len(given) < MANY:
        return
    groups: dict[Any, list[int]] = {}
    for i, leaf in enumerate(given):
        p, g = leaf.p, leaf.g
        if type(p) is type(g) is np.ndarray and p.size <= SMALL and leaf.master is None and leaf.hyper.known:
            kind = p.dtype, id(leaf.hyper), leaf.keep, type(leaf.buffer)
            groups.setdefault(kind, []).append(i)
    for (_, _, keep, kind), numbers in groups.items():
        if len(numbers) >= MANY and type(keep) in (float, type(None)) and kind in (np.ndarray, type(None)):
            _step_small(stepper, numbers, [given[i] for i in numbers], results)


def _step_small(stepper: Stepper, numbers: Sequence[int], leaves: Sequence[Leaf], results: list[Any]) -> None:
    buffer = None if leaves[0].buffer is None else join([leaf.buffer for leaf in leaves])
    p, buffer = _step_together(stepper, numbers, leaves, buffer)
    shapes = tuple([leaf.p.shape for leaf in leaves])
    parts = split(p, shapes)
    buffers = [None] * len(parts) if buffer is None else split(buffer, shapes)
    for i, part, part_buffer in zip(numbers, parts, buffers, strict=True):
        results[i] = part, part_buffer, None
