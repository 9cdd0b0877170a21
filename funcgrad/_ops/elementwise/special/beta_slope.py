"""The derivatives of the regularised incomplete beta function by its parameters.

They differentiate the continued fraction of the function (DLMF 8.17.22) term by term, as in Boik and Robison-Cox,
"Derivatives of the incomplete beta function", Journal of Statistical Software 3 (1998).
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.trace.derivative import Undefined
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.special.scipys import on_host, scipy_special
from funcgrad._types import Array

_MOST_TERMS = 20_000


def _fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``1 + d1/(1 + d2/(1 + ...))`` and the slopes of its logarithm by ``a`` and ``b``, by Lentz's method."""
    one, zero = np.ones_like(x), np.zeros_like(x)
    # Each quantity with its slopes by a and b.
    h = c = np.stack([one, zero, zero])
    d = np.stack([zero, zero, zero])
    for n in range(1, _MOST_TERMS):
        m, odd = divmod(n, 2)
        p = a + 2 * m
        if odd:
            size = -(a + m) * (a + b + m) * x / (p * (p + 1))
            by_a = size * (1 / (a + m) + 1 / (a + b + m) - 1 / p - 1 / (p + 1))
            by_b = size / (a + b + m)
        else:
            # If b - m is 0 the fraction ends, but its slope does not.
            by_b = m * x / ((p - 1) * p)
            size = (b - m) * by_b
            by_a = -size * (1 / (p - 1) + 1 / p)
        term = np.stack([size, by_a, by_b])
        d = _inverse(_plus_one(_product(term, d)))
        c = _plus_one(_product(term, _inverse(c)))
        step = _product(c, d)
        h = _product(h, step)
        if np.all((abs(step[0] - 1) < 1e-16) & np.all(abs(step[1:]) <= 1e-16 * abs(h[1:] / h[0]) + 1e-300, axis=0)):
            break
    return h[0], h[1] / h[0], h[2] / h[0]


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack([x[0] * y[0], x[1] * y[0] + x[0] * y[1], x[2] * y[0] + x[0] * y[2]])


def _inverse(x: np.ndarray) -> np.ndarray:
    u = 1 / x[0]
    return np.stack([u, -x[1] * u * u, -x[2] * u * u])


def _plus_one(x: np.ndarray) -> np.ndarray:
    return np.stack([x[0] + 1, x[1], x[2]])


def _left(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes by ``a`` and ``b`` left of the mean, where the fraction converges."""
    special = scipy_special
    _, by_a, by_b = _fraction(a, b, x)
    total = special.psi(a + b)
    value = special.betainc(a, b, x)
    return (
        value * (np.log(x) - 1 / a - special.psi(a) + total - by_a),
        value * (np.log1p(-x) - special.psi(b) + total - by_b),
    )


def _slope_numpy(a: Array, b: Array, x: Array, *, of: str) -> Array:
    dtype = np.result_type(a, b, x)
    a, b, x = np.broadcast_arrays(*[np.asarray(each, float) for each in (a, b, x)])
    out = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        known = np.isfinite(a) & np.isfinite(b) & (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
        inside = known & (x > 0) & (x < 1)
        out[known & ~inside] = 0
        left = inside & (x <= (a + 1) / (a + b + 2))
        right = inside & ~left
        out[left] = _left(a[left], b[left], x[left])[of == "b"]
        # The function is one minus that of the other tail.
        out[right] = -_left(b[right], a[right], 1 - x[right])[of == "a"]
    return out.astype(dtype)[()]


betainc_slope_p = elementwise(
    "betainc_slope",
    "a b x",
    numpy=_slope_numpy,
    xla=on_host(lambda: betainc_slope_p),
    maps=Undefined(
        "scipy.special.betainc: a second derivative by a parameter was asked for, but there is a rule for the first "
        "one only. Differentiate twice by the last argument, or take differences of the first derivative."
    ),
    flops=2000,
)
