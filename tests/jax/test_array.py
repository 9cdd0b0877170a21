"""`Array` never changes, in eager code and inside transforms, and has the methods of ``jax.Array``."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.jax as ours
import funcgrad.jax.numpy as jnp

X = np.array([0.5, -1.0, 2.0])


def aliased(x: Any) -> Any:
    y = x
    y += 1.0
    y *= 2.0
    return (x * y).sum()


WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda m: aliased(m.numpy.asarray(X)),
    "grad": lambda m: m.grad(aliased)(m.numpy.asarray(X)),
    "of NumPy's array": lambda m: m.grad(aliased)(X),
    "jit": lambda m: m.jit(m.value_and_grad(aliased))(X)[1],
    "jvp": lambda m: m.jvp(aliased, (X,), (X,))[1],
    "vmap": lambda m: m.vmap(aliased)(np.stack([X, 2 * X])),
    "hessian": lambda m: m.hessian(aliased)(X),
    "scan": lambda m: m.lax.scan(lambda c, x: (c + aliased(x), aliased(c)), np.float64(1.0), X)[1],
    "fori_loop": lambda m: m.lax.fori_loop(0, 3, lambda i, c: aliased(c) + i, np.float64(0.1)),
    "while_loop": lambda m: m.lax.while_loop(lambda c: c < 5.0, aliased, np.float64(0.1)),
    "cond": lambda m: m.jit(lambda x: m.lax.cond(x[0] > 0, aliased, lambda x: x.sum(), x))(X),
    "switch": lambda m: m.jit(lambda i: m.lax.switch(i, [aliased, lambda x: x.sum()], X * 1.0))(0),
    "checkpoint": lambda m: m.grad(m.checkpoint(aliased))(X),
    "map": lambda m: m.lax.map(aliased, X, batch_size=2),
    "linearize": lambda m: m.linearize(aliased, X)[1](X),
    "custom_gradient": lambda m: m.grad(m.custom_gradient(lambda x: (aliased(x), lambda g: (g * aliased(x) * x,))))(
        m.numpy.asarray(X)
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_other_names_of_an_array_keep_the_old_value(way: str) -> None:
    with jax.enable_x64(True):
        expected = np.asarray(WAYS[way](jax))
    np.testing.assert_allclose(np.asarray(WAYS[way](ours)), expected, rtol=1e-12)
    np.testing.assert_array_equal(X, [0.5, -1.0, 2.0])


@pytest.mark.parametrize(
    "name",
    [
        "iadd",
        "isub",
        "imul",
        "itruediv",
        "ifloordiv",
        "imod",
        "ipow",
        "imatmul",
        "iand",
        "ior",
        "ixor",
        "ilshift",
        "irshift",
    ],
)
def test_every_operator_in_place_makes_a_new_array(name: str) -> None:
    kind = int if name in {"iand", "ior", "ixor", "ilshift", "irshift"} else float
    x, y = jnp.array([1, 2, 3], kind), jnp.array([2, 1, 1], kind)
    with jax.enable_x64(True):
        expected = getattr(operator, name)(jax.numpy.array([1, 2, 3], kind), jax.numpy.array([2, 1, 1], kind))
    old = x
    x = getattr(operator, name)(x, y)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(old, [1, 2, 3])
    assert isinstance(x, ours.Array)


def test_a_write_is_refused_and_the_remedy_works() -> None:
    x = jnp.arange(3.0)
    with pytest.raises(TypeError, match=r"Write x = x.at\[index\].set\(value\)"):
        x[0] = 5.0
    y = x.at[0].set(5.0)
    np.testing.assert_array_equal(y, [5.0, 1.0, 2.0])
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0])
    assert type(y) is ours.Array


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.at[1:].add(2.0),
        lambda x: x.at[0].multiply(3.0),
        lambda x: x.at[np.array([0, 2])].min(0.1),
        lambda x: x.at[0, ...].max(0.7),
        lambda x: x.at[x > 0].divide(2.0, unique_indices=True),
        lambda x: x.at[-1].power(2.0),
        lambda x: x.at[::2].get(),
        lambda x: x.at[1].subtract(x[0]),
        lambda x: x.sort(),
        lambda x: x.sort(descending=True),
        lambda x: x.astype(np.float32),
        lambda x: x.reshape(3, 1).T,
        lambda x: x.mean() + x.std() + x.max(),
        lambda x: x[1],
        lambda x: x[None, ::-1],
        lambda x: x @ x,
        lambda x: -x + 2 * x**2 / 3 - abs(x),
        lambda x: x.block_until_ready(),
    ],
)
def test_methods_and_operators_give_jaxs_numbers(call: Callable[[Any], Any]) -> None:
    with jax.enable_x64(True):
        expected = call(jax.numpy.asarray(X))
    found = call(jnp.asarray(X))
    assert type(found) is ours.Array
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected)


def test_text_and_formats_are_jaxs() -> None:
    for values in ([1.5, 2.0], [[1, 2], [3, 4]], 2.5, [True], []):
        with jax.enable_x64(True):
            theirs = jax.numpy.asarray(values)
        x = jnp.asarray(values)
        assert str(x) == str(theirs)
        assert repr(x) == repr(theirs).replace(", weak_type=True", "")
    assert f"{jnp.float64(0.25) + jnp.zeros(()):.3f}" == "0.250"


def test_isinstance_holds_for_every_kind_of_value() -> None:
    seen: list[bool] = []
    fg.grad(lambda x: seen.append(isinstance(x, ours.Array)) or np.sum(x))(X)
    assert seen == [True]
    assert isinstance(jnp.ones(2), ours.Array)
    assert isinstance(jax.numpy.ones(2), ours.Array)
    assert not isinstance(np.ones(2), ours.Array)
    assert not isinstance(1.0, ours.Array)


def test_numpys_functions_write_into_plain_copies() -> None:
    x = jnp.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(np.sort(x), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.gradient(x), [-2.0, -0.5, 1.0])
    np.testing.assert_array_equal(x, [3.0, 1.0, 2.0])
    assert type(np.concatenate([x, x])) is ours.Array


def test_an_array_of_numpys_may_change_later() -> None:
    x = X.copy()
    y = jnp.asarray(x)
    x[0] = 99.0
    assert y[0] == 0.5


def test_arrays_meet_traced_values() -> None:
    w = jnp.asarray(X)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(w * x) + x @ w)(X), 2 * X)
    for engine in ("xla", "numpy"):
        np.testing.assert_allclose(fg.jit(lambda x: w * x - w, engine=engine)(w), X * X - X)
    np.testing.assert_allclose(ours.vmap(lambda a: a * w.at[0].set(a[0]))(jnp.stack([w, w]))[0], [0.25, 1.0, 4.0])


def test_arrays_are_pickled() -> None:
    x = pickle.loads(pickle.dumps(jnp.asarray(X)))
    assert type(x) is ours.Array
    np.testing.assert_array_equal(x, X)


def test_outside_of_these_transforms_operators_write_as_before() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = y
        z += 1.0
        return np.sum(y)

    assert fg.jvp(f, (X,), (X,))[0] == X.sum() + 3
    with pytest.raises(RuntimeError, match="inside"):
        ours.grad(lambda x: (_ for _ in ()).throw(RuntimeError("inside")))(X)
    assert fg.jvp(f, (X,), (X,))[0] == X.sum() + 3
