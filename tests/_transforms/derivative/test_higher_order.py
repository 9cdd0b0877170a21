"""Jacobians, Hessians and their products compared with JAX's, over trees, argnums, nestings and both engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NonScalarOutputError, NotDifferentiableError, TreeMismatchError

RNG = np.random.default_rng(11)
X, Y = RNG.normal(size=3), RNG.normal(size=(2, 3))
PARAMS = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}


def curve(np: Any, x: Any, y: Any) -> Any:
    return {"product": np.sin(y) * x, "total": np.sum(np.exp(0.1 * x)) * np.sum(y)}


def layer(np: Any, params: Any, x: Any) -> Any:
    return np.tanh(x @ params["w"] + params["b"])


def loss(np: Any, params: Any, x: Any) -> Any:
    return np.sum(layer(np, params, x) ** 2) + np.sum(params["w"] ** 3)


FUNCTIONS = {"curve": (curve, (X, Y)), "layer": (layer, (PARAMS, X)), "loss": (loss, (PARAMS, X))}


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], tuple]:
    return FUNCTIONS[request.param]


def by_jax(transform: Any, f: Callable[..., Any], args: tuple, **options: Any) -> Any:
    with jax.enable_x64(True):
        return jax.device_get(jax.jit(transform(partial(f, jax.numpy), **options))(*args))


def assert_same(got: Any, expected: Any, tolerance: float = 1e-10) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(expected)
    for x, y in zip(fg.tree.leaves(got), fg.tree.leaves(expected), strict=True):
        assert np.shape(x) == np.shape(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1,)])
@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "jacobian", "hessian"])
def test_jacobians_are_jaxs(function: tuple[Any, tuple], name: str, argnums: Any) -> None:
    f, args = function
    expected = by_jax(getattr(jax, name), f, args, argnums=argnums)
    assert_same(getattr(fg, name)(partial(f, np), argnums)(*args), expected)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_compiled_outside_and_inside(function: tuple[Any, tuple], name: str, engine: str) -> None:
    f, args = function
    transform, jit = getattr(fg, name), partial(fg.jit, engine=engine)
    expected = by_jax(getattr(jax, name), f, args)
    assert_same(jit(transform(partial(f, np)))(*args), expected)
    assert_same(transform(jit(partial(f, np)))(*args), expected)


@pytest.mark.long
@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_on_xla_arrays(function: tuple[Any, tuple], name: str) -> None:
    f, args = function
    expected = by_jax(getattr(jax, name), f, args, argnums=(0, 1))
    with jax.enable_x64(True):
        arrays = jax.tree.map(jax.numpy.asarray, args)
    got = getattr(fg, name)(partial(f, np), (0, 1))(*arrays)
    assert all(isinstance(leaf, jax.Array) for leaf in fg.tree.leaves(got))
    assert_same(got, expected)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_auxiliary_output(name: str) -> None:
    jacobian, aux = getattr(fg, name)(lambda x: (np.sum(x**3), {"doubled": 2 * x, "name": 7}), has_aux=True)(X)
    expected = by_jax(getattr(jax, name), lambda np, x: np.sum(x**3), (X,))
    assert_same(jacobian, expected)
    np.testing.assert_array_equal(aux["doubled"], 2 * X)
    assert aux["name"] == 7


@pytest.mark.parametrize("mode", ["forward", "reverse", None])
def test_jacobian_takes_the_mode_that_is_named_or_fits(mode: str | None) -> None:
    modes = []

    @fg.custom_vjp
    def noted(x: Any) -> Any:
        return x

    noted.defvjp(lambda x: (x, None), lambda _, x_bar: (modes.append("reverse") or x_bar,))
    noted.defjvp(lambda xs, x_dots: (modes.append("forward") or xs[0], x_dots[0]))
    tall, wide = (lambda x: np.outer(noted(x), Y).ravel()), (lambda x: np.sum(noted(x)) * Y[0, 0])
    for f, fits in ((tall, "forward"), (wide, "reverse")):
        modes.clear()
        np.testing.assert_allclose(fg.jacobian(f, mode=mode)(X), fg.jacrev(f)(X))
        assert modes[0] == (mode or fits)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "jacobian", "hessian"])
def test_large_jacobians_are_computed_in_several_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        y = np.tanh(x["a"] @ x["b"])
        return {"sum": np.sum(y), "rows": y[0] * x["c"], "none": x["b"][:, :0]}

    x = {"a": X[:2] * np.ones((3, 2)), "b": Y[:, :2], "c": np.float32(2.0)}
    expected = getattr(fg, name)(f)(x)
    for size in (1, 20, 45):
        monkeypatch.setattr("funcgrad._transforms.derivative.higher_order._BATCH", size)
        assert_same(getattr(fg, name)(f)(x), expected)


def test_jacobian_by_shape_of_what_one_mode_refuses() -> None:
    wave, modulus = (lambda x: np.exp(1j * x)), (lambda z: np.append(np.abs(z), np.abs(z)))
    np.testing.assert_array_equal(fg.jacobian(wave)(X), fg.jacfwd(wave)(X))
    np.testing.assert_array_equal(fg.jacobian(modulus)(X + 1j), fg.jacrev(modulus)(X + 1j))
    with pytest.raises(NotDifferentiableError, match="jacfwd: square is asked by an input of type c128"):
        fg.jacobian(np.square)(X + 1j)
    with pytest.raises(ValueError, match="jacobian: mode is 'rows'; needed 'forward', 'reverse' or None"):
        fg.jacobian(np.sin, mode="rows")
    cube = fg.custom_vjp(lambda x: np.append(x, x**3))
    cube.defvjp(lambda x: (np.append(x, x**3), x), lambda x, y_bar: (y_bar[:3] + 3 * x**2 * y_bar[3:],))
    np.testing.assert_allclose(fg.jacobian(cube)(X), np.concatenate([np.eye(3), np.diag(3 * X**2)]))


def test_linearize_runs_the_function_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.sin(x) if np.sum(x) > -100 else x

    out, f_jvp = fg.linearize(f, X)
    np.testing.assert_array_equal(out, np.sin(X))
    for x_dot in np.eye(3):
        np.testing.assert_allclose(f_jvp(x_dot), fg.jvp(f, (X,), (x_dot,))[1])
    assert len(calls) == 4
    with pytest.raises(TreeMismatchError):
        f_jvp(np.ones(2))


def test_linearize_gives_numbers_also_through_jit() -> None:
    f = fg.jit(lambda x: np.tanh(x) * x, engine="numpy")
    out, f_jvp = fg.linearize(lambda x: f(f(x)), X)
    assert type(out) is np.ndarray
    np.testing.assert_allclose(f_jvp(X), fg.jvp(lambda x: f(f(x)), (X,), (X,))[1])


def test_linearize_is_differentiated() -> None:
    def derivative(x: Any) -> Any:
        return np.sum(fg.linearize(np.sin, x)[1](x * x))

    expected = by_jax(jax.grad, lambda np, x: np.sum(np.cos(x) * x * x), (X,))
    assert_same(fg.grad(derivative)(X), expected)
    assert_same(fg.jit(fg.grad(derivative), engine="numpy")(X), expected)


def test_hvp_is_jaxs() -> None:
    rng = np.random.default_rng(3)
    direction = fg.tree.map(lambda x: np.asarray(rng.normal(size=x.shape)), PARAMS)
    expected = by_jax(
        lambda f: lambda p, x, p_dot: jax.jvp(lambda p: jax.grad(f)(p, x), (p,), (p_dot,))[1],
        loss,
        (PARAMS, X, direction),
    )
    f = partial(loss, np)
    assert_same(fg.hvp(lambda p: f(p, X), (PARAMS,), (direction,)), expected)
    assert_same(fg.hvp(lambda p: f(p, X))((PARAMS,), (direction,)), expected)
    both = fg.hvp(f, (PARAMS, X), (direction, np.zeros(3)))
    assert len(both) == 2
    assert_same(both[0], expected)
    for engine in ("numpy", "xla"):
        product = fg.jit(lambda p, d: fg.hvp(lambda p: f(p, X), (p,), (d,)), engine=engine)
        assert_same(product(PARAMS, direction), expected)


def test_hvp_of_a_function_with_a_rule_for_reverse_mode_only() -> None:
    cube = fg.custom_vjp(lambda x: x**3)
    cube.defvjp(lambda x: (x**3, x), lambda x, y_bar: (3 * x**2 * y_bar,))
    np.testing.assert_allclose(fg.hvp(lambda x: np.sum(cube(x)), (X,), (np.ones(3),)), 6 * X)


def test_third_and_fourth_order() -> None:
    def f(np: Any, x: Any) -> Any:
        return np.sum(np.sin(x) * np.sum(x**2))

    assert_same(fg.jacfwd(fg.hessian(partial(f, np)))(X), by_jax(lambda f: jax.jacfwd(jax.hessian(f)), f, (X,)))
    assert_same(
        fg.jacrev(fg.jacrev(fg.jacrev(partial(f, np))))(X), by_jax(lambda f: jax.jacfwd(jax.hessian(f)), f, (X,))
    )
    fourth = by_jax(lambda f: jax.hessian(jax.hessian(f)), f, (X,))
    assert_same(fg.hessian(fg.hessian(partial(f, np)))(X), fourth, 1e-9)


@pytest.mark.parametrize("transform", [fg.jacfwd, fg.jacrev])
def test_perturbations_are_not_confused(transform: Any) -> None:
    """The inner derivative by ``y`` of ``x + y`` is 1, whatever ``x`` is outside: Siskind and Pearlmutter (2005)."""
    assert float(transform(lambda x: x * transform(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(fg.grad(lambda x: x * transform(lambda y: x * y * y)(x))(3.0)) == 54.0


def test_no_outputs_and_no_inputs() -> None:
    assert fg.jacrev(lambda x: x)(np.zeros((0,))).shape == (0, 0)
    assert fg.jacfwd(lambda x: np.zeros(2) * np.sum(x))(np.zeros((0,))).shape == (2, 0)


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    assert fg.hessian(lambda x: np.sum(np.sin(x)))(x).dtype == np.float32
    assert fg.linearize(np.sin, x)[1](x).dtype == np.float32


def test_refusals() -> None:
    with pytest.raises(NotDifferentiableError, match="dtype int64"):
        fg.jacfwd(lambda x: x)(np.arange(3))
    with pytest.raises(NotDifferentiableError, match=r"jacfwd: .* c128"):
        fg.jacfwd(lambda x: x)(np.ones(2, complex))
    with pytest.raises(NotDifferentiableError, match=r"jacrev: .* c128"):
        fg.jacrev(lambda x: x * 1j)(np.ones(2))
    with pytest.raises(NonScalarOutputError):
        fg.hvp(lambda x: x, (X,), (X,))
    with pytest.raises(TypeError, match=r"hvp: tangents is a NoneType; needed a tuple"):
        fg.hvp(np.sum, (X,))  # pyright: ignore[reportCallIssue]  (the misuse under test)
    with pytest.raises(TypeError, match=r"jacrev: argument 1 .* 1 positional"):
        fg.jacrev(lambda x: x, 1)(X)
    with pytest.raises(TypeError, match=r"jacrev: with holomorphic=True .* is asked by an input of type f64\[2\]"):
        fg.jacrev(lambda x: x * 1j, holomorphic=True)(np.ones(2))
    with pytest.raises(TypeError, match=r"jacfwd: with holomorphic=True .* has an output of type f64"):
        fg.jacfwd(np.real, holomorphic=True)(np.ones(2, complex))


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_holomorphic_functions(name: str) -> None:
    def f(xp: Any, z: Any) -> Any:
        return xp.stack([z[0] ** 2 * z[1], xp.sin(z[0]) * z[1] ** 3])

    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
    expected = by_jax(getattr(jax, name), f, (z,), holomorphic=True)
    assert_same(getattr(fg, name)(partial(f, np), holomorphic=True)(z), expected)
    assert_same(fg.jit(getattr(fg, name)(partial(f, np), holomorphic=True))(z), expected)


WITHOUT_DERIVATIVE = {
    "argmax": (np.argmax, "int64"),
    "a comparison": (lambda x: np.any(x > 0), "bool"),
    "a Python int": (lambda x: 3, "int64"),
    "a length": (len, "int64"),
    "a cast": (lambda x: np.sum(x).astype(np.int32), "int32"),
}


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVE)
@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad, fg.jacrev, fg.jacfwd, fg.hessian])
def test_an_output_that_is_no_float_is_refused_by_its_dtype(name: str, transform: Any) -> None:
    f, dtype = WITHOUT_DERIVATIVE[name]
    with pytest.raises(NotDifferentiableError, match=rf"asked of an output of .* It has dtype {dtype} "):
        transform(f)(np.ones(3))


def test_integers_beside_a_result_are_no_obstacle() -> None:
    x = np.array([1.0, 3.0])
    assert fg.grad(lambda x: (np.sum(x), np.argmax(x)), has_aux=True)(x)[1] == 1
    assert fg.jvp(np.argmax, (x,), (x,)) == (1, 0)
    place, pullback = fg.vjp(np.argmax, x)
    assert place == 1
    np.testing.assert_array_equal(pullback(0)[0], np.zeros(2))
    np.testing.assert_array_equal(fg.grad(lambda x: 3.0)(x), np.zeros(2))
