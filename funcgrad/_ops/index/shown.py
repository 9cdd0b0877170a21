"""Views by integers that are not known yet: ``x[i]`` in a staged program, where NumPy returns a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.primitive import View
from funcgrad._core.trace.place import settled
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._types import Value


class ByNumbers:
    """One step from an array to a view by such an index. It is used like a view primitive with its parameters.

    Args:
        index: the static part of the index.
        arrays: traced integers without axes; their current values are kept.
    """

    __slots__ = ("arrays", "index", "view")

    def __init__(self, index: Index, arrays: tuple) -> None:
        self.index = index
        self.arrays = tuple(map(settled, arrays))
        # If an integer is not known, there is no buffer to write to.
        self.view = View(self._put, same_in_cotangents=False, numpy=self._laid_out)

    def __call__(self, x: Value) -> Any:
        return index_p(x, *self.arrays, index=self.index)

    def _put(self, x: Value, part: Value) -> Any:
        return scatter_set_p(x, part, *self.arrays, index=self.index)

    def _laid_out(self, x: np.ndarray) -> np.ndarray:
        """Return an array with the memory layout of the part, whichever part it is."""
        return x[tuple([0 if entry is SLOT else entry for entry in self.index.entries])]


def is_shown(shape: tuple[int, ...], index: Index) -> bool:
    """Return whether NumPy gives a view for an index whose arrays are integers, and not a number."""
    entries = index.entries
    numbers = sum(entry is SLOT or type(entry) is int for entry in entries)
    return 0 not in shape and (numbers < len(entries) or len(entries) < len(shape))
