"""Rows for ``funcgrad._ops.elementwise.cast``."""

import numpy as np

from funcgrad._ops.elementwise.cast import cast_p, complex_p, conj_p, fit_p, imag_p, real_p, weak_cast_p
from tests.laws.rows._row import Row

ROWS = [
    Row(cast_p, ((2, 3),), {"dtype": np.dtype("float64")}, complex=True),
    Row(cast_p, ((2, 3),), {"dtype": np.dtype("complex128")}, complex=True, name="complex"),
    Row(cast_p, ((),), {"dtype": np.dtype("float64")}, complex=True, name="scalar"),
    Row(cast_p, ((0, 3),), {"dtype": np.dtype("complex128")}, name="empty"),
    Row(cast_p, ((2, 3),), {"dtype": np.dtype("int32")}, differentiable=False, name="integer"),
    Row(cast_p, ((2, 3),), {"dtype": np.dtype("bool")}, differentiable=False, name="bool"),
    Row(cast_p, (np.array([1, 2]),), {"dtype": np.dtype("float32")}, differentiable=False, name="from-integer"),
    Row(weak_cast_p, ((2,),), {"dtype": np.dtype("complex128")}),
    Row(weak_cast_p, (np.array([1, 2]),), {"dtype": np.dtype("float64")}, differentiable=False, name="from-integer"),
    Row(fit_p, (np.array([1, -2]),), {"dtype": np.dtype("int8")}, differentiable=False),
    Row(real_p, ((2, 3),), complex="only"),
    Row(real_p, ((),), complex="only", name="scalar"),
    Row(imag_p, ((2, 3),), complex="only"),
    Row(imag_p, ((),), complex="only", name="scalar"),
    Row(conj_p, ((2, 3),), complex="only"),
    Row(conj_p, ((),), complex="only", name="scalar"),
    Row(complex_p, ((2, 3), (2, 3))),
    Row(complex_p, ((2, 3), (3,)), name="broadcast"),
    Row(complex_p, ((), ()), name="scalar"),
    Row(complex_p, ((0, 3), (3,)), name="empty"),
]
