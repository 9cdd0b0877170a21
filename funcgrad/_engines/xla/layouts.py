"""The sharding of a primitive's result on a mesh with explicit axes, where JAX cannot infer it and raises.

A layout names, for each axis of an array, the mesh axes over which it is sharded, or ``None``. A sum over a sharded
axis
is added up across devices; the other axes keep the sharding that they have in the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad._core.spread import Spread, candidates


def result_layout(
    rule: Callable[..., Any] | None, operands: Sequence[Spread], params: dict, shape: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return the layout of a result of this shape: by the primitive's own rule, or that of the operands' axes."""
    wanted = _aligned(operands, shape) if rule is None else rule(*operands, **params)
    return _once(wanted)


def _aligned(operands: Sequence[Spread], shape: tuple[int, ...]) -> list[Any]:
    """Give each axis the layout of an operand's axis of equal length at its position, from the end or the start."""
    return [next(candidates(operands, shape, i), None) for i in range(len(shape))]


def _once(layout: Iterable[Any]) -> tuple[Any, ...]:
    """Return the layout with each mesh axis kept at its first position only."""
    used: set[str] = set()
    found = []
    for entry in layout:
        names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        found.append(None if used.intersection(names) else entry)
        used.update(names)
    return tuple(found)
