"""Rows for ``funcgrad._ops.layout.shape``."""

from funcgrad._ops.layout.shape import flip_p, reshape_p, transpose_p
from tests.laws.rows._row import Row

ROWS = [
    Row(reshape_p, ((2, 3),), {"shape": (3, 2)}, complex=True),
    Row(reshape_p, ((),), {"shape": (1, 1)}, complex=True, name="scalar"),
    Row(reshape_p, ((1,),), {"shape": ()}, complex=True, name="to-scalar"),
    Row(reshape_p, ((0, 3),), {"shape": (3, 0, 2)}, name="empty"),
    Row(transpose_p, ((2, 3, 4),), {"permutation": (2, 0, 1)}, complex=True),
    Row(transpose_p, ((),), {"permutation": ()}, name="scalar"),
    Row(transpose_p, ((0, 3),), {"permutation": (1, 0)}, name="empty"),
    Row(flip_p, ((2, 3, 4),), {"axes": (0, 2)}, complex=True),
    Row(flip_p, ((3, 0),), {"axes": (0,)}, name="empty"),
    Row(flip_p, ((),), {"axes": ()}, name="scalar"),
]
