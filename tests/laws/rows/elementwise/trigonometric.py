"""Rows for ``funcgrad._ops.elementwise.trigonometric``."""

from funcgrad._ops.elementwise import trigonometric as t
from tests.laws.rows._row import Row

_EVERYWHERE = [t.sin_p, t.cos_p, t.tan_p, t.arctan_p, t.sinh_p, t.cosh_p, t.tanh_p, t.arcsinh_p]
_INSIDE = [t.arcsin_p, t.arccos_p, t.arctanh_p]
# The tangent has poles that normal samples come close to.
_SAMPLES = {t.tan_p: "unit", t.arctan_p: "unit"}

ROWS = [
    *[Row(p, ((2, 3),), sample=_SAMPLES.get(p, "normal"), complex=True) for p in _EVERYWHERE],
    *[Row(p, ((2, 3),), sample="unit", complex=True) for p in _INSIDE],
    Row(t.arccosh_p, ((2, 3),), sample="above_one", complex=True),
    Row(t.sin_p, ((),), name="scalar"),
    Row(t.tanh_p, ((0, 3),), name="empty"),
    Row(t.arctan2_p, ((2, 3), (2, 3)), sample="positive"),
    Row(t.arctan2_p, ((2, 1), (3,)), sample="positive", name="broadcast"),
    Row(t.arctan2_p, ((2, 3), ()), sample="positive", name="scalar"),
]
