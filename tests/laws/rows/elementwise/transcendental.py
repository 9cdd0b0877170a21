"""Rows for ``funcgrad._ops.elementwise.transcendental``."""

from funcgrad._ops.elementwise import transcendental as t
from tests.laws.rows._row import Row

ROWS = [
    *[Row(p, ((2, 3),), complex=True) for p in (t.exp_p, t.exp2_p, t.expm1_p, t.square_p)],
    *[Row(p, ((2, 3),), sample="positive", complex=True) for p in (t.log2_p, t.log10_p, t.log1p_p, t.reciprocal_p)],
    Row(t.exp_p, ((),), name="scalar"),
    Row(t.exp_p, ((2, 0),), name="empty"),
    Row(t.logistic_p, ((2, 3),)),
    Row(t.logistic_p, ((),), name="scalar"),
    Row(t.logistic_p, ((0, 3),), name="empty"),
    Row(t.cbrt_p, ((2, 3),), sample="positive"),
    Row(t.hypot_p, ((2, 3), (2, 3)), sample="positive"),
    Row(t.hypot_p, ((3, 1), (2,)), sample="positive", name="broadcast"),
    Row(t.leg_p, ((2, 3), (2, 3)), sample="positive"),
    Row(t.leg_p, ((3, 1), (2,)), sample="positive", name="broadcast"),
    Row(t.logaddexp_p, ((2, 3), (2, 3))),
    Row(t.logaddexp_p, ((), (3,)), name="broadcast"),
    Row(t.logaddexp2_p, ((2, 3), (2, 3))),
]
