"""NPBench's gradients: the comparison of one program of a made-up checkout, and the table of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from benchmarks.npbench import __main__ as npbench
from benchmarks.npbench import _run, _table
from benchmarks.npbench._programs import DACE, NOT_DIFFERENTIABLE, differentiable, read

INFO = {
    "short_name": "rows",
    "relative_path": "small/rows",
    "module_name": "rows",
    "func_name": "kernel",
    "parameters": {"S": {"N": 5}},
    "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A"]},
    "input_args": ["N", "A"],
    "array_args": ["A"],
    "output_args": ["A"],
}
START = "import numpy as np\ndef initialize(N, datatype=np.float64):\n    return np.linspace(1, 2, N)\n"
NUMPYS = "import numpy as np\ndef kernel(n, A):\n    b = np.zeros(n)\n    b[:] = A\n    A[1:] = b[1:] * b[:-1]\n"
JAXS = "import jax\n@jax.jit\ndef kernel(N, A):\n    return A.at[1:].set(A[1:] * A[:-1])\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "npbench" / "benchmarks" / "small" / "rows"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "rows.json").write_text(json.dumps({"benchmark": INFO}))
    for suffix, text in (("", START), ("_numpy", NUMPYS), ("_jax", JAXS)):
        (folder / f"rows{suffix}.py").write_text(text)
    return tmp_path


@pytest.fixture(autouse=True)
def jax_as_before() -> Iterator[None]:
    """JAX's 64-bit mode stays on in the processes that measure."""
    before = jax.config.read("jax_enable_x64")
    yield
    jax.config.update("jax_enable_x64", before)


def test_a_program_is_differentiated_as_jax_does(checkout: Path) -> None:
    scratch = checkout / "scratch"
    scratch.mkdir()
    asked = (str(checkout), "rows", "S")
    reference = _run.answer(*asked, "reference", str(scratch), 0.0)
    assert (reference["results"], reference["paired"]) == (1, 1)
    absent = {name: {"status": "failed"} for name in ("numba", "xla")}
    found = {name: _run.answer(*asked, name, str(scratch), 0.0) for name in ("jax", "eager", "numpy")}
    assert found["eager"]["intercept"]
    assert found["eager"]["difference"] < 1e-6
    assert npbench._check(scratch, found | absent) == "JAX's"
    with np.load(scratch / "eager.npz") as file:
        file_of_numpy = dict(file) | {"arr_1": file["arr_1"] * (1 + 1e-4)}
    np.savez(scratch / "numpy.npz", *file_of_numpy.values())
    checked = npbench._check(scratch, found | absent)
    assert checked == "wrong: numpy beside eager"


@pytest.mark.parametrize(
    ("lines", "intercept", "paths"),
    [
        ("b = np.ndarray(n)\n    b[:] = A", True, False),
        ("b = A * 1\n    if A[0] > 0.5:\n        b = b + 0", False, True),
        ("b = np.zeros(n)\n    b[:] = A if A[0] > 0.5 else -A", True, True),
    ],
)
def test_what_a_program_needs_is_found(checkout: Path, lines: str, intercept: bool, paths: bool) -> None:
    numpys = f"import numpy as np\ndef kernel(n, A):\n    {lines}\n    A[1:] = b[1:] * b[:-1]\n"
    (checkout / "npbench" / "benchmarks" / "small" / "rows" / "rows_numpy.py").write_text(numpys)
    scratch = checkout / "scratch"
    scratch.mkdir()
    asked = (str(checkout), "rows", "S")
    _run.answer(*asked, "reference", str(scratch), 0.0)
    found = {name: _run.answer(*asked, name, str(scratch), 0.0) for name in ("jax", "eager", "numpy", "numba", "xla")}
    assert npbench._check(scratch, found) == "JAX's"
    assert {found[name]["intercept"] for name in _run.OURS} == {intercept}
    assert [found[name]["paths"] for name in _run.OURS] == [False, paths, paths, paths]
    row = {"program": "rows", "contenders": found, "check": "JAX's"}
    assert _table.markdown([row]).count("`paths`") == 3 * paths


def test_inputs_and_arguments_come_from_the_checkout(checkout: Path) -> None:
    inputs = read(checkout)["rows"].inputs("S")
    assert list(inputs) == ["N", "A"]
    assert differentiable(inputs) == ("A",)
    with pytest.raises(FileNotFoundError, match=r"spcl/npbench"):
        read(checkout / "npbench")


def test_a_smaller_size_has_a_tenth_of_the_numbers(checkout: Path) -> None:
    file = checkout / "bench_info" / "rows.json"
    for number, smaller in ((600, 60), (33, 32), (32, 32)):
        info = INFO | {"parameters": {"S": {"N": number}}}
        file.write_text(json.dumps({"benchmark": info}))
        assert read(checkout)["rows"].inputs("XS")["N"] == smaller


def test_gradients_that_the_tests_of_dace_check() -> None:
    assert len(DACE) == len(set(DACE)) == 37
    assert not set(DACE) & set(NOT_DIFFERENTIABLE)


@pytest.mark.parametrize(("a", "b", "far"), [(2.0, 1.0, 1.0), (np.nan, 1.0, np.inf), (np.ones(2), np.ones(3), np.inf)])
def test_distance_of_two_results(a: Any, b: Any, far: float) -> None:
    assert _run.apart(a, b) == far


def test_table_gives_ratios_and_what_failed() -> None:
    done = {"status": "ok", "first": 2.0, "run": 0.5, "intercept": False}
    ways = {"jax": done | {"run": 1.0}, "eager": done, "numpy": done, "xla": done}
    row = {"program": "rows", "contenders": ways | {"numba": {"status": "failed", "error": "> 60 s"}}, "check": "JAX's"}
    lines = _table.markdown([row]).splitlines()
    assert lines[2] == "| rows | yes | 2 s, 1 s | 1, 0.5 | 1, 0.5 | > 60 s | 1, 0.5 | JAX's |"
    assert "- 1 programs: 1 run unchanged, 0 inside of `fg.intercept()`." in lines


def test_each_contender_has_its_own_count() -> None:
    done = {"status": "ok", "first": 2.0, "run": 0.5, "intercept": False}
    ways = {"jax": done, "eager": done, "numpy": done | {"intercept": True}, "xla": done}
    late = ways | {"numba": {"status": "failed", "error": "> 60 s"}}
    fails = ways | {"numba": {"status": "failed", "error": "error"}}
    absent = ways | {"numba": {"status": "failed", "error": "not run"}}
    large = ways | {"numba": {"status": "failed", "error": "> 12000 MiB"}}
    assert _table.outcome({"contenders": large, "check": "JAX's"}, "numba") == "too large"
    assert _table.outcome({"contenders": absent, "check": "JAX's"}, "numba") == "not run"
    rows = [
        {"program": "a", "contenders": late, "check": "JAX's"},
        {"program": "b", "contenders": fails, "check": "the differences', not JAX's"},
        {"program": "c", "contenders": late, "check": "wrong: numpy beside eager"},
        {"program": "d", "contenders": late, "check": "not compared"},
    ]
    assert [_table.outcome(row, "eager") for row in rows] == ["right, as it stands"] * 2 + ["not compared"] * 2
    assert [_table.outcome(row, "numpy") for row in rows][1:] == [
        "right, inside of `fg.intercept()`",
        "wrong",
        "not compared",
    ]
    assert [_table.outcome(row, "numba") for row in rows] == ["too slow", "refused", "too slow", "too slow"]
    assert _table.counts(rows, "xla")["right, as it stands"] == 2
    assert "- numba: 1 refused, 3 too slow." in _table.summary(rows)


def test_a_run_of_some_programs_keeps_the_others(tmp_path: Path) -> None:
    output, about = (
        tmp_path / "npbench.json",
        {"size": "S", "limit": 60, "clock": "wall", "environment": {"date": "today", "cores": 2}},
    )
    assert npbench.kept(output, about) == {}
    output.write_text(json.dumps(about | {"rows": [{"program": "a"}]}))
    assert npbench.kept(output, about | {"environment": {"date": "later", "cores": 2}}) == {"a": {"program": "a"}}
    assert npbench.kept(output, about | {"size": "M"}) == {}
    assert npbench.kept(output, about | {"clock": "processor"}) == {}
    assert npbench.kept(output, about | {"environment": {"date": "today", "cores": 4}}) == {}


def test_processes_answer_fail_and_take_too_long(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = checkout / "npbench.json"
    given = [str(checkout), "rows", "--without", "jax", "numba", "xla", "--seconds", "0", "--output", str(output)]
    assert npbench.main(given) == 0
    (row,) = json.loads(output.read_text())["rows"]
    assert row["check"] == "the differences'"
    assert row["contenders"]["numpy"]["intercept"]
    version = checkout / "npbench" / "benchmarks" / "small" / "rows" / "rows_numpy.py"
    version.write_text("def kernel(n, A):\n    raise RuntimeError('no')\n")
    assert npbench.main(given) == 0
    assert "RuntimeError: no" in capsys.readouterr().err
    (row,) = json.loads(output.read_text())["rows"]
    assert row["contenders"]["eager"] == {"status": "failed", "error": "error"}
    npbench.main([*given, "--part", "2/2"])
    assert json.loads(output.read_text())["rows"] == [row]
    version.write_text("import time\n\n\ndef kernel(n, A):\n    time.sleep(60)\n")
    npbench.main([*given, "--limit", "1"])
    (row,) = json.loads(output.read_text())["rows"]
    assert row["contenders"]["eager"]["error"] == "> 1 s"
    npbench.main([*given, "--memory", "1"])
    (row,) = json.loads(output.read_text())["rows"]
    assert row["reference"]["error"] == row["contenders"]["eager"]["error"] == "> 1 MiB"


def test_times_of_the_processor(checkout: Path) -> None:
    """They are those of the process, and so is the limit: a program that computes for ever is ended."""
    output = checkout / "npbench.json"
    given = [str(checkout), "rows", "--without", "jax", "numba", "xla", "--seconds", "0", "--output", str(output)]
    assert npbench.main([*given, "--clock", "processor"]) == 0
    content = json.loads(output.read_text())
    assert content["clock"] == "processor"
    assert 0 < content["rows"][0]["contenders"]["eager"]["first"] < 10
    version = checkout / "npbench" / "benchmarks" / "small" / "rows" / "rows_numpy.py"
    version.write_text("def kernel(n, A):\n    while n:\n        pass\n")
    npbench.main([*given, "--clock", "processor", "--limit", "1"])
    (row,) = json.loads(output.read_text())["rows"]
    assert row["contenders"]["eager"]["error"] == "> 1 s"


def test_each_size_and_clock_has_results_of_its_own() -> None:
    names = [npbench.stored(size, clock) for size, clock in (("S", "wall"), ("XS", "wall"), ("M", "processor"))]
    assert names == ["npbench", "npbench_xs", "npbench_m_processor"]
