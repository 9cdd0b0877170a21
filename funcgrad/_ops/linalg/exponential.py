"""The exponential of matrices. Its derivatives are blocks of the exponential of a matrix twice as large."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.matrices import identity_like, product, swapped
from funcgrad._ops.linalg.solve import solve
from funcgrad._types import Array, Lax, Value

scipy_linalg = LazyModule("scipy.linalg")

# Higham, "The scaling and squaring method for the matrix exponential revisited", 2005: the coefficients of the Padé
# approximant of degree 13, and the 1-norm up to which it is right to double precision (table 2.3).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_RADIUS = 5.371920351148152
# For XLA: above norms of 350,000 the result is NaN. More squarings would cost time in every program.
_MAX_SQUARINGS = 16


def _expm_numpy(x: Array) -> Array:
    if not x.size:
        return x
    with untraced():
        return scipy_linalg.expm(x)


def _expm_xla(lax: Lax, x: Array) -> Array:
    """Compute the approximant of a scaled matrix, squared as often as it was halved; the number differs by matrix."""
    if not x.size:
        return x
    norms = lax.reduce_max(lax.reduce_sum(lax.abs(x), (x.ndim - 2,)), (x.ndim - 2,))
    octaves = lax.div(lax.log(lax.div(norms, lax.full_like(norms, _RADIUS))), lax.full_like(norms, math.log(2)))
    halvings = lax.max(lax.ceil(octaves), lax.full_like(norms, 0))
    known = lax.le(halvings, lax.full_like(norms, _MAX_SQUARINGS))
    counts = _for_each(lax.select(known, halvings, lax.full_like(norms, math.nan)), x)
    start = _approximant(lax.mul(x, cast(lax.exp2(lax.neg(counts)), x.dtype)))

    def squared(i: Value, y: Value) -> Value:
        more = lax.lt(lax.full_like(counts, i, dtype=counts.dtype), counts)
        return lax.select(more, product(y, y), y)

    return lax.fori_loop(0, _MAX_SQUARINGS, squared, start)


def _for_each(numbers: Value, x: Value) -> Value:
    """Return a number for each matrix, at each of its elements."""
    ndim = len(x.shape)
    return broadcast_to(expand_dims(numbers, (ndim - 2, ndim - 1)), x.shape)


def _approximant(x: Value) -> Value:
    b = _PADE
    x2 = product(x, x)
    x4 = product(x2, x2)
    x6 = product(x4, x2)
    identity = identity_like(x)
    odd = product(x6, b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * identity
    even = product(x6, b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * identity
    odd = product(x, odd)
    return solve(even - odd, even + odd)


def frechet(x_dot: Value, x: Value) -> Value:
    """Return the derivative of the exponential of ``x`` along ``x_dot``."""
    return upper_right(expm, x_dot, x)


def upper_right(function: Callable[[Any], Any], x_dot: Value, x: Value) -> Value:
    """Return the upper right block of a function of ``[[x, x_dot], [0, x]]``: its derivative along ``x_dot``."""
    rows, columns = len(x.shape) - 2, len(x.shape) - 1
    size = x.shape[-1]
    above = concatenate([x, x_dot], columns)
    below = concatenate([0 * x, x], columns)
    y = function(concatenate([above, below], rows))
    return slice_axis(slice_axis(y, rows, 0, size), columns, size, 2 * size)


# Najfeld and Havel, "Derivatives of the matrix exponential and their computation", 1995, equation 10.
expm_p = CompoundPrimitive(
    "expm",
    operands=("x",),
    numpy=_expm_numpy,
    xla=_expm_xla,
    aval=lambda x: x,
    derivative=PerOperand(("x",), [lambda y_bar, x: frechet(y_bar, swapped(x))], [frechet]),
    batch=batch_same,
    cost=lambda y, x: 30 * x.size * x.shape[-1],
)


def expm(x: Value) -> Value:
    """Return the exponential of each square matrix."""
    return bind(expm_p, (x,), NO_PARAMS)
