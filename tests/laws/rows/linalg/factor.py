"""Rows for ``funcgrad._ops.linalg.factor``."""

import numpy as np

from funcgrad._ops.linalg.factor import cholesky_p, lu_p, permutation_of_pivots_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.triangular import steep


def definite(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Positive definite by its lower triangle, but not Hermitian."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    return x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1]) + 0.2 * x


HERMITIAN = "the derivative is that of a Hermitian matrix; tests/numpy/test_linalg.py takes differences among those"
PIVOTS = np.array([[2, 1, 2], [1, 2, 2]], np.int32)

ROWS = [
    Row(cholesky_p, ((3, 3),), sample=definite, complex=True, elsewhere=HERMITIAN),
    Row(cholesky_p, ((2, 2, 3, 3),), sample=definite, complex=True, elsewhere=HERMITIAN, name="stacked"),
    Row(cholesky_p, ((1, 1),), sample="positive", name="one"),
    Row(cholesky_p, ((0, 0),), name="empty"),
    Row(cholesky_p, ((0, 2, 2),), name="empty-stack"),
    Row(lu_p, ((3, 3),), complex=True),
    Row(lu_p, ((2, 4, 4),), complex=True, name="stacked"),
    Row(lu_p, ((3, 3),), sample=steep, name="without-exchanges"),
    Row(lu_p, ((1, 1),), sample="positive", name="one"),
    Row(lu_p, ((2, 0, 0),), name="empty"),
    Row(permutation_of_pivots_p, (PIVOTS,), differentiable=False),
    Row(permutation_of_pivots_p, (PIVOTS[0],), differentiable=False, name="of-one"),
    Row(permutation_of_pivots_p, (PIVOTS[:, :0],), differentiable=False, name="empty"),
]
