"""The distribution of an array's elements over the devices of a mesh with explicit axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
