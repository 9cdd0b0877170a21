"""JAX's functions inside our transforms, and ours inside JAX's."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg

RNG = np.random.default_rng(4)
POINT = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}
X = RNG.normal(size=(4, 3))
DIRECTION = {"w": RNG.normal(size=(3, 2)), "b": RNG.normal(size=2)}


def layer(np: Any, params: Any, x: Any) -> Any:
    return {"y": np.tanh(x @ params["w"] + params["b"]), "count": np.sum(x > 0)}


def loss(np: Any, inner: Any, params: Any, x: Any) -> Any:
    y = inner(params, x)["y"]
    return np.sum(y**2 * inner({"w": params["w"] ** 2, "b": params["b"]}, x)["y"])


def mixed(params: Any, x: Any = X) -> Any:
    """Return NumPy code around a function written in JAX."""
    return loss(np, INNER, params, x)


INNER = fg.from_jax(partial(layer, jnp))


def plain(params: Any, x: Any = X) -> Any:
    return loss(np, partial(layer, np), params, x)


def close(got: Any, wanted: Any, tolerance: float = 1e-10) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(wanted)
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def test_values_keep_engine_and_dtype() -> None:
    got = INNER(POINT, X)
    assert type(got["y"]) is np.ndarray
    assert got["y"].dtype == np.float64
    assert got["count"] == np.sum(X > 0)
    with jax.enable_x64(True):
        assert isinstance(INNER(POINT, jnp.asarray(X))["y"], jax.Array)
    assert INNER(fg.tree.map(np.float32, POINT), np.float32(X))["y"].dtype == np.float32


def test_forward_reverse_and_second_order() -> None:
    close(mixed(POINT), plain(POINT))
    close(fg.grad(mixed)(POINT), fg.grad(plain)(POINT))
    close(fg.jvp(mixed, (POINT,), (DIRECTION,)), fg.jvp(plain, (POINT,), (DIRECTION,)))
    close(fg.linearize(mixed, POINT)[1](DIRECTION), fg.jvp(plain, (POINT,), (DIRECTION,))[1])
    close(fg.hvp(mixed, (POINT,), (DIRECTION,)), fg.hvp(plain, (POINT,), (DIRECTION,)))
    close(fg.hessian(mixed)(POINT), fg.hessian(plain)(POINT))
    close(fg.jacrev(fg.grad(mixed))(POINT), fg.hessian(plain)(POINT))
    fg.check_grads(mixed, (POINT,), order=2)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_staged_and_compiled(engine: str) -> None:
    jit = partial(fg.jit, engine=engine)
    close(jit(fg.grad(mixed))(POINT), fg.grad(plain)(POINT))
    close(fg.grad(jit(mixed))(POINT), fg.grad(plain)(POINT))
    product = fg.hvp(plain, (POINT,), (DIRECTION,))
    close(jit(lambda p, d: fg.hvp(mixed, (p,), (d,)))(POINT, DIRECTION), product)
    graph = fg.make_graph(mixed)(POINT)
    assert sum(equation.primitive.name == "jax_function" for equation in graph.equations) == 2
    close(fg.grad(graph)(POINT), fg.grad(plain)(POINT))
    in_scan = fg.grad(lambda p: fg.scan(lambda c, x: (c + mixed(p, x[None]), None), 0.0, X)[0])
    close(in_scan(POINT), fg.grad(plain)(POINT))


def test_under_jaxs_own_transforms() -> None:
    with jax.enable_x64(True):
        close(jax.jit(fg.grad(mixed))(POINT), fg.grad(plain)(POINT))
        close(jax.grad(fg.make_graph(mixed)(POINT))(POINT), fg.grad(plain)(POINT))


def test_static_arguments_and_keywords() -> None:
    f = fg.from_jax(lambda x, mode, *, scale: scale * (jnp.sin(x) if mode == "sin" else jnp.cos(x)))
    close(fg.grad(lambda x: np.sum(f(x, "sin", scale=2.0)))(X), 2 * np.cos(X))
    close(fg.grad(lambda x: np.sum(f(x, "cos", scale=2.0)))(X), -2 * np.sin(X))


def test_to_jax_under_every_transform() -> None:
    f = fg.to_jax(plain)
    by_jax = partial(loss, jnp, partial(layer, jnp))
    with jax.enable_x64(True):
        close(jax.jit(f)(POINT, X), by_jax(POINT, X))
        close(jax.grad(f)(POINT, X), jax.grad(by_jax)(POINT, X))
        close(jax.jvp(f, (POINT, X), (DIRECTION, X)), jax.jvp(by_jax, (POINT, X), (DIRECTION, X)))
        close(jax.hessian(f)(POINT, X), jax.hessian(by_jax)(POINT, X))
        close(jax.vmap(f, (None, 0))(POINT, X), jax.vmap(by_jax, (None, 0))(POINT, X))
        close(jax.vmap(jax.grad(f), (None, 0))(POINT, X), jax.vmap(jax.grad(by_jax), (None, 0))(POINT, X))
    single = jax.grad(f)(POINT, X)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(single))


def test_there_and_back() -> None:
    close(fg.grad(lambda p: fg.from_jax(fg.to_jax(plain))(p, X))(POINT), fg.grad(plain)(POINT))


def test_custom_rules_survive() -> None:
    @fg.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defjvps(lambda x_dot, y, x: 5 * x_dot)
    close(jax.vmap(jax.grad(fg.to_jax(f)))(jnp.zeros(3)), jnp.full(3, 5.0))
