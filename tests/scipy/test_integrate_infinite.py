"""SciPy's ``nsum`` and ``tanhsinh`` inside ``fg.intercept()``, to infinity: the derivative is that of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import funcgrad as fg

# The backward pass meets the terms that SciPy replaces.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INF = np.inf
CASES: dict[str, Callable[[Any], Any]] = {
    "zeta": lambda a: integrate.nsum(lambda k: k ** -(a + 1), 1, INF).sum,
    "powers that overflow": lambda a: integrate.nsum(lambda k: 1 / k ** (a + 1), 1, INF).sum,
    "powers to the right": lambda a: integrate.tanhsinh(lambda x: 1 / (1 + x**a) ** a, 0, INF).integral,
    "geometric": lambda a: integrate.nsum(lambda k: np.exp(-a * k), 1, INF).sum,
    "both sides": lambda a: integrate.nsum(lambda k: 1 / (k * k + a), -INF, INF).sum,
    "arguments": lambda a: integrate.nsum(lambda k, a: 1 / (k * k + a), 1, INF, args=(a,)).sum,
    "rows": lambda a: integrate.nsum(lambda k: 1 / (k * k + a), np.array([1, 5]), np.array([INF, 9])).sum[1],
    "finite": lambda a: integrate.nsum(lambda k: 1 / (k * k + a), 1, 100).sum,
    "to the right": lambda a: integrate.tanhsinh(lambda x: np.exp(-a * x * x), 0, INF).integral,
    "to the left": lambda a: integrate.tanhsinh(lambda x: 1 / (a + x * x), -INF, 1).integral,
    "the line": lambda a: integrate.tanhsinh(lambda x: 1 / (a + x * x), -INF, INF).integral,
    "traced end": lambda a: integrate.tanhsinh(lambda x: np.exp(-x), a, INF).integral,
    "wide interval": lambda a: integrate.tanhsinh(lambda x: a * x**-1.5, 1e170, 1e171).integral * 1e85,
}


@pytest.mark.parametrize("name", CASES)
def test_the_derivative_is_right_in_reverse_mode(name: str) -> None:
    f, h = CASES[name], 1e-5
    slope = (f(1.3 + h) - f(1.3 - h)) / (2 * h)
    with fg.intercept():
        value, pulled = fg.value_and_grad(f)(1.3)
    np.testing.assert_allclose(value, f(1.3), rtol=1e-12)
    np.testing.assert_allclose(pulled, slope, rtol=1e-6)
