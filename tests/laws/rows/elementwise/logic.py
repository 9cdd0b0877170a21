"""Rows for ``funcgrad._ops.elementwise.logic``."""

import numpy as np

from funcgrad._ops.elementwise import logic
from tests.laws.rows._row import Row

_ODD = np.array([1.0, np.inf, -np.inf, 0.0])
_ODD_COMPLEX = np.array([complex(np.inf, 0), complex(0, -np.inf), 1 + 2j])
_INTEGERS = np.array([[-7, 8, 0], [5, -2, 3]])
_SHIFTS = np.array([0, 1, 4])
_LOGICAL = [logic.logical_and_p, logic.logical_or_p, logic.logical_xor_p]
_BITWISE = [logic.bitwise_and_p, logic.bitwise_or_p, logic.bitwise_xor_p]
_TESTS = [logic.isnan_p, logic.isinf_p, logic.isfinite_p]

ROWS = [
    *[Row(p, ((2, 3),), complex=True, differentiable=False) for p in (*_TESTS, logic.logical_not_p)],
    *[Row(p, (_ODD,), differentiable=False, name="odd") for p in (*_TESTS, logic.logical_not_p)],
    *[Row(p, (_ODD_COMPLEX,), differentiable=False, name="odd complex") for p in _TESTS],
    *[Row(p, (_INTEGERS,), differentiable=False, name="integer") for p in _TESTS],
    *[Row(p, ((2, 3), np.array([True, False, True])), differentiable=False) for p in _LOGICAL],
    *[Row(p, (_INTEGERS, _SHIFTS), differentiable=False) for p in _BITWISE],
    *[Row(p, (_INTEGERS > 0, _SHIFTS > 0), differentiable=False, name="bool") for p in _BITWISE],
    Row(logic.bitwise_not_p, (_INTEGERS,), differentiable=False),
    Row(logic.bitwise_not_p, (_INTEGERS > 0,), differentiable=False, name="bool"),
    Row(logic.left_shift_p, (_INTEGERS, _SHIFTS), differentiable=False),
    Row(logic.right_shift_p, (_INTEGERS, _SHIFTS), differentiable=False),
    Row(
        logic.right_shift_p, (_INTEGERS.astype(np.uint8), _SHIFTS.astype(np.uint8)), differentiable=False, name="uint8"
    ),
    Row(logic.fmax_p, ((2, 3), (2, 3))),
    Row(logic.fmin_p, ((2, 3), (3,)), name="broadcast"),
    Row(logic.clip_p, ((3, 4), (4,), (3, 1)), name="broadcast"),
    Row(logic.clip_p, ((3, 4), -0.3, 0.4)),
    Row(logic.clip_p, ((), -0.3, np.inf), name="scalar"),
    Row(logic.clamp_p, ((3, 4), (4,), (3, 1)), name="broadcast"),
    Row(logic.clamp_p, ((3, 4), -0.3, 0.4)),
    Row(logic.heaviside_p, (0.0, (4,)), name="at the step"),
    Row(logic.heaviside_p, ((4,), 0.5), differentiable=False),
]
