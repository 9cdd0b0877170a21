"""Sharding of a step's results: each result gets the sharding of the array that it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from funcgrad._engines import on_several_devices
from funcgrad._ops.program.barrier import alike
from funcgrad.optim._run.leaf import Leaf, StepResult
from funcgrad.tree import Packed


def in_their_places(
    given: Sequence[Leaf], results: Sequence[StepResult], packs: Sequence[Packed], new_packs: Sequence[Packed]
) -> tuple[Sequence[StepResult], Sequence[Packed]]:
    """Return the results and packed slots of a step, each with the sharding of the array that it replaces."""
    if not on_several_devices():
        return results, new_packs
    before = [(leaf.p, *(leaf.slots if x.slots else ()), leaf.master) for leaf, x in zip(given, results, strict=True)]
    after = [(x.p, *x.slots, x.master) for x in results]
    arrays = [pack.arrays for pack in new_packs]
    moved = iter(alike([*chain(*after, *arrays)], [*chain(*before, *[pack.arrays for pack in packs])]))
    placed = [[next(moved) for _ in row] for row in after]
    return (
        [StepResult(row[0], tuple(row[1:-1]), row[-1]) for row in placed],
        [Packed(tuple([next(moved) for _ in pack.arrays]), pack.layout) for pack in new_packs],
    )
