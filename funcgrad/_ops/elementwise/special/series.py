"""Polynomials and quotients in our operations, for ranges where closed forms lose digits by cancellation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import log1p_p
from funcgrad._types import Value

_LOG1PREL = [(-1) ** k / (k + 1) for k in range(20)]
LOG1PREL_SLOPE = [(-1) ** k * k / (k + 1) for k in range(1, 22)]


def polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """Return the polynomial with these coefficients, from degree 0 up."""
    y: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        y = y * x + coefficient
    return y


def log1prel(x: Value) -> Value:
    """Return ``log1p(x) / x``, whose derivatives are accurate near 0."""
    near = abs(x) < 0.1
    z, far = select(near, x, 0.0), select(near, 1.0, x)
    return select(near, polynomial(_LOG1PREL, z), log1p_p(far) / far)
