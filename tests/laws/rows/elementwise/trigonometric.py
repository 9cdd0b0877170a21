"""Rows for ``funcgrad._ops.elementwise.trigonometric``."""

import numpy as np

from funcgrad._ops.elementwise import trigonometric as t
from tests.laws.rows._row import Row

_EVERYWHERE = [t.sin_p, t.cos_p, t.tan_p, t.arctan_p, t.sinh_p, t.cosh_p, t.tanh_p, t.arcsinh_p]
_INSIDE = [t.arcsin_p, t.arccos_p, t.arctanh_p]
# The tangent has poles that normal samples come close to.
_SAMPLES = {t.tan_p: "unit", t.arctan_p: "unit"}

# Where the derivative by the result alone would lose digits.
_SATURATED = np.array([-30.0, -6.0, -0.3, 0.0, 4.5, 12.0])


def _saturated(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    del rng, shape
    return _SATURATED.astype(dtype)


# Around the change from series to closed form, and at zero.
_SINC_POINTS = np.array([0.0, -0.03, 0.1, 0.3, 0.6366, 0.6367, -0.7, 1.0, 2.5])


def _sinc_points(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    del rng, shape
    return _SINC_POINTS.astype(dtype)


ROWS = [
    *[Row(p, ((2, 3),), sample=_SAMPLES.get(p, "normal"), complex=True) for p in _EVERYWHERE],
    *[Row(p, ((2, 3),), sample="unit", complex=True) for p in _INSIDE],
    Row(t.arccosh_p, ((2, 3),), sample="above_one", complex=True),
    Row(t.sin_p, ((),), name="scalar"),
    Row(t.tanh_p, ((0, 3),), name="empty"),
    Row(t.tanh_p, ((6,),), sample=_saturated, name="saturated"),
    Row(t.arctan2_p, ((2, 3), (2, 3)), sample="positive"),
    Row(t.arctan2_p, ((2, 1), (3,)), sample="positive", name="broadcast"),
    Row(t.arctan2_p, ((2, 3), ()), sample="positive", name="scalar"),
    Row(t.sinc_p, ((2, 3),), sample="positive", complex=True),
    Row(t.sinc_p, ((9,),), sample=_sinc_points, name="around zero"),
]
