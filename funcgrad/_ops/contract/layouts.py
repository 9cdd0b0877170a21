"""The layouts of contractions on a mesh with explicit axes: remaining axes keep the sharding of the operands."""

from __future__ import annotations

from typing import Any

from funcgrad._core.spread import Spread, candidates


def dot_general_layout(a: Spread, b: Spread, *, contract: Any, batch: Any) -> list[Any]:
    """Return the layout of `dot_general`: the batch axes, then the axes of ``a`` that remain, then those of ``b``."""
    shared = [a.layout[i] or b.layout[j] for i, j in zip(*batch, strict=True)]
    kept = [
        entry
        for x, summed, mapped in zip((a, b), contract, batch, strict=True)
        for i, entry in enumerate(x.layout)
        if i not in summed and i not in mapped
    ]
    return [*shared, *kept]


def matmul_layout(a: Spread, b: Spread) -> list[Any]:
    """Return the layout of ``a @ b``: the stack's axes, the rows of ``a``, the columns of ``b``."""
    stacks = [Spread(x.shape[:-2], x.layout[:-2]) for x in (a, b)]
    longest = max(stacks, key=lambda x: len(x.shape)).shape
    stack = [next(candidates(stacks, longest, i), None) for i in range(len(longest))]
    rows = a.layout[-2:-1] if len(a.shape) > 1 else ()
    columns = b.layout[-1:] if len(b.shape) > 1 else ()
    return [*stack, *rows, *columns]


def affine_layout(x: Spread, weight: Spread, bias: Spread) -> list[Any]:
    """Return the layout of ``x @ weight.T + bias``: the rows of ``x``, the rows of ``weight``."""
    del bias
    return [x.layout[0], weight.layout[0]]
