"""Rules and functions that write to what they are given: the numbers are those of a rule that does not write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
from funcgrad import extend
from funcgrad.jax import debug

X = np.array([1.0, 2.0, 3.0])
ENGINES = ["numpy", "numba", "xla"]


@fg.custom_jvp
def pushed(x: Any) -> Any:
    return x**3


@pushed.defjvp
def _push(primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    y = x**3
    x *= x
    x_dot *= 3 * x
    return y, x_dot


@fg.custom_vjp
def pulled(x: Any) -> Any:
    x *= x * x
    return x


def _forward(x: Any) -> Any:
    y = x**3
    x *= x
    return y, x


def _backward(squares: Any, y_bar: Any) -> Any:
    y_bar *= 3
    squares *= y_bar
    return (squares,)


pulled.defvjp(_forward, _backward)


def _sine_rule(t: Any, x: Any) -> Any:
    t *= 3 * x * x
    return t


cube_p = extend.elementwise(
    "cube_that_writes",
    "x",
    numpy=lambda x: x**3,
    xla=lambda lax, x: lax.mul(x, lax.mul(x, x)),
    maps=extend.PerOperand(("x",), [_sine_rule], [_sine_rule]),
)
CUBES = [pytest.param(f, id=name) for name, f in [("jvp", pushed), ("vjp", pulled), ("extend", cube_p)]]


def used_twice(cube: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``8 x**6 + x**4``, whose rule gets values and cotangents that other operations use too."""

    def f(x: Any) -> Any:
        z = x * 2
        y = cube(z)
        return np.sum(y * z**3 / 8 + cube(x) * x) + 0 * np.sum(y + z)

    return f


FIRST, SECOND = 48 * X**5 + 4 * X**3, 240 * X**4 + 12 * X**2


def ways(f: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Return the ways to the derivative of an elementwise function's sum."""
    found = {
        "grad": fg.grad(f),
        "vmap of grad": lambda x: fg.vmap(fg.grad(f))(x[:, None])[:, 0],
        "jax.jit": jax.jit(fg.grad(f)),
    }
    for engine in ENGINES:
        found[f"jit of grad, {engine}"] = fg.jit(fg.grad(f), engine=engine)
        found[f"grad of jit, {engine}"] = fg.grad(fg.jit(f, engine=engine))
    return found


@pytest.mark.parametrize("cube", CUBES)
def test_first_derivatives(cube: Any) -> None:
    x = X.copy()
    with jax.enable_x64(True):
        for name, gradient in ways(used_twice(cube)).items():
            for _ in range(2):
                assert_allclose(gradient(x), FIRST, rtol=1e-13, err_msg=name)
    assert_array_equal(x, X)


@pytest.mark.parametrize("cube", CUBES)
def test_second_derivatives(cube: Any) -> None:
    f = used_twice(cube)
    for engine in ENGINES:
        assert_allclose(fg.jit(fg.jacobian(fg.grad(f)), engine=engine)(X), np.diag(SECOND), rtol=1e-13)
    assert_allclose(fg.jacobian(fg.grad(f))(X), np.diag(SECOND), rtol=1e-13)
    assert_allclose(fg.grad(lambda x: np.sum(fg.grad(f)(x)))(X), SECOND, rtol=1e-13)


@pytest.mark.parametrize("cube", [CUBES[0], CUBES[2]])
def test_forward_mode(cube: Any) -> None:
    f, x_dot = used_twice(cube), np.ones(3)
    for g in [f, *[fg.jit(f, engine=engine) for engine in ENGINES]]:
        assert_allclose(fg.jvp(g, (X,), (x_dot,))[1], FIRST.sum())
        assert_allclose(fg.jacfwd(g)(X), FIRST)
        assert_allclose(fg.hessian(g)(X), np.diag(SECOND))
    assert_array_equal(x_dot, np.ones(3))


@pytest.mark.parametrize("cube", CUBES)
def test_a_pullback_runs_again(cube: Any) -> None:
    y_bar = np.array([1.0, -1.0, 2.0])
    for f in [cube, *[fg.jit(cube, engine=engine) for engine in ENGINES]]:
        pull = fg.vjp(f, X)[1]
        for _ in range(2):
            assert_allclose(pull(y_bar)[0], 3 * X**2 * y_bar)
    assert_array_equal(y_bar, [1.0, -1.0, 2.0])


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_call_numpy(engine: str | None) -> None:
    buffer = np.empty(3)

    def doubled(x: np.ndarray) -> np.ndarray:
        x *= 2
        buffer[:] = x
        return buffer

    def f(x: Any) -> Any:
        z = x + 1.0
        y = fg.call_numpy(doubled, x, z)
        return y + fg.call_numpy(doubled, x, x) + z + x

    run = f if engine is None else fg.jit(f, engine=engine)
    x = X.copy()
    for _ in range(2):
        assert_array_equal(run(x), 2 * (X + 1) + 2 * X + (X + 1) + X)
    assert_array_equal(x, X)
    first = fg.call_numpy(doubled, X, X)
    fg.call_numpy(doubled, X, 5 * X)
    assert_array_equal(first, 2 * X)


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_effects(engine: str | None) -> None:
    seen = []

    def effect(x: np.ndarray) -> None:
        x *= 2
        seen.append(x)

    def f(x: Any) -> Any:
        z = x + 1.0
        debug.callback(effect, z)
        debug.callback(effect, x)
        return z + x

    x = X.copy()
    y = (f if engine is None else fg.jit(f, engine=engine))(x)
    jax.effects_barrier()
    assert_array_equal(np.asarray(y), 2 * X + 1)
    assert_array_equal(x, X)
    assert sorted(map(np.sum, seen)) == [12, 18]
