"""Functions that an exported file uses in place of primitives that hold programs; their source is copied into the file.

In the file, a program is a function of flat arrays that returns a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad._types import Value

Step = Callable[..., list[Any]]


SLOT = object()


class IndexEntries:
    """The entries of an index expression, with slots for index arrays."""

    def __init__(self, entries: tuple[Any, ...], unique: bool = False, windows: bool = False) -> None:
        self.entries = entries
        self.unique = unique
        self.windows = windows

    @property
    def slots(self) -> int:
        """Return the number of index arrays."""
        return sum(entry is SLOT for entry in self.entries)

    def filled(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Return the entries with index arrays in the slots."""
        remaining = iter(arrays)
        return tuple([next(remaining) if entry is SLOT else entry for entry in self.entries])


def scan(*operands: Any, loop: tuple[Step, int, int, int, bool, Sequence[tuple[tuple[int, ...], Any]]]) -> list[Any]:
    """Loop over rows, and carry values along."""
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
    """Loop as long as a condition holds."""
    condition, body, some, others = loop
    seen, fixed, carry = operands[:some], operands[some : some + others], operands[some + others :]
    while condition(*seen, *carry)[0]:
        carry = body(*fixed, *carry)
    return [np.array(y)[()] for y in carry]


def cond(pred: Any, *operands: Any, branches: tuple[Step, Step]) -> list[Any]:
    """Run one of two programs."""
    true, false = branches
    return [np.array(y)[()] for y in (true if pred else false)(*operands)]


def call(*operands: Any, graph: Step, **unread: None) -> list[Any]:
    """Run a program inside another."""
    del unread
    return [np.array(y)[()] for y in graph(*operands)]


def bind(function: Callable[..., Any], operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Call a primitive's function; in the file all values are plain."""
    return function(*operands, **params)


def together(tasks: Sequence[Callable[[], Any]]) -> None:
    """Run functions one after the other; the library may run them in threads."""
    for task in tasks:
        task()


def each(function: Callable[[Any], Any], items: Iterable[Any]) -> None:
    """Run a function for each item, one after the other; the library may use several cores."""
    for item in items:
        function(item)


def checked(x: Value, name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """Return an argument if it has the type that the file was written for; raise otherwise."""
    y = np.asarray(x)
    if y.shape != shape or y.dtype != dtype:
        raise TypeError(f"{name} is {y.dtype}{list(y.shape)}; needed {dtype}{list(shape)}, which this was written for")
    return y if isinstance(x, np.ndarray) else y[()]


def number(x: Value, name: str, kind: type) -> Any:
    """Return a Python number among the arguments, or raise."""
    if (
        np.ndim(x)
        or not issubclass(type(x), (int, float, complex, np.generic))
        or not np.can_cast(type(x), kind, "same_kind")
    ):
        raise TypeError(f"{name} is a {type(x).__name__}; needed a Python {kind.__name__}, which this was written for")
    return kind(x)
