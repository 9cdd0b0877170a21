"""Programs that are rolled before they are differentiated, beside the program differentiated equation by equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from benchmarks._loops import PROGRAMS
from funcgrad._ops.rolling.early import reverse
from funcgrad._transforms.base import shortening

ROUNDS = 30


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roll short programs too."""
    monkeypatch.setattr(shortening, "_LEAST_EQUATIONS", 60)


@pytest.fixture
def rolled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note for each program that was rolled whether it could be differentiated so."""
    found: list[bool] = []

    def noted(*args: Any) -> Any:
        pulled = reverse.pulled_program(*args)
        found.append(pulled is not None)
        return pulled

    monkeypatch.setattr(shortening, "pulled_program", noted)
    return found


def same(f: Callable[..., Any], *args: Any) -> None:
    """Compare the compiled function with the unrolled program, bit for bit."""
    expected = fg.tree.leaves(fg.make_graph(f)(*args)(*args))
    for a, b in zip(fg.tree.leaves(fg.jit(f, engine="numpy")(*args)), expected, strict=True):
        np.testing.assert_array_equal(a, b)


# Products of matrices read their rows in another order of memory, which rounds differently.
EXACT = [name for name in PROGRAMS if name not in ("kalman", "descent", "recurrent", "residual_layers")]


@pytest.mark.parametrize("name", EXACT)
def test_programs(name: str, rolled: list[bool]) -> None:
    program = PROGRAMS[name]
    args = program.arguments(60)
    same(fg.value_and_grad(program.f, argnums=tuple(range(len(args)))), *args)
    assert rolled == [True]


def chain(x: Any, a: Any) -> Any:
    for t in range(ROUNDS):
        a = a + 0.1 * np.sin(a * x[t])
    return a


X, A = np.random.default_rng(3).standard_normal(ROUNDS), np.float64(0.4)


def detached(x: Any, a: Any) -> Any:
    for t in range(ROUNDS):
        a = a + 0.1 * np.sin(fg.stop_gradient(a) * x[t])
    return a


def outer_value(x: Any, a: Any) -> Any:
    return fg.grad(lambda b: chain(x, b) + a * b)(a)


@fg.custom_vjp
def doubled(x: Any) -> Any:
    return np.sin(x)


doubled.defvjp(lambda x: (np.sin(x), x), lambda x, y_bar: (2.0 * y_bar,))


def by_rule(x: Any, a: Any) -> Any:
    for t in range(ROUNDS):
        a = a + 0.1 * doubled(a * x[t])
    return a


def infinite(x: Any, a: Any) -> Any:
    kept = a
    for t in range(ROUNDS):
        # The last root has an infinite derivative at 0, and no equation reads it.
        kept, a = np.sqrt(a * 0.0), a * x[t]
    return a + 0.0 * fg.stop_gradient(kept)


def several_shares(x: Any, a: Any) -> Any:
    y, ys = np.cos(x[0]), []
    for t in range(ROUNDS):
        y = np.sin(y * a) + np.cos(y) * a + x[t] * y
        ys.append(y)
    return np.sum(np.stack(ys) ** 2) + np.sum(np.exp(np.stack(ys))) + a * 3.0


def two_back(x: Any, a: Any) -> Any:
    ys = [x[0], x[1] * a]
    for t in range(2, ROUNDS):
        ys.append(0.5 * a * ys[-1] + 0.3 * ys[-2] * ys[-1] + x[t])
    return np.sum(np.stack(ys) ** 2)


@pytest.mark.parametrize(
    ("f", "rolls"),
    [(chain, True), (detached, None), (by_rule, None), (infinite, None), (several_shares, True), (two_back, True)],
    ids=lambda f: getattr(f, "__name__", str(f)),
)
def test_functions(f: Callable[..., Any], rolls: bool | None, rolled: list[bool]) -> None:
    same(fg.grad(f, argnums=(0, 1)), X, A)
    if rolls is not None:
        assert rolled == [rolls]


def test_a_value_with_and_without_its_derivative() -> None:
    same(outer_value, X, A)


def test_nested_and_with_more_results(rolled: list[bool]) -> None:
    same(fg.grad(lambda a: fg.grad(chain, argnums=1)(X, a)), A)
    same(fg.hessian(lambda a: chain(X, a)), A)
    same(fg.value_and_grad(lambda x, a: (chain(x, a), {"twice": chain(x, 2 * a), "n": 3}), has_aux=True), X, A)
    assert rolled
    out, pullback = fg.vjp(chain, X, A)

    def both(x: Any, a: Any) -> Any:
        y, back = fg.vjp(lambda x, a: (chain(x, a), chain(x, a + 1.0)), x, a)
        return y, back((1.0, 2.0)), back((0.5, 0.0))

    same(both, X, A)
    np.testing.assert_allclose(fg.jit(both, engine="numpy")(X, A)[0][0], out, 1e-12)
    assert pullback(1.0)[1] == fg.jit(fg.grad(chain, argnums=1), engine="numpy")(X, A)


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(x: Any, a: Any) -> Any:
        for t in range(ROUNDS):
            a = a + 0.1 * np.sin(a * x[t])
            if t == 7:
                fg.debug_print("at {}", a)
        return a

    fg.jit(fg.grad(loud, argnums=1), engine="numpy")(X, A)
    assert capsys.readouterr().out.count("at") == 1


def test_a_value_that_is_kept_outside() -> None:
    kept = []

    def loss(a: Any) -> Any:
        y = chain(X, a)
        kept.append(fg.stop_gradient(y))
        return y * y

    def both(a: Any) -> Any:
        return fg.grad(loss)(a), kept.pop()

    same(both, A)


def test_the_function_runs_once() -> None:
    calls = []

    def loss(x: Any, a: Any) -> Any:
        calls.append(a)
        return chain(x, a)

    fg.jit(fg.grad(loss, argnums=1), engine="numpy")(X, A)
    assert len(calls) == 1


def test_a_kept_value_has_its_derivative_in_the_program_around() -> None:
    def both(a: Any) -> Any:
        kept = []

        def loss(b: Any) -> Any:
            kept.append(np.sin(b))
            return chain(X, b)

        return fg.grad(loss)(a) + kept[0]

    expected = fg.grad(lambda a: fg.grad(lambda b: chain(X, b))(a) + np.sin(a))(A)
    np.testing.assert_allclose(fg.grad(fg.jit(both, engine="numpy"))(A), expected, 1e-12)


def test_a_short_program_is_recorded_equation_by_equation(rolled: list[bool]) -> None:
    def short_loss(x: Any, a: Any) -> Any:
        x = x.copy()
        x[0] = a * x[1]
        return np.sum(np.sin(x) * a)

    same(fg.value_and_grad(short_loss, argnums=(0, 1)), X, A)
    same(fg.value_and_grad(lambda a: np.sum(np.sin(X * a) * a)), 0.4)
    assert rolled == []
