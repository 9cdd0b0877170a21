"""Rows for ``funcgrad._ops.elementwise.rounding``."""

import numpy as np

from funcgrad._ops.elementwise import rounding as r
from tests.laws.rows._row import Row

_CONSTANT = [r.floor_p, r.ceil_p, r.trunc_p, r.rint_p, r.signbit_p, r.spacing_p, r.exponent_p]
_INTEGERS = np.array([[-7, 8, 0], [5, -2, 3]])
_DIVISORS = np.array([[2, -3, 4], [-2, -1, 5]])


def _apart(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Numerators (a matrix) and divisors (a vector) of both signs, whose quotients are not close to an integer."""
    low, high = (2.3, 2.6) if len(shape) == 2 else (1.0, 1.1)
    return (rng.uniform(low, high, shape) * rng.choice([-1.0, 1.0], shape)).astype(dtype)


ROWS = [
    *[Row(p, ((2, 3),), differentiable=False) for p in _CONSTANT],
    *[Row(p, (_INTEGERS,), differentiable=False, name="integer") for p in (r.floor_p, r.ceil_p, r.trunc_p)],
    Row(r.rint_p, (np.array([0.5, 1.5, -0.5, -2.5, 2.4 + 1j]),), differentiable=False, name="complex"),
    Row(r.floor_p, ((),), differentiable=False, name="scalar"),
    Row(r.round_p, ((2, 3),), {"decimals": 2}, differentiable=False),
    Row(r.round_p, (np.array([15.0, 25.0, -151.0]),), {"decimals": -1}, differentiable=False, name="tens"),
    Row(r.round_p, (np.array([15, 25, -151]),), {"decimals": -1}, differentiable=False, name="integer"),
    Row(r.floor_divide_p, ((2, 3), (2, 3)), differentiable=False),
    Row(r.floor_divide_p, (_INTEGERS, _DIVISORS), differentiable=False, name="integer"),
    Row(r.remainder_p, (_INTEGERS, _DIVISORS), differentiable=False, name="integer"),
    Row(r.fmod_p, (_INTEGERS, _DIVISORS), differentiable=False, name="integer"),
    Row(r.remainder_p, ((4, 3), (3,)), sample=_apart),
    Row(r.fmod_p, ((4, 3), (3,)), sample=_apart),
    Row(r.copysign_p, ((2, 3), (2, 3)), sample="positive"),
    Row(r.copysign_p, ((2, 3), -0.0), name="negative zero"),
    Row(r.nextafter_p, ((2, 3), 4.0), differentiable=False),
    Row(r.ldexp_p, ((2, 3), np.array([-3, 0, 5]))),
    Row(r.ldexp_p, ((), np.array(4)), name="scalar"),
]
