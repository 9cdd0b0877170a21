"""Plain arrays that a tape or a graph keeps: who holds them may write to them before the derivative reads them.

NumPy tells nobody of a write. So small arrays are copied. Of large ones, where a copy can cost ten times what the
operation does (a matrix that each step of a loop multiplies by), the bits are summed up in a mark, once for each array
and tape, and again before they are read.
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad.errors import OverwrittenError

# In bytes: up to here a copy takes a quarter of a microsecond.
SMALL = 4096
# In bytes: up to here all bits go into a mark, in a microsecond; beyond, so many words.
_WHOLE = 1 << 16
_SAMPLES = 256


class Watched:
    """The large arrays that one trace keeps, with their marks."""

    __slots__ = ("_marks", "_transform")

    def __init__(self, transform: str) -> None:
        self._transform = transform
        self._marks: dict[int, tuple[np.ndarray, bytes]] = {}

    def keep(self, x: np.ndarray) -> np.ndarray:
        """The array itself, which is watched from now on; of objects, a copy."""
        if x.dtype.hasobject:
            return x.copy()
        # The array is held, so that no other one can have its identity.
        if id(x) not in self._marks:
            self._marks[id(x)] = x, mark_of(x)
        return x

    def check(self) -> None:
        """Refuse to read arrays that were written to.

        Raises:
            OverwrittenError: one was.
        """
        for x, mark in self._marks.values():
            if mark_of(x) != mark:
                raise OverwrittenError(
                    f"{self._transform}: an array {aval_of(x)} of plain numbers was written to after an operation on "
                    "traced values had used it, and the derivative needs the numbers that it held then. Make a new "
                    "array (c = c * 2 instead of c *= 2), or let the operation use a copy (x * c.copy())."
                )


def mark_of(x: np.ndarray) -> bytes:
    """What differs after a write: bits added without carry, and some as they are, for what changes places.

    Of an array of more than 64 KiB it is every n-th word, so a write to few elements may go unnoticed.
    """
    if not x.flags.c_contiguous:
        x = x.T if x.flags.f_contiguous else x.copy()
    flat = x.reshape(-1)
    rest = b""
    if flat.itemsize != 8:
        flat = flat.view(np.uint8)
        whole = flat.size // 8 * 8
        flat, rest = flat[:whole], flat[whole:].tobytes()
    words = flat.view(np.uint64)
    samples = words[:: words.size // _SAMPLES | 1].tobytes() + rest
    return np.bitwise_xor.reduce(words).tobytes() + samples if x.nbytes <= _WHOLE else samples
