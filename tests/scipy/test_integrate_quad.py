"""`quad` against integrals that are known, SciPy's own values and both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import funcgrad as fg
from funcgrad.scipy import integrate

theirs: Any = scipy.integrate

INTEGRALS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[float, ...]]] = {
    "ends and arguments": (
        lambda m, a, b, w: m.quad(lambda x, w: np.exp(w * x), a, b, (w,))[0],
        lambda a, b, w: (np.exp(w * b) - np.exp(w * a)) / w,
        (0.3, 1.2, 0.7),
    ),
    "backward": (
        lambda m, a, w: m.quad(lambda x: np.exp(w * x), a, -1.0)[0],
        lambda a, w: (np.exp(-w) - np.exp(w * a)) / w,
        (0.3, 0.7),
    ),
    "a singular end": (lambda m, p: m.quad(lambda x: x**p, 0, 1)[0], lambda p: 1 / (p + 1), (-0.4,)),
    "infinite": (
        lambda m, s: m.quad(lambda x: np.exp(-((x / s) ** 2)), -np.inf, np.inf)[0],
        lambda s: np.sqrt(np.pi) * s,
        (1.3,),
    ),
    "a weight": (
        lambda m, k: m.quad(lambda x: np.exp(-k * x), 0, np.inf, weight="cos", wvar=2.0)[0],
        lambda k: k / (k**2 + 4),
        (0.7,),
    ),
    "complex": (
        lambda m, w: np.abs(m.quad(lambda x: np.exp(1j * w * x), 0, 1, complex_func=True)[0] + 0.5) ** 2,
        lambda w: np.abs((np.exp(1j * w) - 1) / (1j * w) + 0.5) ** 2,
        (0.9,),
    ),
    "in each other": (
        lambda m, k: m.quad(lambda y: m.quad(lambda x: np.exp(-k * x * y) * y, 0, 1)[0], 0, 1)[0],
        lambda k: 1 / k + (np.exp(-k) - 1) / k**2,
        (0.8,),
    ),
    "a branch": (
        lambda m, k: m.quad(lambda x, k: k * x if x < 0.3 else k**2, 0, 1, k, points=[0.3])[0],
        lambda k: 0.045 * k + 0.7 * k**2,
        (2.0,),
    ),
}


@pytest.mark.parametrize("case", INTEGRALS)
def test_integrals(case: str) -> None:
    call, by_hand, point = INTEGRALS[case]
    ours = lambda *xs: call(integrate, *xs)
    assert ours(*point) == call(theirs, *point)
    every = tuple(range(len(point)))
    value, gradient = fg.value_and_grad(ours, every)(*point)
    np.testing.assert_allclose(value, by_hand(*point), rtol=1e-8)
    np.testing.assert_allclose(gradient, fg.grad(by_hand, every)(*point), rtol=1e-8)
    second, expected = fg.hessian(ours, every)(*point), fg.hessian(by_hand, every)(*point)
    np.testing.assert_allclose(second, expected, rtol=1e-7, atol=1e-12)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(fg.grad(ours, every), engine=engine)(*point), gradient, rtol=1e-9)
    batch = [np.array([x, 1.1 * x]) for x in point]
    np.testing.assert_allclose(fg.vmap(ours)(*batch)[1], ours(*[1.1 * x for x in point]), rtol=1e-10)
