"""Taylor mode and Laplacians of functions with rules of the user, under other transforms and on each engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg

X = np.arange(1.0, 5.0)


@fg.custom_jvp
def pushed(x: Any) -> Any:
    return x**2


@pushed.defjvp
def _push(primals: Any, tangents: Any) -> Any:
    return pushed(primals[0]), 2 * primals[0] * tangents[0]


@fg.custom_vjp
def pulled(x: Any) -> Any:
    return x**2


pulled.defvjp(lambda x: (pulled(x), x), lambda x, y_bar: (2 * x * y_bar,))
pulled.defjvp(lambda primals, tangents: (pulled(primals[0]), 2 * primals[0] * tangents[0]))


def terms(f: Callable[[Any], Any], x: Any) -> Any:
    return fg.jet(lambda x: f(x[1:]) * x[:-1], (x,), ([x * 0 + 1, 0, 0],))[1]


def total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(f(x[1:]) * x[:-1])


WAYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "numpy": lambda f: fg.jit(f, engine="numpy")(X),
    "xla": lambda f: fg.jit(f)(X),
    "vmap": lambda f: fg.tree.map(lambda y: y[1], fg.vmap(f)(np.stack([2 * X, X]))),
    "jvp in jit": lambda f: fg.jit(lambda x: fg.jvp(f, (x,), (x,))[0], engine="numpy")(X),
    "arrays of JAX": lambda f: f(jnp.asarray(X)),
    "jax.jit": lambda f: jax.jit(f)(jnp.asarray(X)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [pushed, pulled], ids=["custom_jvp", "custom_vjp"])
def test_a_rule_of_the_user_below_another_transform(f: Any, way: str) -> None:
    with jax.enable_x64(True):
        found = WAYS[way](lambda x: terms(f, x))
        laplacian = WAYS[way](fg.laplacian(total(f)))
    np.testing.assert_allclose(found, [[8, 21, 40], [10, 16, 22], [6, 6, 6]])
    assert float(laplacian) == 12.0


@pytest.mark.parametrize("f", [pushed, pulled], ids=["custom_jvp", "custom_vjp"])
def test_a_rule_of_the_user_inside_of_a_compiled_function(f: Any) -> None:
    inner = fg.jit(f, engine="numpy")
    np.testing.assert_allclose(terms(inner, X), [[8, 21, 40], [10, 16, 22], [6, 6, 6]])
    assert fg.laplacian(total(inner))(X) == 12.0


def test_an_implicit_root_below_another_transform() -> None:
    def root(x: Any) -> Any:
        return fg.scipy.optimize.brentq(lambda y, a: y**3 - a, 0.0, 10.0, args=(x,))

    found = fg.jit(lambda x: fg.jet(root, (x,), ([1.0, 0.0],)), engine="numpy")(8.0)
    np.testing.assert_allclose(np.hstack(found[1]), [1 / 12, -1 / 144])
    np.testing.assert_allclose(found[0], 2.0)
