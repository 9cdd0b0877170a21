"""NumPy's objects that make arrays of what stands in their brackets."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._types import Key
from funcgrad.jax._array import arrays, plain
from funcgrad.tree import map as tree_map


class _Grid:
    """One of NumPy's objects, with JAX's arrays."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __getitem__(self, key: Key) -> Any:
        return arrays(self._made[tree_map(plain, key) if isinstance(key, tuple) else plain(key)])


c_, mgrid, ogrid, r_ = map(_Grid, (np.c_, np.mgrid, np.ogrid, np.r_))
