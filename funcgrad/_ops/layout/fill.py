"""Constant arrays with the shape of another array. They belong to its engine and, when staged, to its graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.layout.batching import batch_same
from funcgrad._types import Array, Value


def _full_like_numpy(x: Array, *, value: complex) -> Array:
    aval = aval_of(x)
    return np.full(aval.shape, value, aval.dtype) if aval.shape else aval.dtype.type(value)


def _fold_scalar(operands: tuple, aval: Aval, *, value: complex) -> Any:
    return aval.dtype.type(value) if aval.shape == () else None


full_like_p = Primitive(
    "full_like",
    operands=("x",),
    numpy=_full_like_numpy,
    xla=lambda lax, x, *, value: lax.full_like(x, value),
    aval=lambda x, *, value: x,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(basic=Basic.FILL, fold=_fold_scalar),
)


def zeros_like(x: Value) -> Value:
    """Return zeros of the shape, dtype and engine of ``x``."""
    return full_like_p(x, value=0)


def ones_like(x: Value) -> Value:
    """Return ones of the shape, dtype and engine of ``x``."""
    return full_like_p(x, value=1)
