"""Rows for ``funcgrad._ops.linalg.general``."""

import numpy as np

from funcgrad._ops.linalg.general import eig_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.spectral import spaced


def turning(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return matrices with well separated complex eigenvalues, whose eigenvectors have one dominant component."""
    n = shape[-1]
    blocks = np.eye(n) * (1 + np.arange(n) // 2 * 2) + np.eye(n, k=1) * (np.arange(n) % 2 == 0)[:, None]
    return blocks - 0.3 * np.eye(n, k=-1) * (np.arange(n) % 2 == 1)[:, None] + 0.02 * rng.normal(size=shape)


JAX = "JAX has no derivative of the vectors; tests/numpy/linalg/test_general.py has those of both"

ROWS = [
    Row(eig_p, ((3, 3),), sample=spaced, elsewhere=JAX),
    Row(eig_p, ((3, 3),), sample=spaced, complex="only", elsewhere=JAX, name="complex"),
    Row(eig_p, ((2, 4, 4),), sample=turning, elsewhere=JAX, name="turning"),
    Row(eig_p, ((2, 0, 0),), elsewhere=JAX, name="empty"),
]
