"""``nsum`` and ``tanhsinh`` of SciPy's inside ``fg.intercept()``: no derivative of the function far out.

Their own code computes with traced values. For an infinite end it evaluates the function so far out that its own weight
of the term overflows, and it replaces the term. In reverse mode such a term would be 0 times infinity: NaN.
The function's own derivative is NaN there, too, where a part of it overflows: ``k**a`` in ``1 / k**a``, which is 0.
Second derivatives in reverse mode are NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value, known_value

Call = Callable[..., Any]

# From ends and steps below this, a finite sum or interval reaches no point that counts as far out, also in float32.
_NEAR = 1e10


def flat_far_out(f: Call) -> Call:
    """Return a function with the values of ``f``, and without derivative far out.

    The derivative is 0 at NaN, where ``x**2`` overflows, and where ``f`` is 0 further out than the ends may lie.
    """

    @functools.wraps(f)
    def evaluate(x: ArrayLike, *args: Any) -> Any:
        points = known_value(x)
        if points is None or points.dtype.char not in "fd":
            return f(x, *args)
        distance = np.abs(points)
        if (distance < _NEAR).all():
            return f(x, *args)
        whole = as_value(f(x, *args))
        values = known_value(whole)
        near = distance < np.sqrt(np.finfo(points.dtype).max)
        if values is not None and values.shape == near.shape:
            near &= (distance < _NEAR) | (values != 0)
        if near.all():
            return whole
        y = stop_gradient_p(whole)
        return fnp.where(near, f(fnp.where(near, x, points[near][0]), *args), y) if near.any() else y

    return evaluate


def _is_near(end: ArrayLike) -> bool:
    known = known_value(end)
    return known is not None and bool(np.all(~np.isfinite(known) | (np.abs(known) < _NEAR)))


def _prepared(theirs: Call) -> Call:
    """Return a function of SciPy's that gets a function without derivative far out."""

    @functools.wraps(theirs)
    def call(f: Call, a: ArrayLike, b: ArrayLike, **options: Any) -> Any:
        near = all(map(_is_near, (a, b, options.get("step", 1))))
        return theirs(flat_far_out(f) if near else f, a, b, **options)

    return call


# Functions that compute with traced values inside of fg.intercept(), if they are called through these.
PREPARED = {"nsum": _prepared, "tanhsinh": _prepared}
