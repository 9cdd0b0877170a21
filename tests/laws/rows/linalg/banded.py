"""Rows for ``funcgrad._ops.linalg.banded``."""

import numpy as np

from funcgrad._ops.linalg.banded import banded_solve_p
from tests.laws.rows._row import Row

ONE_AND_TWO, TRIDIAGONAL = {"lower": 1, "upper": 2}, {"lower": 1, "upper": 1}


def dominant(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Diagonals as rows, of which those in the middle are greater than the others."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0)
    x[..., shape[-2] // 2, :] += 4
    return x


ROWS = [
    Row(banded_solve_p, ((4, 5), (5, 2)), ONE_AND_TWO, sample=dominant, complex=True),
    Row(banded_solve_p, ((4, 5), (5, 2)), ONE_AND_TWO, name="with-exchanges", tolerance=1e-4),
    Row(banded_solve_p, ((2, 3, 4), (2, 4, 1)), TRIDIAGONAL, sample=dominant, name="stacked"),
    Row(banded_solve_p, ((1, 3), (3, 2)), {"lower": 0, "upper": 0}, sample=dominant, name="diagonal"),
    Row(banded_solve_p, ((3, 3), (3, 1)), {"lower": 2, "upper": 0}, sample="positive", name="lower"),
    Row(banded_solve_p, ((3, 2), (2, 1)), {"lower": 0, "upper": 2}, sample="positive", name="wider-than-the-matrix"),
    Row(banded_solve_p, ((3, 2), (2, 0)), TRIDIAGONAL, sample=dominant, name="empty"),
]
