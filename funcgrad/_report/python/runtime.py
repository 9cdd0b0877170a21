"""What stands in an exported file in the place of primitives that hold programs: these functions, as they are here.

A program is a function of flat arrays there that returns a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Step = Callable[..., list[Any]]


SLOT = object()


class Index:
    """What stands between the brackets, with room for index arrays."""

    def __init__(self, entries: tuple[Any, ...], unique: bool = False) -> None:
        self.entries = entries
        self.unique = unique

    @property
    def slots(self) -> int:
        """How many index arrays it takes."""
        return sum(entry is SLOT for entry in self.entries)

    def filled(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The entries with index arrays in the slots."""
        remaining = iter(arrays)
        return tuple([next(remaining) if entry is SLOT else entry for entry in self.entries])


def scan(*operands: Any, loop: tuple[Step, int, int, int, bool, Sequence[tuple[tuple[int, ...], Any]]]) -> list[Any]:
    """A loop over rows that carries values along."""
    step, constants, count, length, reverse, stacked = loop
    fixed, carry, xs = operands[:constants], operands[constants : constants + count], operands[constants + count :]
    stacks = [np.empty(shape, dtype) for shape, dtype in stacked]
    for t in reversed(range(length)) if reverse else range(length):
        ys = step(*fixed, *carry, *[x[t] for x in xs])
        carry = ys[:count]
        for stack, y in zip(stacks, ys[count:], strict=True):
            stack[t] = y
    return [*[np.array(y)[()] for y in carry], *stacks]


def while_loop(*operands: Any, loop: tuple[Step, Step, int, int]) -> list[Any]:
    """A loop as long as a condition holds."""
    condition, body, some, others = loop
    seen, fixed, carry = operands[:some], operands[some : some + others], operands[some + others :]
    while condition(*seen, *carry)[0]:
        carry = body(*fixed, *carry)
    return [np.array(y)[()] for y in carry]


def cond(pred: Any, *operands: Any, branches: tuple[Step, Step]) -> list[Any]:
    """One of two programs."""
    true, false = branches
    return [np.array(y)[()] for y in (true if pred else false)(*operands)]


def call(*operands: Any, graph: Step, **unread: None) -> list[Any]:
    """A program inside of another."""
    del unread
    return [np.array(y)[()] for y in graph(*operands)]


def bind(function: Callable[..., Any], operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """A primitive on values, of which there are plain ones only: its function."""
    return function(*operands, **params)


def together(tasks: Sequence[Callable[[], Any]]) -> None:
    """One after the other too."""
    for task in tasks:
        task()


def each(function: Callable[[Any], Any], items: Iterable[Any]) -> None:
    """One after the other, what the library gives to several cores."""
    for item in items:
        function(item)


def checked(x: Any, name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """An argument, if it is of the type that the file was written for."""
    y = np.asarray(x)
    if y.shape != shape or y.dtype != dtype:
        raise TypeError(f"{name} is {y.dtype}{list(y.shape)}; needed {dtype}{list(shape)}, which this was written for")
    return y if isinstance(x, np.ndarray) else y[()]


def number(x: Any, name: str, kind: type) -> Any:
    """A Python number among the arguments."""
    if (
        np.ndim(x)
        or not isinstance(x, (int, float, complex, np.generic))
        or not np.can_cast(type(x), kind, "same_kind")
    ):
        raise TypeError(f"{name} is a {type(x).__name__}; needed a Python {kind.__name__}, which this was written for")
    return kind(x)
