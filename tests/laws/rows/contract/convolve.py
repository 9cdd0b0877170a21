"""Rows for ``funcgrad._ops.contract.convolve``."""

from funcgrad._ops.contract.convolve import convolve_axes_p, convolve_p
from tests.laws.rows._row import Row

ROWS = [
    Row(convolve_p, ((5,), (3,)), {"full": True}, complex=True),
    Row(convolve_p, ((5,), (3,)), {"full": False}, complex=True, name="inside"),
    Row(convolve_p, ((2,), (4,)), {"full": True}, name="shorter-first"),
    Row(convolve_p, ((3,), (3,)), {"full": False}, name="one-place"),
    Row(convolve_p, ((2, 2, 4), (2, 2, 3)), {"full": True}, complex=True, name="stack"),
    Row(convolve_p, ((2, 4), (2, 1)), {"full": False}, complex=True, name="stack-inside"),
    Row(convolve_p, ((0, 4), (0, 2)), {"full": True}, name="empty-stack"),
    Row(convolve_axes_p, ((4, 3), (2, 2)), {"rank": 2, "full": True}, complex=True),
    Row(convolve_axes_p, ((2, 4, 3), (2, 2, 2)), {"rank": 2, "full": False}, complex=True, name="inside"),
    Row(convolve_axes_p, ((2, 2, 3), (3, 1, 2)), {"rank": 3, "full": True}, name="solid"),
    Row(convolve_axes_p, ((0, 2, 3), (0, 2, 2)), {"rank": 2, "full": False}, name="empty-stack"),
]
