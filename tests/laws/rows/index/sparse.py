"""Rows for ``funcgrad._ops.index.sparse``."""

import numpy as np

from funcgrad._ops.index.sparse import sparse_product_p
from tests.laws.rows._row import Row

# Five elements of a matrix of three rows, the second of which is empty, and four columns.
PLACES = (np.array([0, 0, 2, 2, 2], np.int32), np.array([1, 3, 0, 1, 2], np.int32), np.array([0, 2, 2, 5], np.int32))
WHOLE, TURNED = [{"shape": (3, 4), "turned": turned} for turned in (False, True)]

ROWS = [
    Row(sparse_product_p, ((5,), *PLACES, (4, 2)), WHOLE, complex=True),
    Row(sparse_product_p, ((5,), *PLACES, (3, 2)), TURNED, complex=True, name="turned"),
    Row(sparse_product_p, ((5,), *PLACES, (4,)), WHOLE, name="vector"),
    Row(sparse_product_p, ((5,), *PLACES, (3,)), TURNED, name="turned-vector"),
    Row(sparse_product_p, ((5,), *PLACES, (4, 0)), WHOLE, name="empty"),
]
