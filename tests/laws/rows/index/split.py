"""Rows for ``funcgrad._ops.index.split``."""

from funcgrad._ops.index.split import split_p
from tests.laws.rows._row import Row

ROWS = [
    Row(split_p, ((7,),), {"shapes": ((2, 2), (), (2,))}, complex=True),
    Row(split_p, ((3,),), {"shapes": ((0, 2), (3,))}, name="empty"),
]
