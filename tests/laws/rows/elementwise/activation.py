"""Rows for ``funcgrad._ops.elementwise.activation``."""

import numpy as np

from funcgrad._ops.elementwise.activation import erf_p, relu_p
from tests.laws.rows._row import Row


def _off_the_kink(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 2.0, shape)).astype(dtype)


ROWS = [
    Row(relu_p, ((2, 3),), sample=_off_the_kink),
    Row(relu_p, ((),), sample="positive", name="scalar"),
    Row(relu_p, ((0, 3),), name="empty"),
    Row(erf_p, ((2, 3),)),
    Row(erf_p, ((),), name="scalar"),
    Row(erf_p, ((0, 3),), name="empty"),
]
