"""Rows for ``funcgrad._ops.linalg.orthogonal``."""

from funcgrad._ops.linalg.orthogonal import pinv_p, qr_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.spectral import spaced

RTOL = {"rtol": 1e-8}

ROWS = [
    Row(qr_p, ((3, 3),), sample=spaced, complex=True),
    Row(qr_p, ((4, 2),), sample=spaced, complex=True, name="tall"),
    Row(qr_p, ((2, 3, 2),), sample=spaced, name="stacked"),
    Row(qr_p, ((1, 1),), sample="positive", name="one"),
    Row(qr_p, ((2, 0, 0),), name="empty"),
    Row(pinv_p, ((3, 3),), RTOL, sample=spaced, complex=True),
    Row(pinv_p, ((4, 2),), RTOL, sample=spaced, complex=True, name="tall"),
    Row(pinv_p, ((2, 2, 3),), RTOL, sample=spaced, name="wide-stacked"),
    Row(pinv_p, ((1, 1),), RTOL, sample="positive", name="one"),
    Row(pinv_p, ((0, 3),), RTOL, name="empty"),
]
