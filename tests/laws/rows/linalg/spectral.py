"""Rows for ``funcgrad._ops.linalg.spectral``."""

import numpy as np

from funcgrad._ops.linalg.spectral import eigh_p, svd_full_p, svd_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.factor import HERMITIAN


def spaced(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Matrices whose eigenvalues, and whose singular values, lie apart."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    return 0.3 * x + np.eye(shape[-2], shape[-1]) * (1 + np.arange(shape[-1]))


PHASE = "LAPACK chooses the phases of complex vectors by rounding; tests/numpy/test_linalg.py compares with JAX's rules"
FULL = "JAX raises NotImplementedError for the derivative with full matrices"
LOWER, UPPER = {"lower": True}, {"lower": False}

ROWS = [
    Row(eigh_p, ((3, 3),), LOWER, sample=spaced, elsewhere=HERMITIAN),
    Row(eigh_p, ((3, 3),), UPPER, sample=spaced, elsewhere=HERMITIAN, name="upper"),
    Row(eigh_p, ((3, 3),), LOWER, sample=spaced, complex="only", elsewhere=PHASE, name="complex"),
    Row(eigh_p, ((2, 4, 4),), LOWER, sample=spaced, elsewhere=HERMITIAN, name="stacked"),
    Row(eigh_p, ((1, 1),), LOWER, name="one"),
    Row(eigh_p, ((2, 0, 0),), UPPER, name="empty"),
    Row(svd_p, ((3, 3),), sample=spaced),
    Row(svd_p, ((4, 2),), sample=spaced, name="tall"),
    Row(svd_p, ((2, 4),), sample=spaced, name="wide"),
    Row(svd_p, ((3, 2),), sample=spaced, complex="only", elsewhere=PHASE, name="complex"),
    Row(svd_p, ((2, 3, 3),), sample=spaced, name="stacked"),
    Row(svd_p, ((1, 1),), name="one"),
    Row(svd_p, ((2, 0, 3),), name="empty"),
    Row(svd_full_p, ((3, 2),), sample=spaced, beyond_jax=FULL, name="tall"),
    Row(svd_full_p, ((2, 3),), sample=spaced, beyond_jax=FULL, name="wide"),
    Row(svd_full_p, ((2, 3, 2),), sample=spaced, beyond_jax=FULL, name="stacked"),
]
