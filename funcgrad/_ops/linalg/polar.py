"""The unitary factor of the polar form: the nearest matrix with orthonormal columns."""

from __future__ import annotations

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import CompoundPrimitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.linalg.matrices import adjoint, conjugated, hermitian_part, product, swapped
from funcgrad._ops.linalg.solve import solve
from funcgrad._ops.linalg.sylvester import sylvester
from funcgrad._types import Array, Lax, Value


def _unitary_numpy(x: Array) -> Array:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


def _unitary_xla(lax: Lax, x: Array) -> Array:
    u, _, vh = lax.linalg.svd(x, full_matrices=False)
    return product(u, vh)


def _push(x_dot: Value, x: Value, y: Value) -> Value:
    """Return ``y w + (1 - y y^H) x_dot p^-1``, where ``w p + p w`` is the skew part of ``y^H x_dot``."""
    p = hermitian_part(product(adjoint(y), x))
    along = product(adjoint(y), x_dot)
    y_dot = product(y, sylvester(p, p, along - adjoint(along)))
    if x.shape[-2] > x.shape[-1]:
        outside = x_dot - product(y, along)
        y_dot = y_dot + swapped(solve(swapped(p), swapped(outside)))
    return y_dot


def _pull(y_bar: Value, x: Value, y: Value) -> Value:
    p = hermitian_part(product(adjoint(y), x))
    turn = sylvester(swapped(p), swapped(p), product(swapped(y), y_bar))
    x_bar = product(conjugated(y), turn - adjoint(turn))
    if x.shape[-2] > x.shape[-1]:
        outside = swapped(solve(p, swapped(y_bar)))
        x_bar = x_bar + outside - product(conjugated(y), product(swapped(y), outside))
    return x_bar


# Kenney and Laub, "Polar decomposition and matrix sign function condition estimates", 1991. It is smooth where the rank
# is full, also where singular values are equal.
unitary_factor_p = CompoundPrimitive(
    "unitary_factor",
    operands=("x",),
    numpy=_unitary_numpy,
    xla=_unitary_xla,
    aval=lambda x: x,
    derivative=PerOperand(("x",), [_pull], [_push]),
    batch=batch_same,
    cost=lambda y, x: 14 * x.size * x.shape[-1],
)


def unitary_factor(x: Value) -> Value:
    """Return ``u`` of ``x = u p``, for (stacks of) matrices with at least as many rows as columns."""
    return bind(unitary_factor_p, (x,), NO_PARAMS)
