"""Rows for ``funcgrad._ops.elementwise.transcendental``."""

import numpy as np

from funcgrad._ops.elementwise import transcendental as t
from tests.laws.rows._row import Row

# Around the change from series to closed form, and at zero.
_SINC_POINTS = np.array([0.0, -0.03, 0.1, 0.3, 0.6366, 0.6367, -0.7, 1.0, 2.5])


def _sinc_points(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    del rng, shape
    return _SINC_POINTS.astype(dtype)


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
    Row(t.logaddexp_p, ((2, 3), (2, 3))),
    Row(t.logaddexp_p, ((), (3,)), name="broadcast"),
    Row(t.logaddexp2_p, ((2, 3), (2, 3))),
    Row(t.sinc_p, ((2, 3),), sample="positive", complex=True),
    Row(t.sinc_p, ((9,),), sample=_sinc_points, name="around zero"),
]
