"""Rows for ``funcgrad._ops.program.barrier``."""

from funcgrad._ops.program.barrier import alike_p, separate_p, stop_gradient_p
from tests.laws.rows._row import Row

ROWS = [
    Row(alike_p, ((2, 3), (4,), (2, 3), (4,)), complex=True),
    Row(separate_p, ((2, 3), (4,)), complex=True),
    Row(stop_gradient_p, ((2, 3),), differentiable=False, complex=True),
]
