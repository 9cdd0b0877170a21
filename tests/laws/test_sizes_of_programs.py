"""A compiled program does not grow with the rounds of its Python loops, whatever transforms it is made by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.linspace(0.1, 0.9, 3)
DATA = np.random.default_rng(0).normal(size=(300, 3))
LABELS = np.random.default_rng(1).integers(0, 3, 300)


@fg.custom_vjp
def halved(x: Any) -> Any:
    return np.sin(x)


halved.defvjp(lambda x: (np.sin(x), x), lambda x, y_bar: (y_bar * np.cos(x) / 2,))


@fg.custom_jvp
def scaled(x: Any, k: Any) -> Any:
    return np.sin(x) * k


scaled.defjvp(lambda xs, dots: (np.sin(xs[0]) * xs[1], np.cos(xs[0]) * xs[1] * dots[0] + np.sin(xs[0]) * dots[1]))


def with_two_reads(n: int) -> Any:
    def f(x: Any) -> Any:
        y = x * 1.0
        for _ in range(n):
            y = 0.9 * y + np.sin(y) * y * 0.1
        return np.sum(y)

    return f


def filled(n: int) -> Any:
    def f(x: Any) -> Any:
        y = fnp.zeros((n, 3))
        y[0] = x
        for t in range(1, n):
            y[t] = 0.9 * y[t - 1] + np.sin(x) * y[t - 1] * 0.1
        return np.sum(y**2)

    return f


def of_data(n: int) -> Any:
    def f(x: Any) -> Any:
        y = x * 0.0
        for t in range(n):
            y = np.tanh(y * x + np.exp(-DATA[t]) * 0.1)
        return np.sum(y)

    return f


def embedded(n: int) -> Any:
    def f(x: Any) -> Any:
        h = 0.0
        for t in range(n):
            h = np.tanh(h * 0.9 + x[LABELS[t]])
        return h

    return f


def with_rule(n: int) -> Any:
    def f(x: Any) -> Any:
        y = x * 1.0
        for _ in range(n):
            y = 0.9 * y + halved(y) * 0.1
        return np.sum(y)

    return f


def with_rule_for_both_modes(n: int) -> Any:
    def f(x: Any) -> Any:
        y = x * 1.0
        for t in range(n):
            y = 0.9 * y + scaled(y, t / n)
        return np.sum(y)

    return f


PROGRAMS: list[Callable[[int], Any]] = [with_two_reads, filled, of_data, embedded, with_rule, with_rule_for_both_modes]
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "gradient": fg.grad,
    "value and gradient": fg.value_and_grad,
    "pullback": lambda f: lambda x: fg.vjp(f, x)[1](np.float64(1.0)),
    "batch of gradients": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, 2 * x])),
    "gradient of a batch": lambda f: fg.grad(lambda x: np.sum(fg.vmap(f)(np.stack([x, 2 * x])))),
    "gradient of a gradient": lambda f: fg.grad(lambda x: np.sum(fg.grad(f)(x) ** 2)),
    "tangent": lambda f: lambda x: fg.jvp(f, (x,), (x,))[1],
    "tangent of a gradient": lambda f: lambda x: fg.jvp(fg.grad(f), (x,), (x,))[1],
    "linearized": lambda f: lambda x: fg.linearize(f, x)[1](x),
    "Hessian": fg.hessian,
    "gradient by a part": lambda f: lambda x: fg.grad(lambda k: f(x * k))(x[0]),
    "gradient in a loop": lambda f: lambda x: fg.scan(lambda c, _: (fg.grad(f)(c) * 0.1, c), x, None, length=2)[1],
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_does_not_grow_with_its_rounds(program: Any, transform: str) -> None:
    made = TRANSFORMS[transform]
    if program is with_rule and transform in {"tangent", "linearized"}:
        with pytest.raises(fg.errors.NotDifferentiableError, match="halved is a custom_vjp function"):
            fg.jit(made(program(150)), engine="numpy")(X)
        return
    f = made(program(150))
    compiled = fg.jit(f, engine="numpy")
    counts = [_count(compiled.graph(X)), _count(fg.jit(made(program(300)), engine="numpy").graph(X))]
    assert counts[0] == counts[1] < 150
    for a, b in zip(fg.tree.leaves(compiled(X)), fg.tree.leaves(f(X)), strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def test_a_number_of_python_as_the_argument() -> None:
    for n in (150, 300):
        f = fg.grad(lambda x, n=n: with_two_reads(n)(x * X))
        compiled = fg.jit(f, engine="numpy")
        assert _count(compiled.graph(0.5)) < 60
        np.testing.assert_allclose(compiled(0.5), f(0.5), 1e-12)


def test_effects_stay_in_long_programs(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = x
        for t in range(400):
            y = 0.9 * y + np.sin(y) * y * 0.1
            if t == 200:
                fg.debug_print("half {}", np.sum(y) > 0)
        return np.sum(y)

    compiled = fg.jit(fg.grad(f), engine="numpy")
    assert _count(compiled.graph(X)) < 100
    np.testing.assert_allclose(compiled(X), fg.grad(f)(X), 1e-12)
    assert capsys.readouterr().out == "half True\n" * 2


def test_rules_read_what_they_close_over_where_the_function_is_called() -> None:
    factor = [0.0]

    @fg.custom_vjp
    def tenfold(x: Any) -> Any:
        return x * factor[0]

    tenfold.defvjp(lambda x: (x * factor[0], factor[0]), lambda kept, y_bar: (y_bar * kept,))

    @fg.custom_jvp
    def tripled(x: Any) -> Any:
        return x * factor[0]

    tripled.defjvp(lambda xs, dots: (xs[0] * factor[0], dots[0] * factor[0]))

    for rule in (tenfold, tripled):

        def f(x: Any, rule: Any = rule) -> Any:
            for k in range(3):
                factor[0] = k + 1.0
                x = rule(x)
            return x

        for x in (2.0, np.float64(2.0)):
            assert fg.jit(fg.grad(f), engine="numpy")(x) == fg.grad(f)(x) == 6.0


def _count(graph: Any) -> int:
    """Return the number of equations of a program and of the bodies of its loops."""
    loops = [equation.params["loop"].body for equation in graph.equations if "loop" in equation.params]
    return len(graph.equations) + sum(map(_count, loops))
