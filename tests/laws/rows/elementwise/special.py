"""Rows for ``funcgrad._ops.elementwise.special``."""

import numpy as np

from funcgrad._ops.elementwise import special as s
from tests.laws.rows._row import Row


def _fractions(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.uniform(0.2, 0.8, shape).astype(dtype)


def _between_poles(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.uniform(0.3, 0.7, shape) + rng.integers(-3, 1, shape)).astype(dtype)


ROWS = [
    *[Row(p, ((2, 3),)) for p in (s.erfc_p, s.ndtr_p, s.i0_p, s.i1_p)],
    *[Row(p, ((2, 3),), sample="positive", name="positive") for p in (s.i0e_p, s.i1e_p)],
    Row(s.erfinv_p, ((2, 3),), sample="unit"),
    Row(s.erfc_p, ((),), name="scalar"),
    Row(s.ndtri_p, ((2, 3),), sample=_fractions),
    Row(s.betaln_p, ((2, 1), (3,)), sample="positive"),
    Row(s.logit_p, ((2, 3),), sample=_fractions),
    Row(s.gammaln_p, ((2, 3),), sample="positive"),
    Row(s.digamma_p, ((2, 3),), sample="positive"),
    Row(s.polygamma_p, ((2, 3),), {"order": 1}, sample="above_one"),
    Row(s.polygamma_p, ((2, 3),), {"order": 2}, sample="above_one", name="second"),
    Row(s.polygamma_p, ((2, 3),), {"order": 2}, sample=_between_poles, name="below zero"),
    Row(s.gamma_p, ((2, 3),), sample="positive"),
    Row(s.gamma_p, ((2, 3),), sample=_between_poles, name="between poles"),
    Row(s.xlogy_p, ((2, 3), (2, 3)), sample="positive"),
    Row(s.xlogy_p, ((2, 1), (3,)), sample="positive", name="broadcast"),
    Row(s.xlog1py_p, ((2, 3), (2, 3)), sample="positive"),
    Row(s.entr_p, ((2, 3),), sample="positive"),
]
