"""Rows for ``funcgrad._ops.reduce.cumulative``."""

import numpy as np

from funcgrad._ops.reduce.cumulative import cummax_p, cummin_p, cumprod_p, cumsum_p, recurrence_p
from tests.laws.rows._row import Row


def with_zeros(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    x = rng.normal(size=shape)
    x.flat[1::3] = 0
    return x.astype(dtype)


def params(axis: int, *, reverse: bool = False) -> dict:
    return {"axis": axis, "reverse": reverse}


ROWS = [
    Row(cumsum_p, ((4,),), params(0), complex=True),
    Row(cumsum_p, ((2, 3, 2),), params(1, reverse=True), complex=True, name="reverse"),
    Row(cumsum_p, ((0, 2),), params(0), name="empty"),
    Row(cumprod_p, ((4,),), params(0), complex=True),
    Row(cumprod_p, ((2, 3, 2),), params(1, reverse=True), complex=True, name="reverse"),
    Row(cumprod_p, ((7,),), params(0), sample=with_zeros, name="zeros"),
    Row(cumprod_p, ((2, 0),), params(1), name="empty"),
    Row(recurrence_p, ((4,), (4,)), params(0), complex=True),
    Row(recurrence_p, ((2, 3), (2, 3)), params(1, reverse=True), complex=True, name="reverse"),
    Row(recurrence_p, ((37, 2), (37, 2)), params(0), sample="unit", name="long"),
    Row(recurrence_p, ((38,), (38,)), params(0, reverse=True), sample="unit", name="long-reverse"),
    Row(recurrence_p, ((0,), (0,)), params(0), name="empty"),
    Row(cummax_p, ((2, 5),), params(1), sample="distinct"),
    Row(cummax_p, ((5, 2),), params(0, reverse=True), sample="distinct", name="reverse"),
    Row(cummin_p, ((2, 5),), params(1), sample="distinct"),
    Row(cummin_p, ((0,),), params(0), name="empty"),
]
