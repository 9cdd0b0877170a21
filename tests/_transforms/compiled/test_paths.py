"""``fg.jit(f, paths=n)``: branches on numbers. Each path is a straight program."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.laws.fuzz.branches import branching_of, findings
from tests.laws.fuzz.check import Report

ENGINES = ("numpy", "numba", "xla")
X = np.array([0.5, -1.0, 2.0])


def branching(x: Any) -> Any:
    if np.sum(x) > 0:
        return np.sin(x) * 2
    y = x.copy()
    y[0] = 5.0
    if x[1] > 3:
        return y * x
    return y - x


INPUTS = (X, -X, np.array([-9.0, 4.0, 1.0]), 2 * X, -4 * X, np.array([-9.0, 3.5, 1.0]))


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
    return x


def paths_of(f: Any) -> list[int]:
    """Return the numbers of paths of a function, one for each combination of types."""
    return [len(types.tree.paths) for types in f._types.values()]


@pytest.mark.parametrize("engine", ENGINES)
def test_values_and_gradients_are_those_of_the_function(engine: str) -> None:
    compiled = fg.jit(branching, paths=4, engine=engine)
    total = lambda f: lambda x: np.sum(f(x) ** 2)
    inside = fg.jit(fg.grad(total(branching)), paths=4, engine=engine)
    for x in INPUTS * 2:
        np.testing.assert_allclose(compiled(x), branching(x), 1e-12)
        expected = fg.grad(total(branching))(x)
        np.testing.assert_allclose(inside(x), expected, 1e-12)
        np.testing.assert_allclose(fg.grad(total(compiled))(x), expected, 1e-12)
    assert paths_of(compiled) == [3]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_known_path_runs_no_python_of_the_users(engine: str) -> None:
    calls = []

    @fg.jit(paths=3, engine=engine)
    def f(x: Any) -> Any:
        calls.append(1)
        return x * 2 if x > 0 else x * 3

    assert [float(f(x)) for x in (1.0, -1.0, 2.0, -2.0)] == [2.0, -3.0, 4.0, -6.0]
    assert len(calls) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_other_transforms_go_through(engine: str) -> None:
    compiled = fg.jit(newton, paths=20, engine=engine)
    for a in (2.0, 9.0, 50.0, 3.0):
        assert float(compiled(a)) == pytest.approx(np.sqrt(a))
        assert float(fg.grad(fg.grad(compiled))(a)) == pytest.approx(float(fg.grad(fg.grad(newton))(a)))
        assert float(fg.hessian(compiled)(a)) == pytest.approx(float(fg.hessian(newton)(a)))
        assert [float(y) for y in fg.jvp(compiled, (a,), (1.0,))] == pytest.approx(
            [float(y) for y in fg.jvp(newton, (a,), (1.0,))]
        )
        assert float(fg.jit(fg.grad(newton), paths=20, engine=engine)(a)) == pytest.approx(float(fg.grad(newton)(a)))
        outer = fg.jit(lambda a: compiled(a) + 1, paths=20, engine=engine)
        assert float(outer(a)) == pytest.approx(np.sqrt(a) + 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_integers_choose_shapes(engine: str) -> None:
    @fg.jit(paths=5, engine=engine)
    def head(x: Any, n: Any) -> Any:
        return x[: int(n)] * 2, np.zeros(n), x[n - 1]

    for n in (1, 3, 2, 3):
        first, zeros, last = head(X, n)
        np.testing.assert_array_equal(first, X[:n] * 2)
        assert np.shape(zeros) == (n,)
        assert float(last) == X[n - 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_effects_happen_once(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    @fg.jit(paths=3, engine=engine)
    def f(x: Any) -> Any:
        fg.debug_print("before {}", x)
        if x > 0:
            fg.debug_print("positive")
        return x * 2

    for x in (1.0, -1.0, 2.0, -2.0):
        f(x)
    expected = ["before 1.0", "positive", "before -1.0", "before 2.0", "positive", "before -2.0"]
    assert capsys.readouterr().out.splitlines() == expected


def test_past_the_last_path_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    @fg.jit(paths=2, engine="numpy")
    def f(x: Any) -> Any:
        fg.debug_print("before")
        if x > 2:
            fg.debug_print("large")
        return x if x > 0 else -x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathsWarning)
        assert [float(f(x)) for x in (1.0, -1.0, 3.0, 3.0)] == [1.0, 1.0, 3.0, 3.0]
    assert capsys.readouterr().out.splitlines() == ["before", "before", "before", "large", "before", "large"]


def test_a_path_beyond_those_that_are_compiled_warns_once_for_a_function() -> None:
    """The message says at which line the function branches, and how many paths it took."""

    @fg.jit(paths=2, engine="numpy")
    def power(x: Any, n: Any) -> Any:
        return x ** int(n)

    assert [float(power(2.0, n)) for n in (1, 2)] == [2.0, 4.0]
    message = r"jit: a call of power runs eagerly: it took more than 2 paths.* test_paths.py:\d+.*: int\(\) went 2 ways"
    with pytest.warns(errors.PathsWarning, match=message) as caught:
        assert float(power(2.0, 3)) == 8.0
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(power(2.0, 4)) == 16.0


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_the_users_is_raised_on_each_call_that_takes_its_path(engine: str) -> None:
    @fg.jit(paths=3, engine=engine)
    def f(x: Any) -> Any:
        if x > 1:
            raise ArithmeticError("too large")
        return x * 2

    for _ in range(2):
        with pytest.raises(ArithmeticError, match="too large"):
            f(2.0)
        assert float(f(0.5)) == 1.0


def test_donated_memory_is_written_after_the_last_guard() -> None:
    @fg.jit(paths=3, engine="numpy", donate_argnums=0)
    def f(x: Any, n: Any) -> Any:
        y = x * 2
        return y + 1 if n > 0 else np.sum(y)

    for n in (1, -1):
        x = X.copy()
        f(x, n)
        np.testing.assert_array_equal(x, X)
    x = X.copy()
    assert float(f(x, -1)) == 3.0
    with pytest.raises(ZeroDivisionError):
        fg.jit(lambda x, n: x + 1 / 0 if n > 0 else x, paths=2, engine="numpy", donate_argnums=0)(x, 1)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("engine", ENGINES)
def test_results_have_memory_of_their_own(engine: str) -> None:
    @fg.jit(paths=3, engine=engine)
    def f(x: Any) -> Any:
        y = x * 2
        return (y, y, y[1:], x) if x[0] > 0 else (y, x[::-1], y, x)

    for x in (X, X, -X, -X):
        given = x.copy()
        results = f(given)
        kept = [np.array(y) for y in results]
        assert not any(np.shares_memory(np.asarray(a), np.asarray(b)) for a in results[:1] for b in results[1:3])
        if engine == "numpy":
            results[0][...] = 7.0
            np.testing.assert_array_equal(results[1], kept[1])
            np.testing.assert_array_equal(given, x)
            assert results[3] is given


def test_a_loop_that_might_not_end_is_not_tried_for_other_numbers() -> None:
    @fg.jit(paths=3)
    def f(x: Any) -> Any:
        if x > 0:
            return fg.while_loop(lambda y: y != 0.0, lambda y: np.where(y > 1.0, y - 1.0, 0.0), x)
        return -x

    assert [float(f(x)) for x in (2.0, -3.0, 3.5, -1.0)] == [0.0, 3.0, 0.0, 1.0]


def test_vmap_refuses_and_names_the_alternatives() -> None:
    compiled = fg.jit(branching, paths=3, engine="numpy")
    with pytest.raises(errors.TracerBoolConversionError, match=r"vmap.*np\.where \(or fg\.cond\)"):
        fg.vmap(compiled)(np.ones((2, 3)))
    with pytest.raises(errors.TracerBoolConversionError, match=r"Or follow the branch: fg\.jit\(f, paths=8\)"):
        fg.jit(branching, engine="numpy")(X)
    with pytest.raises(errors.TracerIntegerConversionError, match=r"Or follow the number: fg\.jit\(f, paths=8\)"):
        fg.jit(lambda x: int(x), engine="numpy")(2.5)


def test_a_float_is_no_path() -> None:
    for take in (float, lambda x: x.item(), lambda x: x.tolist()):
        with pytest.raises(errors.ConcretizationTypeError):
            fg.jit(lambda x, take=take: take(x[0]) * x, paths=4, engine="numpy")(X)
    compiled = fg.jit(lambda x: x[np.argmax(x).item()], paths=4, engine="numpy")
    assert [float(compiled(x)) for x in (X, -X)] == [2.0, 1.0]


def test_bad_numbers_of_paths() -> None:
    for paths in (0, -3):
        with pytest.raises(ValueError, match="jit: paths of newton"):
            fg.jit(newton, paths=paths)
    for paths in (2.5, "8", None, True):
        with pytest.raises(TypeError, match="jit: paths of newton"):
            fg.jit(newton, paths=paths)  # pyright: ignore[reportArgumentType]  (a wrong argument)


def test_the_graph_of_a_path_shows_its_guards() -> None:
    graph = fg.make_graph(branching, paths=True)(-X)
    assert str(graph).count("guard") == 2
    assert "guard c: False" in str(graph)
    np.testing.assert_array_equal(graph(-2 * X), branching(-2 * X))
    with pytest.raises(errors.GraphError, match="Make the graph of the other path"):
        graph(X)
    with pytest.raises(errors.GraphError):
        fg.jit(graph, engine="numpy")(X)
    np.testing.assert_array_equal(fg.vmap(graph)(np.stack([-X, -2 * X])), [branching(-X), branching(-2 * X)])
    assert "guard c: True" in str(fg.jit(branching, paths=2).graph(X))


def test_the_source_has_all_paths() -> None:
    compiled = fg.jit(branching, paths=4, engine="numpy")
    for x in INPUTS:
        compiled(x)
    source = compiled.source(X)
    assert source.count("return v") == 3
    assert source.count("asked = bool(") == 2


def test_a_chain_of_a_thousand_guards() -> None:
    @fg.jit(paths=2, engine="numpy")
    def f(x: Any) -> Any:
        n = 0
        while x > 0.5:
            x = x - 1.0
            n += 1
        return x * n

    assert float(f(1000.0)) == float(f(1000.25)) - 250.0 == 0.0


def test_an_array_that_the_function_makes_is_one_constant() -> None:
    @fg.jit(paths=4, engine="numpy")
    def f(x: Any) -> Any:
        scale = np.array([0.5, 2.0])
        return x * scale if x > 0 else scale

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (1.0, -1.0, 3.0):
            np.testing.assert_array_equal(f(x), [0.5 * x, 2.0 * x] if x > 0 else [0.5, 2.0])
    assert paths_of(f) == [2]


def test_a_function_that_depends_on_more_than_its_arguments_is_still_right() -> None:
    factor = [1.0]

    @fg.jit(paths=4, engine="numpy")
    def f(x: Any) -> Any:
        y = x * factor[0] if factor[0] < 2 else np.sin(x)
        return y if x > 0 else -y

    assert float(f(1.0)) == 1.0
    factor[0] = 3.0
    with pytest.warns(
        errors.PathsWarning, match=r"something else at test_paths.py:\d+ for the same.*more than its arguments"
    ):
        assert float(f(-1.0)) == -float(np.sin(-1.0))


def test_threads_may_call_at_once() -> None:
    compiled = fg.jit(newton, paths=30, engine="numpy")
    numbers = np.linspace(1.0, 200.0, 40)
    wrong: list[float] = []

    def work() -> None:
        wrong.extend(a for a in numbers if abs(float(compiled(a)) - float(newton(a))) > 1e-12)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_static_arguments_structures_and_other_types_have_paths_of_their_own() -> None:
    @fg.jit(paths=2, engine="numpy", static_argnums=1)
    def f(tree: Any, kind: str) -> Any:
        x = tree["x"] if isinstance(tree, dict) else tree
        return {kind: x * 2 if np.all(x > 0) else x}

    for kind in ("a", "b"):
        for tree in (X, -X, np.abs(X), {"x": np.float32(2)}, {"x": np.float32(-2)}, 3.0, 3):
            x = tree["x"] if isinstance(tree, dict) else tree
            expected = x * 2 if np.all(x > 0) else x
            got = f(tree, kind)[kind]
            np.testing.assert_array_equal(got, expected)
            assert np.asarray(got).dtype == np.asarray(expected).dtype


def test_arrays_of_jax() -> None:
    for engine in ("xla", "numpy"):
        compiled = fg.jit(branching, paths=4, engine=engine)
        for x in INPUTS:
            np.testing.assert_allclose(compiled(jnp.asarray(x)), branching(x), 1e-5)


def test_taps_and_debug_nans_see_inside() -> None:
    @fg.jit(paths=3, engine="numpy")
    def f(x: Any) -> Any:
        y = fg.tap("y", x * 2)
        return np.log(y) if x > -1 else y

    with fg.taps() as seen:
        f(2.0)
    assert float(seen["y"].value) == 4.0
    with fg.debug_nans(), np.errstate(all="ignore"), pytest.raises(errors.NonFiniteError, match="log"):
        f(-0.5)


def test_it_is_copied_and_pickled_as_a_function() -> None:
    compiled = fg.jit(np.abs, paths=3, engine="numpy")
    assert copy.deepcopy(compiled) is compiled
    again = pickle.loads(pickle.dumps(compiled))
    assert float(again(-2.0)) == 2.0
    assert again._paths == 3


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_branching_programs(first: int) -> None:
    report = Report()
    found = [
        f"{program.text()}\n{what}"
        for seed in range(first, first + 20)
        for program in [branching_of(seed)]
        for what in findings(program, report)
    ]
    assert not found, "\n\n".join(found)
