"""How the result of a primitive lies on a mesh with explicit axes, where JAX cannot tell and asks.

A layout names for each axis of an array the axes of the mesh over which it is spread, or ``None``. A sum over a spread
axis is added up across devices; what remains stays spread as it is in the operands.
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
    """Each axis as the axis of its length that stands there in an operand, counted from the end or from the start."""
    return [next(candidates(operands, shape, i), None) for i in range(len(shape))]


def _once(layout: Iterable[Any]) -> tuple[Any, ...]:
    """The layout with each axis of the mesh in the first of its places."""
    used: set[str] = set()
    found = []
    for entry in layout:
        names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        found.append(None if used.intersection(names) else entry)
        used.update(names)
    return tuple(found)
