"""``numpy.convolve`` and ``numpy.correlate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.contract import convolve as ops
from funcgrad._ops.elementwise.arithmetic import ne_p
from funcgrad._ops.elementwise.cast import cast, conj_p
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.layout.shape import flip, reshape
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._layout.shape import as_array

# NumPy's numbers for the modes.
_MODES = {0: "valid", 1: "same", 2: "full", "valid": "valid", "same": "same", "full": "full"}


@beside_numpys(np.convolve)
def convolve(a: ArrayLike, v: ArrayLike, mode: Any = "full") -> Array:
    """Return ``numpy.convolve`` of two vectors, in the modes full, same and valid."""
    a, v, mode = _vectors("convolve", a, v, mode)
    # The operation commutes. The mode "same" refers to the longer vector.
    return _convolved(v, a, mode) if v.shape[0] > a.shape[0] else _convolved(a, v, mode)


@beside_numpys(np.correlate)
def correlate(a: ArrayLike, v: ArrayLike, mode: Any = "valid") -> Any:
    """Return ``numpy.correlate`` of two vectors, in the modes valid, same and full. The second is conjugated."""
    a, v, mode = _vectors("correlate", a, v, mode)
    turned = flip(bind(conj_p, (v,), NO_PARAMS) if v.dtype.kind == "c" else v, (0,))
    if a.shape[0] >= v.shape[0]:
        return _convolved(a, turned, mode)
    if mode == "same":
        # NumPy exchanges the vectors and reverses the result, so its middle is counted from the other end.
        start = a.shape[0] // 2
        return slice_axis(_convolved(turned, a, "full"), 0, start, start + v.shape[0])
    return _convolved(turned, a, mode)


def _vectors(name: str, a: ArrayLike, v: ArrayLike, mode: Any) -> tuple[Any, Any, str]:
    a, v = promote(as_array(a), as_array(v))
    a, v = (x if x.shape else reshape(x, (1,)) for x in (a, v))
    if len(a.shape) != 1 or len(v.shape) != 1:
        raise ValueError(
            f"{name}: the operands are {aval_of(a)} and {aval_of(v)}, too deep for vectors; needed one axis each. For "
            "rows, use fg.vmap; for images, funcgrad.nn's convolutions."
        )
    if not a.shape[0] or not v.shape[0]:
        raise ValueError(
            f"{name}: {'a' if not a.shape[0] else 'v'} cannot be empty; needed at least one element in each vector. "
            "Leave out what is empty."
        )
    if mode not in _MODES:
        raise ValueError(f"{name}: mode is {mode!r}; needed one of 'full', 'same' and 'valid'. Choose one of them.")
    return a, v, _MODES[mode]


def _convolved(a: ArrayLike, v: ArrayLike, mode: str) -> Array:
    """Convolve a vector with one that is not longer."""
    if a.dtype.kind == "b":
        # A sum of bools is true if any product is.
        whole = _convolved(cast(a, np.dtype(np.int64)), cast(v, np.dtype(np.int64)), mode)
        return bind(ne_p, (whole, 0), NO_PARAMS)
    if mode == "valid":
        return ops.convolve(a, v, full=False)
    whole = ops.convolve(a, v, full=True)
    if mode == "full":
        return whole
    start = (v.shape[0] - 1) // 2
    return slice_axis(whole, 0, start, start + a.shape[0])
