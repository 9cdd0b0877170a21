"""Rows for ``funcgrad._ops.barrier`` and ``fill``."""

from funcgrad._ops.barrier import stop_gradient_p
from funcgrad._ops.fill import full_like_p
from tests.laws.rows._row import Row

ROWS = [
    Row(stop_gradient_p, ((2, 3),), differentiable=False, complex=True),
    Row(full_like_p, ((2, 3),), {"value": 2}, differentiable=False, complex=True),
    Row(full_like_p, ((),), {"value": 1}, differentiable=False, name="scalar"),
]
