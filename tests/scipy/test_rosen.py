"""Rosenbrock's function beside SciPy's, and what a minimizer of SciPy's says of a gradient that it calls."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import optimize

W = np.array([1.0, -2.0, 0.5])


def test_rosenbrocks_function() -> None:
    x, p = np.random.default_rng(1).normal(size=5), np.arange(5.0)
    for name, args in (("rosen", (x,)), ("rosen_der", (x,)), ("rosen_hess", (x,)), ("rosen_hess_prod", (x, p))):
        np.testing.assert_allclose(getattr(optimize, name)(*args), getattr(scipy.optimize, name)(*args), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(optimize.rosen)(x), scipy.optimize.rosen_der(x), rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.jacobian(optimize.rosen_der))(x), scipy.optimize.rosen_hess(x), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(lambda x: p @ optimize.rosen_hess(x) @ p)(x), fg.grad(
        lambda x: p @ optimize.rosen_hess_prod(x, p))(x), rtol=1e-12)  # fmt: skip
    for points in (np.ones((3, 2)) * 2, x.astype(np.float32), [1, 2]):
        ours, expected = optimize.rosen(points), scipy.optimize.rosen(points)
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours, expected, rtol=1e-6)
    with pytest.raises(IndexError, match="out of bounds for fewer than two variables"):
        optimize.rosen_der(np.ones(1))


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_a_gradient_that_scipy_calls_is_told_of_itself() -> None:
    """An error inside ``jac=fg.grad(f)`` names the function in ``f``, and not the minimizer around it."""
    for function in (scipy.optimize.rosen, optimize.rosen):
        np.testing.assert_allclose(
            scipy.optimize.minimize(scipy.optimize.rosen, W, jac=fg.grad(function)).x, np.ones(3), atol=1e-4
        )
    with pytest.raises(UnsupportedFunctionError, match=r"^scipy\.special\.softmax met a traced value"):
        scipy.optimize.minimize(scipy.optimize.rosen, W, jac=lambda x: fg.jacobian(scipy.special.softmax)(x)[0])
