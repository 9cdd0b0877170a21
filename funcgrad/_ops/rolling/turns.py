"""Find rows of several arrays that come in turns: ``a[0], b[0], a[1], b[1], a[2], b[2], ...``.

Odd and even rounds of a loop stack their results in two arrays, and so does a loop that fills two columns of an array.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from funcgrad._core.graph.ir import Operand

# The most arrays that are looked for, and the least number of turns.
_MOST_ARRAYS = 8
_LEAST_TURNS = 4


def rows_in_turns(parts: Sequence[Operand], rows: Any, start: int) -> tuple[int, int]:
    """Return how many arrays come in turns from ``start`` on, and the end of the last whole turn; 0 if none do.

    Args:
        parts: the operands.
        rows: gives the row that an operand is, or ``None``.
        start: the number of the first operand.
    """
    if rows.get(parts[start]) is None:
        return 0, start
    for count in range(2, min(_MOST_ARRAYS, (len(parts) - start) // _LEAST_TURNS) + 1):
        turns = _turns(parts, rows, start, count)
        if turns >= _LEAST_TURNS:
            return count, start + turns * count
    return 0, start


def _turns(parts: Sequence[Operand], rows: Any, start: int, count: int) -> int:
    """Return how many turns of ``count`` arrays begin at ``start``."""
    first: list[Any] = [row for x in parts[start : start + count] if (row := rows.get(x)) is not None]
    if len(first) < count:
        return 1
    steps: list[tuple[int, ...]] = []
    before, turns = first, 1
    while start + (turns + 1) * count <= len(parts):
        now = [rows.get(x) for x in parts[start + turns * count : start + (turns + 1) * count]]
        if any(b is None or b.base is not a.base or b.pattern != a.pattern for a, b in zip(before, now, strict=True)):
            break
        moved = [tuple(map(operator.sub, b.key, a.key)) for a, b in zip(before, now, strict=True)]
        steps = steps or moved
        if moved != steps or any(sum(map(bool, step)) != 1 for step in steps):
            break
        before, turns = now, turns + 1
    return turns
