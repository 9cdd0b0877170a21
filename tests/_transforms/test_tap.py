"""``fg.tap`` and ``fg.taps``: values at a marked place, on every engine and under every transform."""

from typing import Any, cast

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.bind import onlookers
from funcgrad.autograd import tensor

W = np.array([0.5, -1.0])
X = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])


def loss(w: Any, x: Any) -> Any:
    hidden = fg.tap("hidden", x @ w)
    return np.sum(hidden**2)


def check(seen: Any) -> None:
    assert np.allclose(seen["hidden"].value, X @ W)
    assert np.allclose(seen["hidden"].cotangent, 2 * X @ W)


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla", "inside"])
def test_values_and_cotangents_are_seen(engine: str) -> None:
    gradient = fg.value_and_grad(loss)
    if engine == "inside":
        gradient = fg.value_and_grad(fg.jit(loss, engine="numpy"))
    elif engine != "eager":
        gradient = fg.jit(gradient, engine=engine)
    value, grads = gradient(W, X)
    with fg.taps() as seen:
        again, grads_again = gradient(W, X)
        check(seen)
    check(seen)
    assert list(seen) == ["hidden"]
    assert np.allclose(again, value)
    assert np.allclose(grads_again, grads)
    assert onlookers == []


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_gradient_alone_shows_the_value_beside_the_cotangent(engine: str) -> None:
    with fg.taps() as seen:
        fg.jit(fg.grad(loss), engine=engine)(W, X)
    check(seen)


def test_under_every_transform() -> None:
    with fg.taps() as seen:
        _, pushed = fg.jvp(lambda w: loss(w, X), (W,), (np.ones(2),))
    assert np.allclose(seen["hidden"].value, X @ W)
    assert seen["hidden"].cotangent is None
    assert np.isclose(pushed, np.sum(2 * (X @ W) * (X @ np.ones(2))))
    with fg.taps() as seen:
        fg.vmap(fg.grad(loss), (None, 0))(W, X)
    assert np.allclose(seen["hidden"].value, X @ W)
    assert np.allclose(seen["hidden"].cotangent, 2 * X @ W)
    with fg.taps() as seen:
        hessian = fg.hessian(loss)(W, X)
    assert np.allclose(hessian, 2 * X.T @ X)
    assert "hidden" in seen


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
def test_of_a_loop_the_last_step_is_seen(engine: str | None) -> None:
    def total(x: Any) -> Any:
        return fg.scan(lambda c, t: (fg.tap("carry", c * t), c), 1.0, x)[0]

    gradient = fg.grad(total) if engine is None else fg.jit(fg.grad(total), engine=engine)
    with fg.taps() as seen:
        assert np.allclose(gradient(np.array([2.0, 3.0, 5.0])), [15, 10, 6])
    # The backward pass ends with the first step.
    assert np.isclose(seen["carry"].cotangent, 15)
    assert np.isclose(seen["carry"].value, 2)


def test_trees_tensors_and_constants() -> None:
    with fg.taps() as seen:
        fg.grad(lambda p: np.sum(fg.tap("p", p)["w"] ** 2))({"w": W, "b": np.ones(1)})
        x = tensor(W, requires_grad=True)
        fg.tap("t", x * 2).sum().backward()
        assert fg.tap("plain", 3.0) == 3.0
        assert fg.tap("text", "as it is") == "as it is"
    assert np.allclose(seen["p['w']"].cotangent, 2 * W)
    assert np.allclose(seen["t"].value, 2 * W)
    assert np.allclose(seen["t"].cotangent, 1)
    assert seen["plain"].value == 3
    assert set(seen) == {"p['b']", "p['w']", "t", "plain"}


def test_where_nobody_asks_nothing_is_recorded() -> None:
    assert "tap" not in [equation.primitive.name for equation in fg.make_graph(loss)(W, X).equations]
    assert fg.tap("x", X) is X


def test_bad_input_and_ends() -> None:
    with pytest.raises(TypeError, match=r"tap: the name must be a string\. Arrived array"):
        fg.tap(cast("Any", X), "hidden")
    with (
        fg.taps() as seen,
        pytest.raises(KeyError, match=r"no value with the name 'hidden' was recorded; needed one of \[\]"),
    ):
        seen["hidden"]
    with pytest.raises(ZeroDivisionError), fg.taps():
        raise ZeroDivisionError
    assert onlookers == []
    with fg.taps() as outer, fg.taps() as inner:
        fg.grad(loss)(W, X)
    check(outer)
    check(inner)


def test_a_compiled_function_that_is_gone_is_not_taken_for_the_next() -> None:
    with fg.taps() as seen:
        for i in range(20):
            assert fg.jit(lambda x, i=i: fg.tap("x", x * i), engine="numpy")(3.0) == 3 * i
            assert seen["x"].value == 3 * i
