"""`jvp`: auxiliary data, and tangents of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.errors import TreeMismatchError


def f(x: Any) -> Any:
    return x**2, {"cube": x**3, "name": "f"}


def test_jvp_with_auxiliary_data() -> None:
    assert fg.jvp(f, (2.0,), (1.0,), has_aux=True) == (4.0, 4.0, {"cube": 8.0, "name": "f"})
    compiled = fg.jit(lambda x: fg.jvp(lambda x: (x**2, x**3), (x,), (1.0,), has_aux=True), engine="numpy")
    assert compiled(2.0) == (4.0, 4.0, 8.0)
    slope = fg.grad(lambda x: fg.jvp(lambda x: (x**2, x**3), (x,), (1.0,), has_aux=True)[2])
    assert float(slope(3.0)) == 27.0
    with pytest.raises(TypeError, match=r"jvp: with has_aux=True, .* must return a pair"):
        fg.jvp(lambda x: x, (2.0,), (1.0,), has_aux=True)


@pytest.mark.parametrize("primal", ["f4", "f8", "c16"])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f2", "f4", "f8"])
def test_tangents_of_another_dtype(dtype: str, primal: str) -> None:
    x, x_dot = np.array([0.5, 2.0], primal), np.array([1, 3], dtype)
    expected = np.cos(x) * x_dot.astype(primal)
    cube = lambda x: np.sum(x**3)
    for found in (
        fg.jvp(np.sin, (x,), (x_dot,))[1],
        fg.linearize(np.sin, x)[1](x_dot),
        fg.jit(lambda x, x_dot: fg.jvp(np.sin, (x,), (x_dot,))[1], engine="numpy")(x, x_dot)
        if dtype != "i8" and np.can_cast(dtype, primal)
        else expected,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == primal
    if primal != "c16":
        np.testing.assert_allclose(fg.hvp(cube, (x,), (x_dot,)), 6 * x * x_dot, rtol=1e-6)


def test_tangents_that_would_lose_something() -> None:
    x = np.array([0.5, 2.0])
    for x_dot in (np.array([True, False]), np.array([2**60 + 1, 1]), np.array([1j, 1.0]), np.array(["a", "b"])):
        with pytest.raises((TreeMismatchError, TypeError), match="the tangent of argument 0"):
            fg.jvp(np.sin, (x,), (x_dot,))
    with pytest.raises(TreeMismatchError, match=r"is i64\[2\]; needed f32\[2\]"):
        fg.jvp(np.sin, (x.astype(np.float32),), (np.array([2**24 + 1, 1]),))


def test_scipy_probes_a_product_with_integers() -> None:
    f = lambda x: np.sum((x - 1) ** 4) + np.sum(x**2)
    found = scipy.optimize.minimize(
        f, np.zeros(3), method="trust-constr", jac=fg.grad(f), hessp=lambda x, v: fg.hvp(f, (x,), (v,))
    )
    np.testing.assert_allclose(fg.grad(f)(found.x), 0, atol=1e-6)
