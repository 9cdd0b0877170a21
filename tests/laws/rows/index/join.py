"""Rows for ``funcgrad._ops.index.join``."""

from funcgrad._ops.index.join import concatenate_p, pad_p, stack_p
from tests.laws.rows._row import Row

ROWS = [
    Row(concatenate_p, ((2, 3), (2, 1), (2, 3)), {"axis": 1}, complex=True),
    Row(concatenate_p, ((0, 3), (2, 3)), {"axis": 0}, name="empty"),
    Row(stack_p, ((2, 3), (2, 3)), {"axis": 1}, complex=True),
    Row(stack_p, ((), (), ()), {"axis": 0}, name="scalars"),
    Row(stack_p, ((0, 3), (0, 3)), {"axis": 2}, name="empty"),
    Row(pad_p, ((2, 3),), {"widths": ((1, 0), (2, 1))}, complex=True),
    Row(pad_p, ((0,),), {"widths": ((1, 2),)}, name="empty"),
    Row(pad_p, ((),), {"widths": ()}, name="scalar"),
]
