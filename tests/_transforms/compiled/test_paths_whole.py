"""Engines on which a path with its guards is compiled as a whole: Numba's kernels end at a guard that is not met."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.paths import PathTree
from funcgrad._engines import ENGINES as RECORDS

ENGINES = ["numpy", "numba", "xla"]
X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    if "engine" not in request.fixturenames or request.getfixturevalue("engine") == "numba":
        pytest.importorskip("llvmlite")


def outcome(f: Callable[..., Any], args: tuple) -> Any:
    """Return the results, or the class of the error."""
    try:
        return [np.asarray(y) for y in fg.tree.leaves(f(*args))]
    except (IndexError, np.linalg.LinAlgError) as error:
        return type(error)


def compare(f: Callable[..., Any], compiled: Callable[..., Any], calls: list[tuple]) -> None:
    """Compare two calls of each kind with the plain function: values, types and errors."""
    for args in calls * 2:
        expected, got = outcome(f, args), outcome(compiled, args)
        if isinstance(expected, type):
            assert got is expected
            continue
        for y, z in zip(got, expected, strict=True):
            np.testing.assert_allclose(y, z, 1e-12)
            assert y.dtype == z.dtype


def in_the_middle(x: Any) -> Any:
    y = np.sin(x) * x
    if y[0] > 100:
        return np.sum(y)
    return np.sum(np.exp(-y * y) * x)


def kernels_of(source: str) -> int:
    """Return the number of calls of kernels in each function of a source, at most."""
    return max(part.count("try: ") for part in source.split("def run("))


def test_a_path_with_its_guards_is_one_kernel() -> None:
    compiled = fg.jit(fg.grad(in_the_middle), paths=4, engine="numba")
    compare(fg.grad(in_the_middle), compiled, [(X,), (1600 * X,)])
    source = compiled.source(X)
    assert source.count("def run(") == 2
    assert kernels_of(source) == 1
    large = np.linspace(-1, 1, 40000)
    compiled(large)
    assert "asked = bool(" in compiled.source(large)


def test_paths_that_are_no_kernel_run_in_the_tree() -> None:
    """A sum of strings of numbers has no kernel, and neither has a path that writes to donated memory."""
    f = lambda x: np.sort(x) * 2 if x[0] > 0 else np.sin(x) + np.cos(x) * x
    compare(f, fg.jit(f, paths=4, engine="numba"), [(X,), (-X,), (2 * X,)])
    donating = fg.jit(in_the_middle, paths=4, engine="numba", donate_argnums=0)
    for x in (X, 1600 * X, X):
        assert float(donating(x.copy())) == pytest.approx(float(in_the_middle(x)))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_of_a_wrong_path_is_not_seen(engine: str) -> None:
    def chosen(x: Any, i: Any) -> Any:
        return x[i] * 2 if x[0] > 0 else x[0] + i[0]

    def solved(a: Any, b: Any) -> Any:
        return np.linalg.solve(a, b) if a[0, 0] > 0 else b * 2

    far = np.array([5, -9])
    compare(chosen, fg.jit(chosen, paths=3, engine=engine), [(X, far % 3), (-X, far), (X, -far % 3)])
    if engine != "xla":
        # XLA reads the nearest element in place of one out of bounds, and gives NaN for a singular matrix.
        compare(chosen, fg.jit(chosen, paths=3, engine=engine), [(X, far % 3), (X, far), (-X, far)])
        ones = np.ones((2, 2))
        given = [(np.eye(2), X[:2]), (ones, X[:2]), (-ones, X[:2])]
        compare(solved, fg.jit(solved, paths=3, engine=engine), given)


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_that_are_numbers(engine: str) -> None:
    def pivoted(x: Any) -> Any:
        k = int(np.argmax(np.abs(x)))
        y = x / x[k]
        return y + 1 if y[0] < 0.5 else y

    def head(x: Any, n: Any) -> Any:
        return np.sum(x[: int(n)] ** 2)

    compare(pivoted, fg.jit(pivoted, paths=8, engine=engine), [(np.roll(X, k) * s,) for k in range(3) for s in (1, -3)])
    compare(head, fg.jit(head, paths=8, engine=engine), [(X, n) for n in (2, 0, -1, 3, 5, 2**40)])
    compare(head, fg.jit(head, paths=8, engine=engine), [(X, n) for n in (2.5, -1.5)])


@pytest.mark.parametrize("engine", ENGINES)
def test_bools_and_numbers_of_all_kinds_as_flags(engine: str) -> None:
    flagged = lambda x, flag: x * 2 if flag else x - 1
    flags = [True, False, np.True_, np.array(False), 0, 2, 0.0, np.nan, np.float32(3), np.uint64(2**63)]
    compare(flagged, fg.jit(flagged, paths=3, engine=engine), [(X, flag) for flag in flags])
    absolute = lambda n: -n if n < 0 else n * 2
    compare(absolute, fg.jit(absolute, paths=3, engine=engine), [(3,), (-3,), (np.int8(5),), (np.uint8(100),)])


@pytest.mark.parametrize("engine", ENGINES)
def test_results_that_are_arguments_views_and_constants(engine: str) -> None:
    def f(x: Any, y: Any) -> Any:
        if x[0] > 0:
            return x, y[::-1], 3.0
        return {"a": y, "b": np.array([1, 2])} if x[1] > 0 else ()

    compiled = fg.jit(f, paths=4, engine=engine)
    calls = [(X, 2 * X), (-X, X), (-np.abs(X), X)]
    compare(f, compiled, calls)
    assert compiled(X, 2 * X)[0] is X
    assert fg.tree.structure(compiled(-X, X)) == fg.tree.structure(f(-X, X))


def signs(x: Any, s: Any) -> Any:
    y = x * 0.5 + 0.1
    for k in range(5):
        y = np.sin(y) * s + x[k] if x[k] > 0 else np.tanh(y) - x[k] * s
    return np.sum(y * y)


def test_a_new_path_does_not_write_all_paths_again(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write: Any = RECORDS["numpy"].written_paths

    def counted(tree: PathTree, *args: Any, **kwargs: Any) -> Any:
        written.append(len(tree.paths))
        return write(tree, *args, **kwargs)

    monkeypatch.setitem(RECORDS, "numpy", dataclasses.replace(RECORDS["numpy"], written_paths=counted))
    gradient = fg.value_and_grad(signs, (0, 1))
    compiled = fg.jit(gradient, paths=32, engine="numpy")
    calls = [(np.array(x), 0.3) for x in itertools.product((0.7, -0.7), repeat=5)]
    compare(gradient, compiled, calls)
    assert sum(written) < 4 * 32
    # Paths that the written tree lacks are called again and again. The tree is then written with all of them.
    for _ in range(3):
        compare(gradient, compiled, calls)
    assert written[-1] == 32
    count = len(written)
    compare(gradient, compiled, calls)
    assert len(written) == count
    assert compiled.source(*calls[0]).count("def run(") == 1


def test_the_source_has_paths_that_the_written_tree_lacks() -> None:
    compiled = fg.jit(signs, paths=32, engine="numpy")
    for x in itertools.product((0.7, -0.7), repeat=3):
        compiled(np.array([0.1, -0.1, *x]), 0.3)
    assert compiled.source(np.ones(5), 0.3).count("return ") - compiled.source(np.ones(5), 0.3).count("MISS") > 9


def test_effects_of_a_new_path_do_not_happen_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """A path with effects runs in the tree alone, where no common beginning runs twice."""

    def f(x: Any) -> Any:
        fg.debug_print("begin")
        return x * 2 if x > 0 else (x - 1 if x > -1 else x + 7)

    compiled = fg.jit(f, paths=4, engine="numpy")
    for x in (1.0, -0.5, -3.0, 2.0, -0.7, -4.0):
        assert compiled(x) == f(x)
    assert capsys.readouterr().out.count("begin") == 12
