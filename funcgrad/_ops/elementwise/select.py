"""Choose between two values elementwise by a boolean; and the number 0 with a given slope."""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import Aval, result_dtype
from funcgrad._core.choose import choose
from funcgrad._core.forms import Forms
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.layout.depends import choice
from funcgrad._types import Array, Lax, Value


def _select_dtype(c: Aval, a: Aval, b: Aval) -> np.dtype:
    return result_dtype(a, b)


def _select_xla(lax: Lax, c: Array, a: Array, b: Array) -> Array:
    return lax.select_n(c, b, a)


# A Python zero is weak: it takes the dtype of the tangent.
select_p = elementwise(
    "select",
    "c a b",
    numpy=choose,
    xla=_select_xla,
    maps=[None, lambda t, c: select(c, t, 0), lambda t, c: select(c, 0, t)],
    dtype=_select_dtype,
    flops=0,
    forms=Forms(new_memory=True, depends=choice),
)


def select(c: Value, a: Value, b: Value) -> Value:
    """Return ``a`` where ``c``, else ``b``; both of one dtype, or one of them a Python scalar."""
    return select_p(c, a, b)


# Returns 0, with the derivative ``slope`` with respect to ``x``: a function at a point where it is 0 and its formula
# has another slope, or none. The slope may be infinite, where ``slope * (x - end)`` would be NaN.
sloped_zero_p = elementwise(
    "sloped_zero",
    "x slope",
    numpy=lambda x, slope: np.zeros(np.broadcast_shapes(np.shape(x), np.shape(slope)), np.result_type(x, slope))[()],
    xla=lambda lax, x, slope: lax.full_like(x, 0),
    maps=[lambda t, slope: t * slope, None],
    flops=0,
)
