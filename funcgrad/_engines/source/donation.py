"""Check donated arrays: each must be writeable, and no other argument may share its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np


class Donated:
    """Refuses donated arrays that a program must not write to. Called with the donated arrays, then all others.

    Args:
        names: the names of the arrays in messages, in this order; arrays after them are constants of the program.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self, donated: Sequence[np.ndarray], others: Sequence[Any]) -> None:
        seen: dict[int, list[tuple[int, np.ndarray]]] = {}
        foreign: list[tuple[int, np.ndarray]] = []
        for i, x in enumerate((*donated, *others)):
            if not isinstance(x, np.ndarray):
                continue
            if i < len(donated) and not (x.flags.writeable and (x.base is None or _has_no_overlap(x))):
                self._refuse(i, "It cannot be written to" if not x.flags.writeable else "Its elements overlap")
            owner = x
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            # NumPy did not allocate the memory of a foreign owner (a buffer, a mapped file), so two owners may share
            # memory.
            alike = seen.setdefault(id(owner), []) if owner.base is None else foreign
            for k, other in alike:
                if k < len(donated) and np.shares_memory(other, x):
                    self._refuse(k, f"It shares memory with {self._name(i)}")
            alike.append((i, x))

    def _name(self, i: int) -> str:
        return self._names[i] if i < len(self._names) else "an array that the function closes over"

    def _refuse(self, i: int, arrived: str) -> NoReturn:
        raise ValueError(
            f"jit: {self._name(i)} is donated, so the program writes into it. {arrived}; needed an array that can be "
            "written to, in memory that no other argument shares. Pass a copy of it, or leave it out of donate_argnums."
        )


def _has_no_overlap(x: np.ndarray) -> bool:
    """Return whether no two elements share memory. They can if the strides were chosen by hand (``as_strided``)."""
    if x.flags.forc or x.size == 0:
        return True
    room = x.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < room:
            return False
        room += stride * (n - 1)
    return True
