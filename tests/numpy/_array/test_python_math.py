"""Functions of Python's module ``math`` on traced numbers, inside of ``fg.intercept()``."""

from __future__ import annotations

import math
from math import sinh
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from funcgrad.numpy._array.python_math import _OURS

TWO = {"atan2", "copysign", "fmod", "hypot", "pow"}
PREDICATES = {"isfinite", "isinf", "isnan"}
NAMES = sorted(name for name in _OURS if hasattr(math, name) and name not in PREDICATES)
SYMBOLS = [("eager", 1), ("numpy", 1), ("numba", 1), ("xla", 1), ("numpy", 8)]


def arguments(name: str) -> list[float]:
    if name in TWO:
        return [1.3, 0.4]
    return [1.4] if name == "acosh" else [0.6]


@pytest.mark.parametrize("name", NAMES)
def test_value_and_derivative_are_those_of_the_plain_function(name: str) -> None:
    function = getattr(math, name)
    at = np.array(arguments(name))

    def f(x: Any) -> Any:
        return getattr(math, name)(*x) * 2.0

    with fg.intercept():
        value, slope = fg.value_and_grad(f)(at)
        value_here, slope_here = fg.jit(fg.value_and_grad(f), engine="numpy")(at)
        assert getattr(math, name)(*at.tolist()) == function(*at.tolist())
    assert math.isclose(value, 2 * function(*at), rel_tol=1e-14)
    steps = 1e-6 * np.eye(at.size)
    differences = [2 * (function(*(at + step)) - function(*(at - step))) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, differences, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(value_here, value, rtol=1e-14)
    np.testing.assert_allclose(slope_here, slope, rtol=1e-13)
    assert getattr(math, name) is function


@pytest.mark.parametrize(("engine", "paths"), SYMBOLS)
def test_a_program_of_numbers(engine: str, paths: int) -> None:
    """A step of a vehicle, as programs of robotics write it."""

    def f(state: Any) -> Any:
        x, y, yaw, v = state
        path = []
        for i in range(4):
            x = x + v * math.cos(yaw) * 0.1
            y = y + v * math.sin(yaw) * 0.1
            yaw = yaw + v / 2.9 * math.tan(0.1 * i) * 0.1
            path.append(math.hypot(x, y) + math.atan2(y, x) + math.log(2 + v, 3) + sinh(yaw))
        return sum(path)

    with fg.intercept():
        gradient = fg.grad(f) if engine == "eager" else fg.jit(fg.grad(f), engine=engine, paths=paths)
        found = gradient(np.array([0.1, 0.2, 0.3, 1.0]))
    at = np.array([0.1, 0.2, 0.3, 1.0])
    differences = [(f(at + step) - f(at - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(found, differences, rtol=1e-8)


def test_python_errors_and_refusals() -> None:
    with fg.intercept():
        with pytest.raises(ValueError, match="math domain error"):
            fg.grad(lambda x: math.log(-x))(2.0)
        with pytest.raises(OverflowError, match="math range error"):
            fg.grad(lambda x: math.exp(1000 * x))(2.0)
        # Arrays with axes and other dtypes have no answer in Python's floats.
        for x in (np.ones(3), np.float32(2)):
            with pytest.raises(ConcretizationTypeError, match=r"float\(\) was asked"):
                fg.grad(lambda x: np.sum(math.sin(x)))(x)
    # Outside of the context, nothing changes.
    with pytest.raises(ConcretizationTypeError, match=r"float\(\) was asked"):
        fg.grad(lambda x: math.sin(x))(2.0)


def test_questions_are_answers() -> None:
    def f(x: Any) -> Any:
        return 0.0 if math.isnan(x) or math.isinf(x) or not math.isfinite(x) else x * math.fabs(x)

    with fg.intercept():
        assert float(fg.grad(f)(-3.0)) == 6.0
        assert float(fg.jit(fg.grad(f), paths=8)(-3.0)) == 6.0
