"""Calls of functions with their own derivative."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import extend
from funcgrad._transforms.custom.calls import CustomCall
from funcgrad.errors import TreeMismatchError


def test_calls_that_return_an_array_and_a_number_differ() -> None:
    copies = [True, True, False, False]

    def f(x: Any) -> Any:
        return np.copy(x) if copies.pop() else x * 1.0

    calls = [CustomCall(f, (np.float64(2.0),), {}, ()) for _ in range(4)]
    for call in calls:
        call.value(call.leaves)
    assert calls[0] == calls[1]
    assert calls[2] == calls[3]
    assert calls[1] != calls[2]


class _Kept:
    """Residuals in an object that is no pytree, so the tape does not see the array in it."""

    def __init__(self, x: Any) -> None:
        self.x = x


def _with_object(x: Any) -> tuple[Any, Any]:
    return np.sin(x), _Kept(x)


def _with_structure_by_sign(x: Any) -> tuple[Any, Any]:
    return np.sin(x), {"positive": x} if np.sum(x) > 0 else [2 * x, None, "negative"]


def _pull(residuals: Any, y_bar: Any) -> tuple[Any]:
    if isinstance(residuals, _Kept):
        return (np.cos(residuals.x) * y_bar,)
    x = residuals["positive"] if isinstance(residuals, dict) else residuals[0] / 2
    return (np.cos(x) * y_bar,)


@pytest.mark.parametrize("forward", [_with_object, _with_structure_by_sign])
def test_each_run_of_a_forward_function_keeps_its_own_residuals(forward: Any) -> None:
    f = fg.custom_vjp(lambda x: np.sin(x))
    f.defvjp(forward, _pull)
    graph = fg.make_graph(f)(np.float64(1.0))
    points = [1.0, -2.0]
    pulls = [fg.vjp(lambda x: graph.evaluate(x)[0], np.float64(x))[1] for x in points]
    assert [float(pull(np.float64(1.0))[0]) for pull in pulls] == list(np.cos(points))


def test_mapped_rules_keep_which_residuals_are_batched() -> None:
    runs: list[None] = []

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        runs.append(None)
        return x * y, {"x first": (x, y)} if len(runs) % 2 else {"y first": (y, x)}

    def backward(residuals: Any, z_bar: Any) -> tuple[Any, Any]:
        x, y = residuals["x first"] if "x first" in residuals else residuals["y first"][::-1]
        return y * z_bar, x * z_bar

    f = fg.custom_vjp(lambda x, y: x * y)
    f.defvjp(forward, backward)
    xs, y = np.array([1.0, 2.0, 3.0]), np.float64(5.0)
    graph = fg.make_graph(fg.vmap(f, in_axes=(0, None)))(xs, y)
    pulls = [fg.vjp(lambda x, y: graph.evaluate(x, y)[0], xs * n, y)[1] for n in (1, 10)]
    for n, pull in zip((1, 10), pulls, strict=True):
        x_bar, y_bar = pull(np.ones(3))
        assert x_bar.tolist() == [5.0, 5.0, 5.0]
        assert y_bar == 6.0 * n
    assert len(runs) == 2


def test_jax_keeps_the_structure_of_residuals_with_them() -> None:
    runs: list[None] = []

    def forward(x: Any) -> tuple[Any, Any]:
        runs.append(None)
        return np.sin(x), {"odd": x} if len(runs) % 2 else [x, "even"]

    def backward(residuals: Any, y_bar: Any) -> tuple[Any]:
        x = residuals["odd"] if isinstance(residuals, dict) else residuals[0]
        return (np.cos(x) * y_bar,)

    f = fg.custom_vjp(lambda x: np.sin(x))
    f.defvjp(forward, backward)
    graph = fg.make_graph(f)(np.float64(1.0))
    with jax.enable_x64(True):
        pulls = [jax.vjp(lambda x: graph.evaluate(x)[0], x)[1] for x in (1.0, -2.0)]
        found = [float(pull(np.float64(1.0))[0]) for pull in pulls]
    np.testing.assert_allclose(found, np.cos([1.0, -2.0]))
    assert len(runs) == 2


def test_a_complex_derivative_by_a_real_value_is_refused() -> None:
    @fg.custom_vjp
    def pulled(x: Any, scale: Any) -> Any:
        return x * scale

    @fg.custom_jvp
    def pushed(x: Any) -> Any:
        return 2 * x

    pulled.defvjp(lambda x, scale: (x * scale, scale), lambda scale, y_bar: (2j * y_bar, None))
    pushed.defjvp(lambda primals, tangents: (2 * primals[0], 2j * tangents[0]))
    x, z = np.array([1.0, 2.0]), np.array([1.0 + 1.0j, 2.0])
    by_vjp = r"custom_vjp: the backward function of pulled returned a cotangent c128\[.*\] for a real value f64\[.*\]"
    by_jvp = r"custom_jvp: the rule of pushed returned a tangent c128\[2\] for a real value f64\[2\]; needed a real one"
    pull = fg.grad(lambda x: np.sum(pulled(x, 2.0)))
    for f in (pull, *[fg.jit(pull, engine=engine) for engine in ("numpy", "numba", "xla")]):
        with pytest.raises(TreeMismatchError, match=by_vjp):
            f(x)
    with pytest.raises(TreeMismatchError, match=by_vjp):
        fg.vmap(fg.grad(lambda x: pulled(x, 2.0)))(x)
    for run in (lambda: fg.jvp(pushed, (x,), (x,)), lambda: fg.grad(lambda x: np.sum(pushed(x)))(x)):
        with pytest.raises(TreeMismatchError, match=by_jvp):
            run()
    # A complex argument takes a complex cotangent, and a real cotangent of it is converted.
    np.testing.assert_array_equal(fg.vjp(lambda z: pulled(z, 2.0), z)[1](np.ones(2, complex))[0], [2j, 2j])


def test_an_extenders_rule_with_a_complex_cotangent_is_refused() -> None:
    double_p = extend.elementwise(
        "double_by_a_wrong_rule", "x", numpy=lambda x: 2 * x, xla=lambda lax, x: lax.add(x, x), maps=[lambda t: 2j * t]
    )
    for f in (fg.grad(lambda x: np.sum(double_p(x))), fg.jit(fg.grad(lambda x: np.sum(double_p(x))), engine="numpy")):
        with pytest.raises(TreeMismatchError, match=r"a complex cotangent, c128\[2\], for a real operand float64"):
            f(np.ones(2))
