"""How the result of a primitive lies on a mesh with explicit axes, where JAX cannot tell and asks.

A layout names for each axis of an array the axes of the mesh over which it is spread, or ``None``. A sum over a spread
axis is added up across devices; what remains stays spread as it is in the operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Spread(NamedTuple):
    """An operand: its shape and layout."""

    shape: tuple[int, ...]
    layout: tuple[Any, ...]


def result_layout(name: str, operands: Sequence[Spread], params: dict, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The layout of a result of this shape."""
    rule = _RULES.get(name)
    wanted = _aligned(operands, shape) if rule is None else rule(*operands, **params)
    return _once(wanted)


def _aligned(operands: Sequence[Spread], shape: tuple[int, ...]) -> list[Any]:
    """Each axis as the axis of its length that stands there in an operand, counted from the end or from the start."""
    return [next(_candidates(operands, shape, i), None) for i in range(len(shape))]


def _candidates(operands: Sequence[Spread], shape: tuple[int, ...], i: int) -> Iterator[Any]:
    for last in (True, False):
        for x in operands:
            j = i + len(x.shape) - len(shape) if last else i
            if 0 <= j < len(x.shape) and x.shape[j] == shape[i] and x.layout[j] is not None:
                yield x.layout[j]


def _once(layout: Iterable[Any]) -> tuple[Any, ...]:
    """The layout with each axis of the mesh in the first of its places."""
    used: set[str] = set()
    found = []
    for entry in layout:
        names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        found.append(None if used.intersection(names) else entry)
        used.update(names)
    return tuple(found)


def _dot_general(a: Spread, b: Spread, *, contract: Any, batch: Any) -> list[Any]:
    shared = [a.layout[i] or b.layout[j] for i, j in zip(*batch, strict=True)]
    kept = [
        entry
        for x, summed, mapped in zip((a, b), contract, batch, strict=True)
        for i, entry in enumerate(x.layout)
        if i not in summed and i not in mapped
    ]
    return [*shared, *kept]


def _matmul(a: Spread, b: Spread) -> list[Any]:
    stacks = [Spread(x.shape[:-2], x.layout[:-2]) for x in (a, b)]
    longest = max(stacks, key=lambda x: len(x.shape)).shape
    stack = [next(_candidates(stacks, longest, i), None) for i in range(len(longest))]
    rows = a.layout[-2:-1] if len(a.shape) > 1 else ()
    columns = b.layout[-1:] if len(b.shape) > 1 else ()
    return [*stack, *rows, *columns]


_RULES = {
    "dot_general": _dot_general,
    "matmul": _matmul,
    "affine": lambda x, weight, bias: [x.layout[0], weight.layout[0]],
    "inner": lambda a, b, *, scale: [],
}
