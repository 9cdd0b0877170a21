"""Convert the arguments of layers and losses: arrays of any kind, lists and numbers.

Layers compute with the functions of ``funcgrad.numpy``, not with operators. The operators of a ``jax.Array`` are JAX's,
and they round float64 to float32 unless JAX's 64-bit mode is on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array
from funcgrad.numpy.extend import as_value, dtype_of

_PYTHON_NUMBERS = frozenset({bool, int, float})


def inexact(x: Array) -> Any:
    """Return ``x`` as an array of a float or complex dtype; integers become float64, as in NumPy's functions."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "?") in "fc":
        return x
    x = as_value(x)
    if type(x) in _PYTHON_NUMBERS:
        return np.asarray(x, float)
    dtype = dtype_of(x)
    return cast(x, dtype if is_inexact(dtype) else np.dtype(np.float64))
