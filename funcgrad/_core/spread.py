"""The distribution of an array's elements over the devices of a mesh with explicit axes.

A layout names, for each axis of an array, the mesh axes over which it is sharded, or ``None``. A sum over a sharded
axis is added up across devices; the other axes keep the sharding that they have in the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Spread(NamedTuple):
    """The shape and layout of an operand."""

    shape: tuple[int, ...]
    layout: tuple[Any, ...]


def candidates(operands: Sequence[Spread], shape: tuple[int, ...], i: int) -> Iterator[Any]:
    """Yield the layouts of the operands' axes that axis ``i`` of a result of this shape may come from."""
    for last in (True, False):
        for x in operands:
            j = i + len(x.shape) - len(shape) if last else i
            if 0 <= j < len(x.shape) and x.shape[j] == shape[i] and x.layout[j] is not None:
                yield x.layout[j]


def result_layout(
    rule: Callable[..., Any] | None, operands: Sequence[Spread], params: dict, shape: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return the layout of a result of this shape: by the primitive's own rule, or that of the operands' axes.

    JAX cannot infer it on a mesh with explicit axes, and raises.
    """
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
