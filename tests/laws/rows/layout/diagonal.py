"""Rows for ``funcgrad._ops.layout.diagonal``."""

from funcgrad._ops.layout.diagonal import diagonal_p, embed_diagonal_p
from tests.laws.rows._row import Row

ROWS = [
    Row(diagonal_p, ((3, 3),), {"offset": 0}, complex=True),
    Row(diagonal_p, ((2, 3, 4),), {"offset": 1}, name="wide"),
    Row(diagonal_p, ((4, 2),), {"offset": -1}, name="tall"),
    Row(diagonal_p, ((2, 2),), {"offset": 2}, name="outside"),
    Row(diagonal_p, ((0, 3),), {"offset": 0}, name="empty"),
    Row(diagonal_p, ((0, 2, 2),), {"offset": 0}, name="empty-stack"),
    Row(embed_diagonal_p, ((3,),), {"matrix": (3, 3), "offset": 0}, complex=True),
    Row(embed_diagonal_p, ((2, 3),), {"matrix": (3, 4), "offset": 1}, name="wide"),
    Row(embed_diagonal_p, ((2,),), {"matrix": (4, 2), "offset": -1}, name="tall"),
    Row(embed_diagonal_p, ((0,),), {"matrix": (2, 2), "offset": 2}, name="outside"),
    Row(embed_diagonal_p, ((0,),), {"matrix": (0, 3), "offset": 0}, name="empty"),
    Row(embed_diagonal_p, ((0, 2),), {"matrix": (2, 2), "offset": 0}, name="empty-stack"),
]
