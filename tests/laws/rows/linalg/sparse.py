"""Rows for ``funcgrad._ops.linalg.sparse``."""

import numpy as np

from funcgrad._ops.linalg.sparse import sparse_solve_p
from tests.laws.rows._row import Row

# Seven elements of a matrix of three rows and columns, that of the middle of each row on the diagonal.
PLACES = (
    np.array([0, 0, 1, 1, 1, 2, 2], np.int32),
    np.array([0, 1, 0, 1, 2, 1, 2], np.int32),
    np.array([0, 2, 5, 7], np.int32),
)


def dominant(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Elements of which those on the diagonal are greater than the others."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    if shape[-1:] == (7,):
        x[..., [0, 3, 6]] += 5
    return x


HOST = "JAX has no derivative of calls to the host; tests/scipy/test_sparse.py has those of the solution, to order 2"

ROWS = [
    Row(sparse_solve_p, ((7,), *PLACES, (3, 2)), {"turned": False}, sample=dominant, complex=True, elsewhere=HOST),
    Row(sparse_solve_p, ((7,), *PLACES, (3,)), {"turned": True}, sample=dominant, elsewhere=HOST, name="turned"),
    Row(sparse_solve_p, ((7,), *PLACES, (3, 0)), {"turned": False}, sample=dominant, elsewhere=HOST, name="empty"),
]
