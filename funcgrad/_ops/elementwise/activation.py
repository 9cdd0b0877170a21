"""Functions that layers of a network use: the rectifier and the error function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.forms import Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.arithmetic import le_p, max_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import gauss
from funcgrad._types import Array, Value

scipy_special = LazyModule("scipy.special")


def _relu_map(t: Value, y: Value) -> Value:
    # At 0 the derivative is 0, as in PyTorch and JAX; where y is NaN the tangent is unchanged.
    return select(le_p(y, 0), 0, t)


def _relu_expanded(x: Value) -> Any:
    return max_p(x, 0)


relu_p = elementwise(
    "relu",
    "x",
    numpy=lambda x: np.maximum(x, 0),
    xla=lambda lax, x: lax.max(x, lax.full_like(x, 0)),
    maps=[_relu_map],
    forms=Forms(expand=_relu_expanded, new_memory=True),
)


_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _erf_numpy(x: Array) -> Array:
    # SciPy loads its submodules on first use. Its loops support float32 and float64 only.
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.char in "fd":
        return scipy_special.erf(x)
    return scipy_special.erf(x.astype(np.float32)).astype(dtype)


erf_p = elementwise(
    "erf",
    "x",
    numpy=_erf_numpy,
    xla="erf",
    maps=[lambda t, x: t * (_TWO_OVER_SQRT_PI * gauss(x))],
    flops=20,
    forms=Forms(special="erf", new_memory=True),
)
