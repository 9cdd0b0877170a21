"""The tool that makes the calls of NumPy's and SciPy's tests once more: what it records, and what it notices."""

from __future__ import annotations

import ast
import json
import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.own_tests import rewrite, routes
from tests.own_tests.__main__ import files
from tests.own_tests.compare import difference
from tests.own_tests.reasons import Known
from tests.own_tests.recorder import Recorder
from tests.own_tests.targets import Target, target_of
from tests.own_tests.trees import as_array

# Types of SciPy leave out what a frozen distribution has.
FROZEN: Any = scipy.stats.norm(1, 2)
PROGRAM = """
x = np.array([1.0, 2.0])
y = np.sin(x)[0:1] + -x[1]
z = np.clip(*[x], a_min=None, a_max=1.5) @ x < y
assert x.sum() == 3
"""


def test_calls_and_operators_of_a_test_module_are_recorded() -> None:
    recorded: list[Any] = []

    def called(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        recorded.append(f)
        return f(*args, **kwargs)

    names: dict[str, Any] = {"np": np, **rewrite.names(called)}
    exec(compile(rewrite.rewritten(ast.parse(PROGRAM)), "program", "exec"), names)
    for f in (np.sin, np.clip, operator.getitem, operator.add, operator.neg, operator.matmul, operator.lt):
        assert f in recorded
    assert any(getattr(f, "__name__", "") == "sum" for f in recorded)
    assert names["z"].tolist() == [False]


@pytest.mark.parametrize(
    ("f", "args", "name"),
    [
        (np.add, (1, 2), "numpy.add"),
        (np.add.reduce, (1,), "numpy.add.reduce"),
        (np.ones(2).cumsum, (), "ndarray.cumsum"),
        (scipy.special.gammainc, (1, 2), "scipy.special.gammainc"),
        (scipy.stats.norm.pdf, (1,), "scipy.stats.norm.pdf"),
        (FROZEN.pdf, (1,), "scipy.stats.norm.pdf"),
    ],
)
def test_a_public_function_is_found_with_ours(f: Any, args: tuple[Any, ...], name: str) -> None:
    found = target_of(f, args)
    assert found is not None
    assert found[0].name == name


@pytest.mark.parametrize("f", [print, np.ones(2).tobytes, scipy.stats.norm.rvs, np.random.default_rng, len])
def test_other_functions_are_not(f: Any) -> None:
    assert target_of(f, ()) is None


def recorder(folder: Path) -> Recorder:
    return Recorder(folder / "lines.jsonl", per_function=9, per_kind=9, every_for_xla=1, until=float("inf"))


def compared(folder: Path, name: str, theirs: Any, ours: Any, *args: Any, **kwargs: Any) -> set[tuple[str, str]]:
    """Ways and kinds of the differences between two functions."""
    found = recorder(folder)
    found.compare(Target(name, theirs, ours), args, kwargs)
    path = folder / "lines.jsonl"
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else []
    return {(line["way"], line["kind"]) for line in lines}


X = np.array([0.5, 1.5, 2.5])
WAYS = ("eager", "numpy", "xla")


def all_ways(kind: str) -> set[tuple[str, str]]:
    return {(way, kind) for way in WAYS}


def _fails(x: Any) -> Any:
    raise ValueError(x)


def _crashes(x: Any) -> Any:
    raise KeyError(x)


def _overwrites(x: Any) -> Any:
    x[0] = 9.0
    return x


@fg.custom_jvp
def _steep(x: Any) -> Any:
    return np.sin(x)


@_steep.defjvp
def _steep_jvp(primals: Any, tangents: Any) -> Any:
    return np.sin(primals[0]), 1.01 * np.cos(primals[0]) * tangents[0]


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (np.sin, np.sin, set()),
        (np.sin, lambda x: np.sin(x) + 1e-6, all_ways("value")),
        (np.sin, lambda x: fnp.astype(np.sin(x), np.float32), all_ways("dtype")),
        (np.sin, lambda x: np.sin(x)[:1], all_ways("shape")),
        (np.sin, lambda x: (np.sin(x),), all_ways("structure")),
        (np.sin, _crashes, all_ways("crash")),
        (np.sin, lambda x: np.float64(float(np.sum(x))), all_ways("refusal")),
        (_fails, np.sin, all_ways("answer")),
        (_fails, _fails, set()),
        (_fails, _crashes, all_ways("error")),
        (_overwrites, _overwrites, set()),
        (_overwrites, lambda x: np.append(9.0, x[1:]), all_ways("value")),
        (np.sin, _steep, {("derivative", "value")}),
    ],
)
def test_a_planted_difference_is_noticed(tmp_path: Path, theirs: Any, ours: Any, expected: set[Any]) -> None:
    assert compared(tmp_path, "f", theirs, ours, X) == expected
    # The arguments of the test are its own.
    np.testing.assert_array_equal(X, [0.5, 1.5, 2.5])


def test_an_array_in_two_places_is_one_traced_value(tmp_path: Path) -> None:
    x = X.copy()
    assert compared(tmp_path, "add", np.add, np.add, x, 1.0, out=x) == set()
    np.testing.assert_array_equal(x, X)


def test_a_list_of_floats_is_an_array() -> None:
    np.testing.assert_array_equal(as_array([[1, 2.5]]), [[1, 2.5]])
    for x in ([1, 2], (1.0, 2.0), [[1.0], [1.0, 2.0]], [None, 1.0], 1.0, "text"):
        assert as_array(x) is x


@pytest.mark.parametrize(
    ("got", "expected", "kind"),
    [
        (1.0, 1.0 + 1e-12, None),
        (np.nan, np.nan, None),
        (np.inf, -np.inf, "value"),
        (np.array([1e-30, 1.0]), np.array([2e-30, 1.0]), "value"),
        (np.array([1, 2]), np.array([1, 3]), "value"),
        (np.float32(1), np.float64(1), "dtype"),
        (np.float32(1), 1.0, None),
        (np.int32(1), 1.0, "dtype"),
        (None, 1.0, "structure"),
        ((1.0, 2.0), [1.0, 2.0], None),
    ],
)
def test_a_difference_has_its_kind(got: Any, expected: Any, kind: str | None) -> None:
    found = difference(got, expected, by_elements=True)
    assert (found and found[0]) == kind


def test_a_derivative_is_compared_only_where_differences_agree() -> None:
    call = routes.Call(Target("abs", np.abs, np.abs), (np.array([0.0, 1.0]),), {})
    result, pullback, outputs = routes.eagerly(call)
    np.testing.assert_array_equal(result, [0.0, 1.0])
    with pytest.raises(LookupError):
        routes.derivative_difference(call, pullback, outputs)


def test_a_reason_covers_what_it_names() -> None:
    line = {"function": "numpy.f", "kind": "value", "way": "xla", "text": "1 for 2", "call": "x"}
    assert Known("numpy.*", "").covers(line)
    assert not Known("scipy.*", "").covers(line)
    assert not Known("*", "", kinds="dtype").covers(line)
    assert not Known("*", "", ways="eager numpy").covers(line)
    assert not Known("*", "", text="^2").covers(line)


def test_the_suites_are_where_they_are_looked_for() -> None:
    names = {path.name for path in files([])}
    assert {"test_function_base.py", "test_linalg.py", "test_basic.py", "test_distributions.py"} <= names


@pytest.mark.long
def test_a_sample_of_the_suites_shows_nothing_new() -> None:
    command = [sys.executable, "-m", "tests.own_tests", "--sample", "--workers", "1", "--minutes", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
