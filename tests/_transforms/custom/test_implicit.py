"""Derivatives of roots of equations, compared with closed forms and JAX, in both modes, compiled and batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, TreeMismatchError


def cube_root(a: Any) -> Any:
    return fg.implicit_root(lambda x, a: x**3 - a, np.array(1.0), a)


def network(np: Any, x: Any, params: Any) -> Any:
    return x - np.tanh(params["w"] @ x + params["b"]) * 0.7


RNG = np.random.default_rng(3)
PARAMS = {"w": RNG.normal(size=(3, 3)), "b": RNG.normal(size=3)}
DOTS = {"w": RNG.normal(size=(3, 3)), "b": RNG.normal(size=3)}


def settled(params: Any) -> Any:
    return np.sum(fg.implicit_root(lambda x, p: network(np, x, p), np.zeros(3), params) ** 3)


def settled_in_jax(params: Any) -> Any:
    """Differentiate Newton's iteration step by step."""
    x = jnp.zeros(3)
    for _ in range(12):
        x = x - jnp.linalg.solve(jax.jacfwd(network, 1)(jnp, x, params), network(jnp, x, params))
    return jnp.sum(x**3)


def test_derivatives_of_any_order() -> None:
    np.testing.assert_allclose(cube_root(8.0), 2.0, rtol=1e-12)
    derivatives = (fg.grad(cube_root), fg.grad(fg.grad(cube_root)), fg.grad(fg.grad(fg.grad(cube_root))))
    for derivative, wanted in zip(derivatives, (1 / 12, -1 / 144, 10 / 27 * 8 ** (-8 / 3)), strict=True):
        np.testing.assert_allclose(derivative(8.0), wanted, rtol=1e-10)
    np.testing.assert_allclose(fg.jvp(cube_root, (8.0,), (2.0,))[1], 1 / 6, rtol=1e-10)
    np.testing.assert_allclose(fg.linearize(cube_root, 8.0)[1](2.0), 1 / 6, rtol=1e-10)


@pytest.mark.parametrize(
    "route", [lambda f: f, fg.jit, lambda f: fg.jit(f, engine="numpy")], ids=["eager", "xla", "np"]
)
def test_against_jax_through_the_iteration(route: Callable[..., Any]) -> None:
    with jax.enable_x64(True):
        wanted = jax.grad(settled_in_jax)(PARAMS)
        product = jax.jvp(jax.grad(settled_in_jax), (PARAMS,), (DOTS,))[1]
    found = route(fg.grad(settled))(PARAMS)
    second = route(lambda params, dots: fg.hvp(settled, (params,), (dots,)))(PARAMS, DOTS)
    for name in PARAMS:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(second[name], product[name], rtol=1e-8, atol=1e-11)


def test_batches() -> None:
    a = np.array([1.0, 8.0, 27.0])
    np.testing.assert_allclose(fg.vmap(cube_root)(a), [1, 2, 3], rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.grad(cube_root))(a), 1 / (3 * np.array([1, 4, 9])), rtol=1e-10)


def test_shapes_dtypes_and_arguments_without_derivative() -> None:
    def root(v: Any, power: Any) -> Any:
        return fg.implicit_root(lambda x, v, power: x**power + x - v, np.ones((2, 2), v.dtype), v, power)

    v = RNG.uniform(1, 3, size=(2, 2))
    fg.check_grads(lambda v: root(v, np.array(3)), (v,))
    x = root(v.astype(np.float32), np.array(3))
    assert x.dtype == np.float32
    assert x.shape == (2, 2)
    np.testing.assert_allclose(x**3 + x, v, rtol=1e-5)
    assert fg.grad(lambda v: np.sum(root(v, np.array(3))))(v.astype(np.float32)).dtype == np.float32


def test_a_solver_of_ones_own() -> None:
    def solver(f: Callable[..., Any], guess: np.ndarray) -> Any:
        assert type(guess) is np.ndarray
        return scipy.optimize.brentq(lambda x: float(f(np.asarray(x))), 0.0, 10.0, xtol=1e-14)

    def square_root(a: Any) -> Any:
        return fg.implicit_root(lambda x, a: x * x - a, np.array(1.0), a, solver=solver)

    np.testing.assert_allclose([square_root(4.0), fg.grad(square_root)(4.0)], [2, 0.25], rtol=1e-10)


def test_bad_input() -> None:
    with pytest.raises(TypeError, match=r"the guess is i64\[\]; needed an array of a real float dtype"):
        fg.implicit_root(lambda x, a: x - a, 1, 2.0)
    with pytest.raises(TreeMismatchError, match=r"returned f64\[2\] for a guess f64\[\]; needed the shape"):
        fg.implicit_root(lambda x, a: np.stack([x, x]), 1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"SciPy found no root \(.*\)\. Give a nearer guess, or a solver"):
        fg.implicit_root(lambda x, a: x * x + a, 1.0, 2.0)
    with pytest.raises(
        NotDifferentiableError, match=r"closes over a traced value.* Pass the value among the arguments"
    ):
        fg.grad(lambda a: fg.implicit_root(lambda x: x**3 - a, 1.0))(8.0)
