"""pyhpc-benchmarks: which contenders are timed, and what the report says of the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import pyhpc
from benchmarks._report import write_json
from benchmarks._timing import QUICK, Suite


def _run(*values: float) -> Callable[[], Any]:
    return lambda: [np.array(values), 2.0]


def _fails() -> Any:
    raise ValueError("no such program")


CASES = {
    "the same": (_run(1.0, 2.0), True, None),
    "NaN in one element": (_run(1.0, np.nan), True, "x: peer gives NaN for 1 of 3 numbers"),
    "NaN and another number": (_run(3.0, np.nan), False, "x: peer gives other numbers than ours"),
    "another number": (_run(1.0, 3.0), False, "x: peer gives other numbers than ours"),
    "another shape": (_run(1.0), False, "x: peer gives other numbers than ours"),
    "an error": (_fails, False, "x: peer does not run: ValueError: no such program"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_contender_is_timed_where_its_numbers_agree(name: str) -> None:
    run, timed, note = CASES[name]
    suite = Suite("pyhpc")
    found = pyhpc._working(suite, "x", {"ours": _run(1.0, 2.0), "peer": run})
    assert ("peer" in found) is timed
    assert [each[: len(note or "")] for each in suite.notes] == ([] if note is None else [note])


def test_nan_of_ours_is_a_difference() -> None:
    suite = Suite("pyhpc")
    assert list(pyhpc._working(suite, "x", {"ours": _run(np.nan, 2.0), "peer": _run(1.0, 2.0)})) == ["ours"]


def test_a_tridiagonal_system_is_solved() -> None:
    rng = np.random.default_rng(0)
    a, b, c, d = rng.normal(size=(4, 3, 5))
    b += 5
    found = pyhpc.solve_tridiag(a, b, c, d)
    for i in range(3):
        matrix = np.diag(b[i]) + np.diag(a[i, 1:], -1) + np.diag(c[i, :-1], 1)
        np.testing.assert_allclose(matrix @ found[i], d[i])


TOY = {
    "__init__": "import numpy as np\ndef generate_inputs(size): return np.arange(1.0, size), np.arange(size - 1)",
    "toy_numpy": "def entry(x, n): return x * x * n",
    "toy_numba": "def run(x, n, device='cpu'): return x * x * n",
    "toy_jax": "def entry(x, n): return x * x * n",
    "toy_pytorch": "def entry(x, n): return x * x * n",
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks" / "toy"
    folder.mkdir(parents=True)
    for name, text in TOY.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(pyhpc, "PROGRAMS", {"toy": pyhpc.Program("toy", "toy", "entry", (0,))})
    return tmp_path


HOST = {"funcgrad, NumPy", "funcgrad, Numba", "funcgrad, eager", "Numba"}


@pytest.mark.parametrize("accelerator", [None, "a GPU"])
def test_a_gpu_times_what_computes_on_it(checkout: Path, accelerator: str | None) -> None:
    suite = Suite("pyhpc", accelerator=accelerator)
    with pyhpc.jax.enable_x64(True):
        pyhpc.measure(suite, QUICK, checkout, "toy", 8)
    value, gradient = suite.cases
    timed = {*value.samples, *gradient.samples}
    assert {"funcgrad, XLA", "JAX", "NumPy"} <= timed
    assert timed & HOST == (set() if accelerator else HOST)
    write_json(suite, checkout / "pyhpc.json")
    environment = json.loads((checkout / "pyhpc.json").read_text())["environment"]
    assert (environment["device"], environment["accelerator"]) == ("gpu" if accelerator else "cpu", accelerator)


def test_times_are_stored_by_device(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyhpc, "RESULTS", checkout)
    assert pyhpc.main([str(checkout), "--quick", "--device", "cpu"]) == 0
    assert json.loads((checkout / "pyhpc.json").read_text())["environment"]["device"] == "cpu"
