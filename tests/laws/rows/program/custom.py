"""Rows for ``funcgrad._ops.program.custom``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.aval import Aval
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p
from tests.laws.rows._row import Row


def wave(x: Any, y: Any) -> list[Any]:
    return [fnp.sin(x) * y]


class Rule:
    """The right derivative of ``sin(x) y``, as a user would give it."""

    name = "wave"
    arity = 2
    pushes = None

    def forward(self, xs: Sequence[Any]) -> tuple[list, list]:
        return wave(*xs), list(xs)

    def backward(self, residuals: Sequence[Any], y_bars: Sequence[Any]) -> list:
        (x, y), (bar,) = residuals, y_bars
        return [bar * y * fnp.cos(x), bar * fnp.sin(x)]

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        (x, y), (x_dot, y_dot) = xs, x_dots
        return wave(x, y), [x_dot * y * fnp.cos(x) + y_dot * fnp.sin(x)]


def params(shape: tuple[int, ...]) -> dict[str, Any]:
    aval = Aval(shape, np.dtype(float))
    return {"graph": fg.make_graph(wave)(aval, aval), "rule": Rule()}


DOUBLE = ("float64",)


REVERSE_ONLY = "custom_vjp has no forward mode; tests/_transforms/custom/test_decorators.py holds its reverse mode"

ROWS = [
    Row(custom_jvp_p, ((2, 3), (2, 3)), params((2, 3)), dtypes=DOUBLE),
    Row(custom_jvp_p, ((), ()), params(()), dtypes=DOUBLE, name="scalar"),
    Row(custom_jvp_p, ((0,), (0,)), params((0,)), dtypes=DOUBLE, name="empty"),
    Row(custom_vjp_p, ((2, 3), (2, 3)), params((2, 3)), dtypes=DOUBLE, elsewhere=REVERSE_ONLY),
    Row(custom_vjp_p, ((), ()), params(()), dtypes=DOUBLE, elsewhere=REVERSE_ONLY, name="scalar"),
]
