"""Rows for ``funcgrad._ops.reduce.reduce``."""

import numpy as np

from funcgrad._ops.reduce.reduce import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
)
from tests.laws.rows._row import Row
from tests.laws.rows.reduce.cumulative import with_zeros

MASK = np.array([[True, False, True], [True, True, True]])


def over(*axes: int, keepdims: bool = False) -> dict:
    return {"axes": axes, "keepdims": keepdims}


ROWS = [
    Row(reduce_max_p, ((2, 3),), over(0, 1), sample="distinct"),
    Row(reduce_max_p, ((2, 3, 4),), over(0, 2), sample="distinct", name="axes"),
    Row(reduce_max_p, ((2, 3),), over(1, keepdims=True), sample="distinct", name="keepdims"),
    Row(reduce_max_p, ((),), over(), name="scalar"),
    Row(reduce_max_p, ((0, 2),), over(1), name="empty"),
    Row(reduce_min_p, ((2, 3),), over(0), sample="distinct"),
    Row(reduce_prod_p, ((2, 3),), over(0, 1), complex=True),
    Row(reduce_prod_p, ((2, 3, 4),), over(0, 2), complex=True, name="axes"),
    Row(reduce_prod_p, ((2, 3),), over(1, keepdims=True), name="keepdims"),
    Row(reduce_prod_p, ((2, 3),), over(0, 1), sample=with_zeros, name="zeros"),
    Row(reduce_prod_p, ((4,),), over(0), sample=with_zeros, name="two-zeros"),
    Row(reduce_prod_p, ((),), over(), name="scalar"),
    Row(reduce_prod_p, ((0, 2),), over(0), name="empty"),
    Row(reduce_and_p, (MASK,), over(1), differentiable=False),
    Row(reduce_and_p, (np.empty((0, 2), bool),), over(0, keepdims=True), differentiable=False, name="empty"),
    Row(reduce_or_p, (MASK,), over(0, 1), differentiable=False),
    Row(argmax_p, ((2, 5),), {"axis": 1}, sample="distinct", differentiable=False),
    Row(argmax_p, (np.array([1.0, 2.0, 2.0]),), {"axis": 0}, differentiable=False, name="ties"),
    Row(argmin_p, ((5, 2),), {"axis": 0}, sample="distinct", differentiable=False),
]
