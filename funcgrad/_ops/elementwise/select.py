"""Choose between two values elementwise by a boolean."""

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
