"""Rows for ``funcgrad._ops.elementwise.select``."""

import numpy as np

from funcgrad._ops.elementwise.select import select_p, sloped_zero_p
from tests.laws.rows._row import Row

MASK = np.array([[True, False, True], [False, False, True]])

NO_DIFFERENCES = "its slope is not that of its values; tests/scipy/test_stats_ends.py holds it"

ROWS = [
    Row(select_p, (MASK, (2, 3), (2, 3)), complex=True),
    Row(select_p, (MASK[0], (2, 3), (2, 1)), complex=True, name="broadcast"),
    Row(select_p, (MASK, (), (3,)), complex=True, name="stretched"),
    Row(select_p, (MASK, (2, 3), 0), complex=True, name="zero"),
    Row(select_p, (MASK, 1, (2, 3)), complex=True, name="one"),
    Row(select_p, (np.array(True), (), ()), name="scalar"),
    Row(select_p, (np.zeros((0, 3), bool), (0, 3), (3,)), name="empty"),
    Row(sloped_zero_p, ((2, 3), np.array([1.0, -2.0, 0.0])), elsewhere=NO_DIFFERENCES),
]
