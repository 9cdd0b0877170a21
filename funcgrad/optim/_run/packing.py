"""Steps of many small parameters as one: packed in the state, or only during a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.index.rows import Rows
from funcgrad._ops.index.split import join, split
from funcgrad._types import Array
from funcgrad.optim._run.leaf import Leaf, Stepper, StepResult
from funcgrad.tree import Packed

# NumPy arrays up to this size are packed for a step if there are many of one kind: the cost of a separate step beyond
# its arithmetic (10 us) is then larger than the cost of the copies.
SMALL = 1 << 16
MANY = 8
_ARRAYS = frozenset({np.ndarray})


def step_packed(
    stepper: Stepper, given: Sequence[Leaf], packed: Sequence[Packed], results: list[Any]
) -> tuple[Packed, ...]:
    """Step the parameters whose slots are packed in the state, and return the new slots in the same packing."""
    layout = packed[0].layout
    holders = [i for i, leaf in enumerate(given) if leaf.slots]
    made = []
    for arrays, members, shapes in zip(
        zip(*[x.arrays for x in packed], strict=True), layout.members, layout.shapes, strict=True
    ):
        numbers = [holders[k] for k in members]
        leaves = [given[i] for i in numbers]
        if stepper.rule.elementwise and _alike(leaves):
            p, slots = _step_together(stepper, numbers, leaves, arrays)
            stepper.finish()
            for i, part in zip(numbers, split(p, shapes), strict=True):
                results[i] = StepResult(part, ())
        else:
            for i, leaf in zip(numbers, leaves, strict=True):
                results[i] = stepper.step(i, leaf)
            stepper.finish()
            slots = tuple([join(of_all) for of_all in zip(*[results[i].slots for i in numbers], strict=True)])
        made.append(slots)
    return tuple([Packed(arrays, layout) for arrays in zip(*made, strict=True)])


def _step_together(
    stepper: Stepper, numbers: Sequence[int], leaves: Sequence[Leaf], slots: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...]]:
    gradients = [stepper.conformed(i, leaf.g, leaf.p) for i, leaf in zip(numbers, leaves, strict=True)]
    first = leaves[0]
    return stepper.step_flat(Leaf(join([x.p for x in leaves]), join(gradients), slots, None, first.taken, first.row))


def _alike(leaves: Sequence[Leaf]) -> bool:
    """Return whether one step serves all leaves: each has a gradient, and all have equal hyperparameters and stages."""
    first = leaves[0]
    return all(
        leaf.g is not None and type(leaf.g) is not Rows and leaf.row is first.row and _same(leaf.taken, first.taken)
        for leaf in leaves
    )


def _same(x: Array, y: Array) -> bool:
    return x is y or (type(x) is type(y) is int and x == y)


def step_small(stepper: Stepper, given: Sequence[Leaf], results: list[Any]) -> None:
    """Step small NumPy arrays together if there are many of one kind; leave the others."""
    if len(given) < MANY or not stepper.rule.elementwise:
        return
    groups: dict[Any, list[int]] = {}
    for i, (p, g, slots, master, taken, row, into) in enumerate(given):
        if type(p) is type(g) is np.ndarray and p.size <= SMALL and row.known and master is None and into is None:
            # Scalar slots are not arrays.
            if not _ARRAYS.issuperset(map(type, slots)):
                continue
            kind = p.dtype, row, taken if taken is None or type(taken) is int else id(taken)
            groups.setdefault(kind, []).append(i)
    for numbers in groups.values():
        if len(numbers) >= MANY:
            _step_small(stepper, numbers, [given[i] for i in numbers], results)


def _step_small(stepper: Stepper, numbers: Sequence[int], leaves: Sequence[Leaf], results: list[Any]) -> None:
    slots = tuple([join(of_all) for of_all in zip(*[leaf.slots for leaf in leaves], strict=True)])
    p, slots = _step_together(stepper, numbers, leaves, slots)
    stepper.finish()
    shapes = tuple([leaf.p.shape for leaf in leaves])
    parts = zip(split(p, shapes), *[split(x, shapes) for x in slots], strict=True)
    for i, (part, *of_slots) in zip(numbers, parts, strict=True):
        results[i] = StepResult(part, tuple(of_slots))
