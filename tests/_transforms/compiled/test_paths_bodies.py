"""Branches in functions that are staged inside of others: checkpointed ones, and those with derivative rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import funcgrad as fg
from funcgrad import errors

W = np.array([0.3, -0.2, 1.0])
INPUTS = (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0]), np.array([-3.0, 2.0, 30.0]))
POLICIES = {"no policy": None, "products": fg.dots_saveable, "everything": fg.everything_saveable}


def body(x: Any, s: Any) -> Any:
    if x[0] > 0:
        return np.sin(x) * x * s
    k = 0
    while np.sum(x * x) > 0.5:
        x = x * 0.5
        k += 1
    return x[: int(abs(s)) + 1] * k


def _whole(part: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another one, which closes over a traced value, too."""
    return lambda x, s: np.sum(part(x * 2 - W, s)) * x[1] + np.sum(part(W * s, x[2]))


def _close(y: Any, z: Any) -> None:
    for a, b in zip(fg.tree.leaves(y), fg.tree.leaves(z), strict=True):
        np.testing.assert_allclose(a, b, 1e-11, 1e-12)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_checkpointed_function_branches(engine: str, policy: str) -> None:
    f, plain = _whole(fg.checkpoint(body, policy=POLICIES[policy])), _whole(body)
    slope, expected = fg.grad(f, (0, 1)), fg.grad(plain, (0, 1))
    compiled = fg.jit(f, paths=32, engine=engine)
    forms = (slope, fg.jit(slope, paths=32, engine=engine), fg.grad(compiled, (0, 1)))
    for x in (*INPUTS, *INPUTS):
        for s in (0.5, 1.5):
            np.testing.assert_allclose(compiled(x, s), plain(x, s), 1e-12)
            for form in forms:
                _close(form(x, s), expected(x, s))
            _close(fg.jvp(f, (x, s), (x, s)), fg.jvp(plain, (x, s), (x, s)))
    _close(fg.hessian(f)(INPUTS[1], 1.5), fg.hessian(plain)(INPUTS[1], 1.5))


def test_a_checkpoint_in_a_checkpoint_branches() -> None:
    @fg.checkpoint
    def inner(y: Any) -> Any:
        return y * 2 if y[0] > 0 else y * 3

    outer = fg.checkpoint(lambda x: inner(x) if x[1] > 0 else x)
    slope = fg.jit(fg.grad(lambda x: np.sum(outer(x) * x)), paths=8, engine="numpy")
    for x in (*INPUTS, -INPUTS[0]):
        np.testing.assert_array_equal(slope(x), (2 if x[1] < 0 else 4 if x[0] > 0 else 6) * x)


def test_a_checkpointed_function_is_kept_as_one_equation() -> None:
    """Its guards stand before it, so reverse mode keeps its arguments alone."""
    graph = fg.make_graph(lambda x: fg.checkpoint(body)(x, 1.0), paths=True)(INPUTS[1])
    names = [equation.primitive.name for equation in graph.equations]
    assert names[-1] == "checkpoint"
    assert names.count("guard") == 5
    assert names.count("checkpoint") == 1


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_functions_with_derivatives_of_their_own_branch(engine: str) -> None:
    @fg.custom_vjp
    def f(x: Any) -> Any:
        return np.sum(x**2) if x[0] > 0 else np.sum(x)

    f.defvjp(lambda x: (f(x), x), lambda x, y_bar: ((7 * x if x[1] > 1 else x) * y_bar,))

    @fg.custom_jvp
    def g(x: Any) -> Any:
        return np.sum(x**2) if x[0] > 0 else np.sum(x)

    @g.defjvp
    def _(primals: tuple, tangents: tuple) -> Any:
        return g(*primals), np.sum(tangents[0]) * (7 if primals[0][1] > 1 else 5)

    for h in (f, g):
        loss = lambda x, h=h: h(x) * x[2]
        compiled = fg.jit(fg.value_and_grad(loss), paths=8, engine=engine)
        value = fg.jit(loss, paths=8, engine=engine)
        for x in (*INPUTS, -INPUTS[0], *INPUTS):
            _close(compiled(x), fg.value_and_grad(loss)(x))
            np.testing.assert_allclose(value(x), (np.sum(x**2) if x[0] > 0 else np.sum(x)) * x[2])


def _integral(x: Any) -> Any:
    return integrate.quad(lambda t: np.exp(-t * x[0]), 0, 1)[0]


def _decay(x: Any) -> Any:
    return integrate.odeint(lambda y, t: -y * x[0], x[1], np.array([0.0, 1.0]))[-1, 0]


def _flow(x: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: -y * x[0], (0.0, 1.0), x[1:2], t_eval=np.array([1.0]), rtol=1e-8).y[0, 0]


MADE_ANEW: dict[str, Callable[[Any], Any]] = {
    "call_numpy": lambda x: np.sum(fg.call_numpy(lambda v: np.cumsum(v), fg.ShapeDtype((3,), np.float64), x)),
    "quad": _integral,
    "odeint": _decay,
    "solve_ivp": _flow,
    "brentq": lambda x: optimize.brentq(lambda t: t**3 - x[0] ** 2, 0.0, 10.0),
    "least_squares": lambda x: np.sum(optimize.root(lambda t: t - x / 2, np.zeros(3)).x),
}


@pytest.mark.parametrize("name", MADE_ANEW)
def test_functions_that_each_call_makes_anew_are_the_same(name: str) -> None:
    """They have the same code, and close over the same values. So the paths begin alike."""
    part = MADE_ANEW[name]

    def f(x: Any) -> Any:
        y = part(x)
        return y * 2 if x[2] > 10 else y * 3

    forms = [f] if name == "call_numpy" else [f, fg.grad(f)]
    for form in forms:
        compiled = fg.jit(form, paths=4, engine="numpy")
        with fg.intercept():
            for x in (*INPUTS, *INPUTS):
                np.testing.assert_allclose(compiled(x), form(x), 1e-7, 1e-12)
        assert compiled.cache_size() == 2


def test_functions_around_other_values_are_not_the_same() -> None:
    scale = [1.0]

    @fg.jit(paths=4, engine="numpy")
    def f(x: Any) -> Any:
        by = scale[0]
        y = np.sum(fg.call_numpy(lambda v: np.asarray(v) * by, fg.ShapeDtype((3,), np.float64), x))
        return y * 2 if x[2] > 10 else y * 3

    assert f(INPUTS[0]) == 18.0
    scale[0] = 2.0
    with pytest.warns(errors.PathsWarning, match="did something else"):
        assert f(INPUTS[2]) == 116.0


def test_staged_on_types_they_are_refused() -> None:
    part = fg.checkpoint(body)
    with pytest.raises(errors.TracerBoolConversionError, match=r"Or follow the branch: fg\.jit\(f, paths=8\)"):
        fg.jit(part, engine="numpy")(INPUTS[0], 1.0)
    with pytest.raises(errors.ConcretizationTypeError, match=r"Write np\.where\(mask, x, 0\) instead of x\[mask\]"):
        fg.jit(fg.checkpoint(lambda x: x[x > 0]), engine="numpy")(INPUTS[0])
    with pytest.raises(errors.TracerBoolConversionError, match=r"np\.where \(or fg\.cond\)"):
        fg.vmap(part)(np.stack(INPUTS), np.ones(3))


def test_a_checkpointed_function_branches_under_jaxs_grad() -> None:
    jax = pytest.importorskip("jax")
    part = fg.checkpoint(lambda v: v * 2 if v > 0 else v * 3)
    assert [float(jax.grad(part)(x)) for x in (2.0, -2.0)] == [2.0, 3.0]
    with pytest.raises(errors.TracerBoolConversionError, match=r"np\.where \(or fg\.cond\)"):
        jax.jit(part)(2.0)
