"""``Graph.roll``: repeated stretches become loops, and every number stays the same."""

from __future__ import annotations

import dataclasses
import gc
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from benchmarks._loops import PROGRAMS
from funcgrad._engines import ENGINES
from funcgrad._ops.rolling import roll
from tests._ops.rolling._rolled import assert_rolls, loops_of
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.loops import findings, looping_of

X = np.linspace(0.5, 1.5, 40)


# Matrix products may round differently if an operand has another order of axes in memory.
WITH_PRODUCTS = {"kalman", "descent"}


@pytest.fixture
def _copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let short programs copy their arguments."""
    monkeypatch.setattr(roll, "LEAST_WITH_COPIES", 0)


@pytest.mark.usefixtures("_copies")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_and_their_gradients(name: str) -> None:
    program = PROGRAMS[name]
    args = program.arguments(30)
    for f in (program.f, fg.grad(program.f), fg.value_and_grad(program.f, argnums=tuple(range(len(args))))):
        graph = fg.make_graph(f)(*args)
        rolled = graph.roll()
        fg.extend.check_graph(rolled)
        assert len(rolled.equations) < 0.45 * len(graph.equations)
        assert loops_of(rolled)
        for a, b in zip(fg.tree.leaves(graph(*args)), fg.tree.leaves(rolled(*args)), strict=True):
            if name in WITH_PRODUCTS:
                np.testing.assert_allclose(a, b, 1e-10, 1e-12)
            else:
                np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("_copies")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_do_not_grow_with_their_rounds(name: str) -> None:
    program = PROGRAMS[name]

    def left(rounds: int) -> int:
        return len(fg.make_graph(fg.grad(program.f))(*program.arguments(rounds)).roll().equations)

    if name == "residual_layers":
        # The weights of each layer are separate arguments, and are stacked.
        assert left(40) - left(20) <= 4 * 20
    else:
        assert left(40) <= left(20) + 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["ar2", "tridiagonal", "odd_and_even"])
def test_jit_rolls_long_programs(engine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    args = program.arguments(60)
    gradient = fg.grad(program.f)
    on = dataclasses.replace(ENGINES[engine], rolls_above=100)
    monkeypatch.setitem(ENGINES, engine, on)
    compiled = fg.jit(gradient, engine=engine)
    assert loops_of(compiled.graph(*args))
    np.testing.assert_allclose(compiled(*args), gradient(*args), 1e-12, 1e-14)
    assert not loops_of(fg.jit(gradient, engine=engine, roll=False).graph(*args))


def test_values_of_rounds_before() -> None:
    def f(x: Any, a: Any) -> Any:
        one, two, three = a, a * 2, a * 3
        for t in range(len(x)):
            one, two, three = np.sin(three) + x[t] * one, one, two
        return one + two * three

    assert_rolls(f, X, np.float64(0.3), loops=[40])


def test_numbers_and_constants_that_differ_by_round() -> None:
    weights = [np.full(3, 0.1 * t) for t in range(30)]

    def f(x: Any) -> Any:
        for t in range(30):
            x = np.sin(x * (1.0 + t)) + weights[t] * 2.0**t
        return x

    assert_rolls(f, np.ones(3), loops=[30], most=2 + 30)


def test_equal_constants_of_rounds_are_one() -> None:
    """Each round makes its own array of the same numbers: the loop reads it whole, and not a row of copies."""

    def f(x: Any) -> Any:
        p = x[0] * np.eye(3)
        for t in range(1, len(x)):
            turned = (np.eye(3) + 0.1 * np.eye(3, k=1)).T
            p = turned @ p @ turned + x[t] * np.eye(3)
        return np.sum(p)

    rolled = assert_rolls(f, X, loops=[39])
    (loop,) = [each for each in rolled.equations if each.primitive.name == "scan"]
    assert [x.aval.shape for x in loop.params["loop"].parts(loop.operands)[2]] == [(39,)]


def test_equal_constants_of_other_signs_or_layouts_stay_apart() -> None:
    rows = np.arange(4.0).reshape(2, 2)

    def f(x: Any) -> list[Any]:
        return [x + c for c in (np.zeros(2), -np.zeros(2), np.zeros(2), rows, rows.T, rows.T.copy(), rows.copy("F"))]

    x = np.array([-0.0, 1.0])
    for y, wanted in zip(fg.jit(f, engine="numpy")(x), f(x), strict=True):
        assert np.asarray(y).tobytes() == wanted.tobytes()


def test_rounds_that_differ_stay_as_they_are() -> None:
    def f(x: Any) -> Any:
        for t in range(40):
            x = np.sin(x) * 0.9 if t != 17 else np.cos(x) + 1.0
        return x

    assert_rolls(f, X[:3], loops=[17, 22])

    def g(x: Any) -> Any:
        for t in range(6):
            x = [np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.abs][t](x) + t
        return x

    graph = fg.make_graph(g)(X[:3])
    assert graph.roll() is graph


def test_rounds_of_other_shapes_stay_as_they_are() -> None:
    def f(x: Any) -> Any:
        for _ in range(12):
            x = np.concatenate([x, x[:1]]) * 0.5
        return np.sum(x)

    graph = fg.make_graph(f)(X[:3])
    assert graph.roll() is graph


@pytest.mark.usefixtures("_copies")
def test_a_loop_does_not_copy_large_arrays_for_a_few_operations() -> None:
    """The step of an optimizer would copy each parameter twice to read and to return it."""

    def step(params: list[Any], grads: list[Any]) -> list[Any]:
        return [p - 0.1 * (g + 0.01 * p + 0.001 * p * p) for p, g in zip(params, grads, strict=True)]

    small, large = np.ones((10, 4)), np.ones((200, 300), np.float32)
    assert loops_of(fg.make_graph(step)([small] * 8, [small] * 8).roll()) == [8]
    graph = fg.make_graph(step)([large] * 8, [large] * 8)
    assert graph.roll() is graph
    square = np.ones((200, 200), np.float32)
    batches = {batch: fg.make_graph(_layers)(np.ones((batch, 200), np.float32), [square] * 8) for batch in (16, 600)}
    assert batches[16].roll() is batches[16]
    assert loops_of(batches[600].roll()) == [8]


def _layers(x: Any, weights: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w) + x
    return x


def test_only_long_programs_copy_their_arguments() -> None:
    """Layers compile and run faster one after another than as a loop that reads copies of their weights."""

    def loss(weights: Any, x: Any) -> Any:
        return np.sum(_layers(x, weights) ** 2)

    def step(weights: list[Any], state: Any, x: Any) -> Any:
        return fg.sgd_update(fg.grad(loss)(weights, x), state, weights)

    weights, x = [0.1 * np.eye(3) for _ in range(60)], np.ones((2, 3))
    for engine in ENGINES:
        compiled = fg.jit(step, engine=engine)
        assert not loops_of(compiled.graph(weights, fg.sgd_init(weights, lr=0.1, momentum=0.9), x)), engine
    many = weights * 10
    assert len(loops_of(fg.make_graph(fg.grad(loss))(many, x).roll())) == 2
    # The rows of one array, and numbers, cost no copies of arrays.
    assert loops_of(fg.make_graph(fg.grad(loss))(np.stack(weights), x).roll())
    assert loops_of(fg.make_graph(lambda numbers: np.sum(np.cumsum(_scaled(x, numbers))))([1.0] * 30).roll())


def _scaled(x: Any, numbers: list[Any]) -> Any:
    for number in numbers:
        x = np.sin(x * number) + 1.0
    return x


def test_reads_forward_backward_and_by_steps() -> None:
    def f(x: Any, m: Any) -> Any:
        total = 0.0
        for t in range(20):
            total = total * 0.9 + x[t] * x[39 - t] - x[2 * t] * m[1, t] + m[t % 2, 3]
        return total

    assert_rolls(f, X, np.outer([1.0, 2.0], X), most=20)


def test_rows_that_are_written() -> None:
    def f(x: Any) -> Any:
        y = np.zeros((40, 3), like=x)
        y[0] = x[:3]
        for t in range(1, 40):
            y[t] = np.sin(y[t - 1]) + x[t]
            y[t, 1] = 0.5
        return y

    def g(x: Any) -> Any:
        y = np.zeros(41, like=x)
        for t in range(39, -1, -1):
            y[t] = y[t + 1] * 0.5 + x[t]
            y[t] *= 2.0
        return y

    assert_rolls(g, X, most=20)
    assert_rolls(fg.grad(lambda x: np.sum(g(x) ** 2)), X, most=60)
    graph = fg.make_graph(f)(X)
    np.testing.assert_array_equal(graph.roll()(X), graph(X))


def test_an_array_whose_rows_are_all_written_is_not_made_before() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(len(x), like=x)
        for t in range(len(x)):
            y[t] = np.tanh(x[t] + (y[t - 1] if t else 0.0))
        return np.sum(y**2)

    graph = assert_rolls(fg.value_and_grad(f), np.linspace(-1.0, 1.0, 30), most=40)
    assert "scatter" not in str(graph)


def test_the_sign_of_zero_and_numbers_that_are_none() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(20, like=x)
        y[0] = x[0]
        for t in range(1, 20):
            y[t] = y[t - 1] * x[t]
        return np.sum(y * y)

    for x in (np.zeros(20), -np.zeros(20), np.full(20, np.inf), np.where(np.arange(20) == 7, np.nan, -0.0)):
        graph = fg.make_graph(fg.grad(f))(x)
        with np.errstate(all="ignore"):
            a, b = graph(x), graph.roll()(x)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_rows_of_rows() -> None:
    def f(x: Any) -> Any:
        s, a = 0.0, np.zeros((3, 3))
        for t in range(40):
            a = np.stack([x * s, x + t, a[0]])
            s = s + a[1][2] + a[2][0] + a[1:][0][1]
        return s

    for g in (f, fg.grad(f)):
        assert_rolls(g, np.array([0.1, 0.2, 0.3]))


def test_loops_in_loops_and_one_after_another() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(20):
            y = x[i]
            for _ in range(8):
                y = y - (y * y - 2.0) / (2.0 * y + 1.0)
            total = total + y
        for i in range(20, 40):
            total = np.tanh(total) + x[i]
        return total

    rolled = assert_rolls(f, X)
    outer = [equation for equation in rolled.equations if equation.primitive.name == "scan"]
    assert any(loops_of(equation.params["loop"].body) for equation in outer)


def test_effects_are_not_rolled(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        for t in range(20):
            x = np.sin(x) * 0.9
            fg.debug_print("{}", t)
        return x

    fg.make_graph(f)(0.5).roll()(0.5)
    assert capsys.readouterr().out.split() == [str(t) for t in range(20)]


def test_a_rolled_program_has_derivatives() -> None:
    program = PROGRAMS["ar2"]
    args = program.arguments(30)
    rolled = fg.make_graph(program.f)(*args).roll()
    np.testing.assert_allclose(fg.grad(rolled)(*args), fg.grad(program.f)(*args), 1e-12)
    batch = np.stack([args[0], args[0] * 2])
    np.testing.assert_allclose(
        fg.vmap(rolled, in_axes=(0, None, None))(batch, *args[1:]), [program.f(x, *args[1:]) for x in batch], 1e-12
    )


def test_the_long_program_is_freed_at_once() -> None:
    """No object of rolling refers to itself, so a long program needs no search for cycles."""

    def filled(x: Any) -> Any:
        y = np.zeros(len(x), like=x)
        for t in range(1, len(x)):
            y[t] = np.tanh(y[t - 1] + x[t])
        return np.sum(y)

    def equations() -> int:
        return sum(type(x) is fg.extend.Equation for x in gc.get_objects())

    def scaled(x: Any, a: Any) -> Any:
        return filled(a * x)

    gc.collect()
    gc.disable()
    try:
        before = equations()
        rolled = fg.make_graph(filled)(X).roll()
        assert equations() - before < len(X)
        x = np.tile(X, 40)
        # The program is rolled before it is differentiated, and has an argument without axes.
        fg.jit(fg.grad(scaled, argnums=(0, 1)), engine="numpy")(x, np.float64(0.5))
        assert equations() - before < len(x)
    finally:
        gc.enable()
    assert loops_of(rolled)


def test_a_long_program_gives_no_warning() -> None:
    program = PROGRAMS["ar2"]
    args = program.arguments(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = fg.jit(fg.grad(program.f))(*args)
    np.testing.assert_allclose(got, fg.grad(program.f)(*args), 1e-11)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 150, 50))
def test_random_programs(first: int) -> None:
    report = Report()
    found = [
        f"{program.text()}\n{what}"
        for program in map(looping_of, range(first, first + 50))
        for what in findings(program, report)
    ]
    assert not found, "\n\n".join(found)
    assert report.checks["loops: rolled"] > 50


def test_rounds_that_start_anew_now_and_then_are_one_round() -> None:
    def f(x: Any) -> Any:
        out, y = np.zeros_like(x), 1.0
        for t in range(len(x)):
            # Every seventh round has no operation of its own, so all operations of the program are equal.
            y = x[t] if t % 7 == 0 else y * x[t]
            out[t] = y
        return np.sum(out**2)

    x = np.linspace(0.9, 1.1, 280)
    graph = fg.make_graph(f)(x)
    rolled = graph.roll()
    np.testing.assert_array_equal(rolled(x), graph(x))
    loops = [each.params["loop"] for each in rolled.equations if each.primitive.name == "scan"]
    assert [(loop.length, len(loop.body.equations)) for loop in loops] == [(40, 6)]
    gradient = fg.value_and_grad(f)
    found, expected = (fg.jit(gradient, engine="numpy", roll=roll)(x) for roll in (True, False))
    fg.tree.map(np.testing.assert_array_equal, found, expected)


def test_a_carry_that_begins_with_a_number() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for t in range(40):
            total = total + np.sin(x[t])
        return total

    assert_rolls(f, np.linspace(0.0, 1.0, 40), loops=[40], most=1)


def test_numbers_and_variables_in_turns() -> None:
    def f(x: Any, a: Any) -> Any:
        for t in range(60):
            x = np.sin(x) * (0.7 if t % 2 else a) + (a if t in (31, 40) else 0.3)
        return x

    rolled = assert_rolls(f, np.linspace(0.0, 1.0, 5), 0.9)
    assert all(len(each.operands) < 8 for each in rolled.equations)


def test_operands_of_two_rounds_before_that_begin_in_two_ways() -> None:
    # Both read the result of two rounds before, and their values of round 1 agree. Those of round 0 do not.
    def f(a: Any, b: Any, c: Any) -> Any:
        first, second = [a, b], [c, b]
        for t in range(200):
            y = 0.6 * first[t] + 0.4 * second[t]
            first.append(y)
            second.append(y)
        return first[-1] + first[-2]

    assert_rolls(f, *np.linspace(0.2, 0.9, 9).reshape(3, 3))


def test_long_rounds_that_read_at_places_of_their_own_have_loops_inside() -> None:
    # The rounds of the outer loop are of the same kinds, but each adds at another place.
    def f(v: Any, source: Any) -> Any:
        loss = 0.0
        for shot in range(5):
            before, now = np.zeros(20, like=v), np.zeros(20, like=v)
            for t in range(len(source)):
                after = np.zeros(20, like=v)
                for i in range(1, 19):
                    after[i] = 2.0 * now[i] - before[i] + v[i] * (now[i + 1] - 2.0 * now[i] + now[i - 1])
                after[3 + 2 * shot] += source[t]
                loss = loss + after[17] ** 2
                before, now = now, after
        return loss

    def left(rounds: int) -> int:
        args = np.linspace(0.1, 0.2, 20), np.sin(np.arange(rounds))
        return len(assert_rolls(f, *args, most=250).equations)

    assert left(8) == left(16)
