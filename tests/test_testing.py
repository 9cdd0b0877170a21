"""The checker is checked: it is silent on right derivatives, and objects to rules that are wrong by 0.05 %."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.primitive import Primitive, primitives
from funcgrad._ops.elementwise.families import elementwise
from funcgrad.errors import GradientMismatchError, NotDifferentiableError

X = np.array([0.5, -1.0, 2.0])
Y = np.array([[1.0, 2.0, 0.5], [0.3, 0.2, 0.1]])


class Pair(NamedTuple):
    left: Any
    right: Any


RIGHT = {
    "scalar": (lambda x: x * x, (3.0,)),
    "array": (lambda x: x * x / (1 + x * x), (X,)),
    "single precision is taken in double": (lambda x: np.sqrt(1 + x * x), (X.astype(np.float32),)),
    "two arguments": (lambda x, y: np.sum(x * y), (X, Y)),
    "trees": (lambda p: {"out": (p["w"] * p["b"], -p["w"]), "none": None}, ({"w": X, "b": 2.0},)),
    "named tuple": (lambda p: Pair(p.left * p.right, p.right), (Pair(X, Y),)),
    "complex": (lambda z: z * z + 2j * z, (X + 1j,)),
    "real part of complex": (lambda z: np.abs(z), (X + 1j,)),
    "large values": (lambda x: 1e8 * x * x, (X,)),
    "small values": (lambda x: 1e-8 * x * x, (X,)),
    "empty": (lambda x: x * 2.0, (np.zeros((0, 3)),)),
    "no result depends on it": (lambda x: (2.0, 3), (X,)),
    "integer results": (lambda x: (x * x, np.sign(x), 1), (X,)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_silent_on_right_derivatives(name: str) -> None:
    f, args = RIGHT[name]
    fg.check_grads(f, args, order=3)


def test_on_xla_arrays() -> None:
    x = jax.numpy.asarray(X, jax.numpy.float32)
    fg.check_grads(lambda x: np.sum(x * np.sqrt(1 + x * x)), (x,))
    with pytest.raises(GradientMismatchError, match="order 1, fwd"):
        fg.check_grads(lambda x: x * fg.stop_gradient(x), (x,))


@pytest.fixture
def plant() -> Iterator[Callable[..., Primitive]]:
    """Makes ``x ** 3`` with maps that are off by given factors, and takes it back after the test."""

    def make(forward: float, reverse: float) -> Primitive:
        return elementwise(
            "planted_cube",
            "x",
            numpy=lambda x: x * x * x,
            xla=lambda lax, x: x * x * x,
            maps=[lambda t, x: t * (3 * reverse * x * x)],
            jvps=[lambda t, x: t * (3 * forward * x * x)],
        )

    yield make
    primitives.pop("planted_cube", None)


WRONG = {
    "forward, too large": (1.0005, 1.0, "fwd (jvp)"),
    "forward, too small": (0.9995, 1.0, "fwd (jvp)"),
    "reverse, too large": (1.0, 1.0005, "rev (vjp)"),
    "reverse, too small": (1.0, 0.9995, "rev (vjp)"),
    "both": (1.0005, 1.0005, "fwd (jvp)"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("x", [2.0, X, Y], ids=["scalar", "vector", "matrix"])
def test_a_planted_wrong_rule_is_caught(name: str, x: Any, plant: Callable[..., Primitive]) -> None:
    forward, reverse, mode = WRONG[name]
    wrong = plant(forward, reverse)
    with pytest.raises(GradientMismatchError, match=re.escape(f"order 1, {mode} of ")):
        fg.check_grads(lambda x: wrong(x), (x,), order=1)


def test_the_same_rule_is_passed_when_right(plant: Callable[..., Primitive]) -> None:
    right = plant(1.0, 1.0)
    for x in (2.0, X, Y):
        fg.check_grads(lambda x: right(x), (x,), order=2)


def test_only_the_modes_asked_for_are_checked(plant: Callable[..., Primitive]) -> None:
    wrong_forward = plant(1.0005, 1.0)
    fg.check_grads(lambda x: wrong_forward(x), (X,), modes=("rev",), order=1)
    wrong_reverse = plant(1.0, 1.0005)
    fg.check_grads(lambda x: wrong_reverse(x), (X,), modes=("fwd",))


@pytest.mark.parametrize(("modes", "named"), [(("fwd",), "fwd (jvp) of jvp(f)"), (("rev",), "rev (vjp) of vjp(f)")])
def test_a_wrong_second_derivative_is_caught(modes: tuple[str, ...], named: str) -> None:
    cut = elementwise(
        "planted_square",
        "x",
        numpy=lambda x: x * x,
        xla=lambda lax, x: x * x,
        maps=[lambda t, x: t * (2 * fg.stop_gradient(x))],
    )
    del primitives["planted_square"]

    def f(x: Any) -> Any:
        return cut(x)

    fg.check_grads(f, (X,), modes=modes, order=1)
    with pytest.raises(GradientMismatchError, match=re.escape(f"order 2, {named}")):
        fg.check_grads(f, (X,), modes=modes, order=2)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_the_message_names_the_leaf_and_both_numbers(mode: str) -> None:
    def model(inputs: Any, params: Any) -> Any:
        return inputs * params["weight"] + fg.stop_gradient(params["bias"][0])

    args = (2.0, {"weight": 3.0, "bias": [1.0, 4.0]})
    with pytest.raises(GradientMismatchError, match=r"of model, argument 1 \(params\)\['bias'\]\[0\] varied") as caught:
        fg.check_grads(model, args, modes=(mode,))
    assert re.search(r"is -?0(\.0)?, and differences give -?\d\.\d+\. They differ by \d", str(caught.value))
    assert "is allowed (atol + rtol * " in str(caught.value)


def test_nan_is_refused() -> None:
    with pytest.raises(GradientMismatchError, match="differences give"), np.errstate(all="ignore"):
        fg.check_grads(lambda x: np.sqrt(x), (0.0,))


def test_tolerances_and_step_are_the_callers() -> None:
    def off(x: Any) -> Any:
        return x * fg.stop_gradient(1 + 1e-4 * x)

    fg.check_grads(off, (X,), order=1, rtol=1e-2)
    fg.check_grads(off, (X,), order=1, atol=1e-2)
    with pytest.raises(GradientMismatchError):
        fg.check_grads(off, (X,), order=1)
    with pytest.raises(GradientMismatchError):
        fg.check_grads(lambda x: x * x * x * x * x, (X,), order=1, eps=0.5)


BAD = {
    "integer argument": (lambda: fg.check_grads(lambda x: x, (3,)), NotDifferentiableError, r"argument 0 \(x\) of"),
    "unknown mode": (lambda: fg.check_grads(lambda x: x, (X,), modes=("forward",)), ValueError, "'fwd' and 'rev'"),
    "no mode": (lambda: fg.check_grads(lambda x: x, (X,), modes=()), ValueError, "'fwd' and 'rev'"),
    "order zero": (lambda: fg.check_grads(lambda x: x, (X,), order=0), ValueError, "order is 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name: str) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()
