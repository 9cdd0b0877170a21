"""Convert the arguments of layers and losses: arrays of any kind, lists and numbers.

Layers compute with the functions of ``funcgrad.numpy``, not with operators. The operators of a ``jax.Array`` are JAX's,
and they round float64 to float32 unless JAX's 64-bit mode is on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad.autograd.extend import default_dtype, is_tensor
from funcgrad.numpy.extend import as_value, dtype_of

_PYTHON_NUMBERS = frozenset({bool, int, float})


def inexact(x: Any) -> Any:
    """Return ``x`` as an array of a float or complex dtype.

    Integers become float64, as in NumPy's functions; tensors of integers get the default dtype of floats.
    """
    if isinstance(x, str):
        raise TypeError("a str was given; needed a tensor, an array or numbers. Convert the text to numbers.")
    dtype = getattr(x, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "?") in "fc":
        return x
    x = as_value(x)
    if type(x) in _PYTHON_NUMBERS:
        return np.asarray(x, float)
    dtype = dtype_of(x)
    if is_inexact(dtype):
        return x
    return cast(x, default_dtype() if is_tensor(x) else np.dtype(np.float64))
