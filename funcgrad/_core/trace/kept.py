"""Plain arrays that a tape or a graph keeps. The user may write to them before the derivative reads them.

NumPy does not report writes, so small arrays are copied. A copy of a large array can take ten times as long as the
operation (a matrix that each step of a loop multiplies by). Of a large array a checksum is computed, once for each
array and tape, and again before the array is read.
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad.errors import OverwrittenError

# In bytes: copying this much takes a quarter of a microsecond.
SMALL = 4096
# In bytes: the checksum of this much takes a microsecond. The checksum of a larger array reads this many words.
_WHOLE = 1 << 16
_SAMPLES = 256


class Watched:
    """The large arrays that one trace keeps, with their checksums."""

    __slots__ = ("_marks", "_transform")

    def __init__(self, transform: str) -> None:
        self._transform = transform
        self._marks: dict[int, tuple[np.ndarray, bytes]] = {}

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Return the array itself and watch it from now on; of an array of objects return a copy."""
        if x.dtype.hasobject:
            return x.copy()
        # The array is kept as well, so that no other array can get its id.
        if id(x) not in self._marks:
            self._marks[id(x)] = x, mark_of(x)
        return x

    def check(self) -> None:
        """Refuse to read arrays that were written to.

        Raises:
            OverwrittenError: an array was written to.
        """
        for x, mark in self._marks.values():
            if mark_of(x) != mark:
                raise OverwrittenError(
                    f"{self._transform}: an array {aval_of(x)} of plain numbers was written to after an operation on "
                    "traced values had used it, and the derivative needs the numbers that it held then. Make a new "
                    "array (c = c * 2 instead of c *= 2), or let the operation use a copy (x * c.copy())."
                )


def mark_of(x: np.ndarray) -> bytes:
    """Return a checksum that a write changes: the bits added without carry, and some words unchanged, which show swaps.

    For an array of more than 64 KiB it reads every n-th word, so a write to few elements may go unnoticed.
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
