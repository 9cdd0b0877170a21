"""Rows for ``funcgrad._ops.elementwise.arithmetic``."""

import numpy as np

from funcgrad._ops.elementwise import arithmetic as a
from tests.laws.rows._row import Row

_BILINEAR = [a.add_p, a.sub_p, a.mul_p]
_COMPARISONS = [a.eq_p, a.ne_p, a.lt_p, a.le_p, a.gt_p, a.ge_p]
_MASK, _OTHER = np.array([True, True, False, False]), np.array([True, False, True, False])
_INTEGERS, _POWERS = np.array([-3, -1, 0, 2, 1, 0, 3]), np.array([5, 71, 64, 62, 100, 0, 2])
_EXPONENTS = [2, 3, 0, 1, -2, 0.5, 2.5]


def _away_from_zero(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape)).astype(dtype)


ROWS = [
    *[Row(p, ((2, 3), (2, 3)), complex=True) for p in _BILINEAR],
    *[Row(p, ((2, 1), (3,)), complex=True, name="broadcast") for p in _BILINEAR],
    *[Row(p, ((2, 3), 2.5), complex=True, name="number") for p in _BILINEAR],
    Row(a.mul_p, ((), (0, 2)), name="empty"),
    *[Row(p, (_MASK, _OTHER), differentiable=False, name="boolean") for p in (a.add_p, a.mul_p)],
    Row(a.pow_p, (_INTEGERS, _POWERS), differentiable=False, name="integer"),
    Row(a.neg_p, ((2, 3),), complex=True),
    Row(a.div_p, ((2, 3), (2, 3)), sample="positive", complex=True),
    Row(a.div_p, ((3,), (2, 1)), sample="positive", complex=True, name="broadcast"),
    Row(a.div_p, (2.0, (3,)), sample="positive", name="number"),
    *[Row(a.power_p, ((2, 3),), {"exponent": n}, sample="positive", complex=True, name=f"{n}") for n in _EXPONENTS],
    Row(a.power_p, ((),), {"exponent": 3}, name="scalar"),
    Row(a.power_p, ((2, 3),), {"exponent": 3}, sample=_away_from_zero, name="negative base"),
    Row(a.pow_p, ((2, 3), (2, 3)), sample="positive", complex=True),
    Row(a.pow_p, ((2, 1), (3,)), sample="positive", name="broadcast"),
    Row(a.pow_p, (2.0, (3,)), name="number"),
    Row(a.pow_log_p, ((2, 3), (2, 3)), {"degree": 0}, sample="positive", complex=True, name="0"),
    Row(a.pow_log_p, ((2, 1), (3,)), {"degree": 1}, sample="positive", complex=True, name="1 broadcast"),
    Row(a.pow_log_p, ((2, 3), (3,)), {"degree": 2}, sample="positive", complex=True, name="2"),
    Row(a.log_p, ((2, 3),), sample="positive", complex=True),
    Row(a.sqrt_p, ((2, 3),), sample="positive", complex=True),
    Row(a.root_of_squares_p, ((2, 3),), sample="positive"),
    Row(a.sign_p, ((2, 3),), differentiable=False),
    Row(a.abs_p, ((2, 3),), sample=_away_from_zero),
    Row(a.abs_p, ((2, 3),), sample="positive", complex="only", name="complex"),
    Row(a.max_p, ((2, 3), (2, 3)), sample="distinct"),
    Row(a.min_p, ((2, 1), (3,)), sample="distinct", name="broadcast"),
    *[Row(p, ((2, 3), (3,)), differentiable=False) for p in _COMPARISONS],
]
