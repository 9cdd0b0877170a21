"""Black boxes: values on both engines, and derivatives only by a rule."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError

X = np.array([0.5, 1.5, 2.5])


@fg.custom_jvp
def digamma(x: Any) -> Any:
    return fg.call_numpy(scipy.special.digamma, x, x)


digamma.defjvps(lambda x_dot, y, x: x_dot * fg.call_numpy(lambda x: scipy.special.polygamma(1, x), x, x))


@fg.custom_jvp
def gammaln(x: Any) -> Any:
    return fg.call_numpy(scipy.special.gammaln, x, x)


gammaln.defjvps(lambda x_dot, y, x: x_dot * digamma(x))


def test_values_and_trees() -> None:
    def f(tree: Any, y: Any) -> Any:
        assert type(tree["x"]) is np.ndarray
        return {"sum": tree["x"] + y, "max": np.max(tree["x"])}

    spec = {"sum": X, "max": np.float64(0)}
    got = fg.call_numpy(f, spec, {"x": X}, 2 * X)
    np.testing.assert_array_equal(got["sum"], 3 * X)
    assert got["max"] == 2.5
    for engine in ("numpy", "xla"):
        again = fg.jit(lambda x: fg.call_numpy(f, spec, {"x": x}, 2 * x), engine=engine)(X)
        np.testing.assert_array_equal(again["sum"], 3 * X)
    with jax.enable_x64(True):
        eager = fg.call_numpy(f, spec, {"x": jax.numpy.asarray(X)}, 2 * X)
    assert isinstance(eager["sum"], jax.Array)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_derivatives_by_a_rule(engine: str) -> None:
    first, second = scipy.special.digamma(X), scipy.special.polygamma(1, X)

    def f(x: Any) -> Any:
        return np.sum(gammaln(x))

    np.testing.assert_allclose(fg.grad(f)(X), first)
    np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(X), first)
    np.testing.assert_allclose(fg.grad(fg.jit(f, engine=engine))(X), first)
    np.testing.assert_allclose(fg.hessian(f)(X), np.diag(second))
    np.testing.assert_allclose(fg.jit(fg.hessian(f), engine=engine)(X), np.diag(second))


def test_refusals() -> None:
    def f(x: Any) -> Any:
        return np.sum(fg.call_numpy(np.sin, x, x))

    with pytest.raises(NotDifferentiableError, match=r"call_numpy: .* through sin"):
        fg.grad(f)(X)
    with pytest.raises(NotDifferentiableError, match=r"custom_vjp"):
        fg.jvp(f, (X,), (X,))
    with pytest.raises(ValueError, match=r"returned f64\[\]; needed f64\[3\]"):
        fg.call_numpy(np.sum, X, X)
