"""GradBench's protocol, and the two evaluations by gradient descent: derivatives of derivatives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from benchmarks.gradbench import _descent, particle
from benchmarks.gradbench._protocol import Tool

ROOT = Path(__file__).resolve().parents[2]


def _close(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def _force(x: np.ndarray, w: Any) -> np.ndarray:
    """Return Coulomb's force of two unit charges on one at x."""
    away = [x - charge for charge in (np.array([10.0, 10.0 - w]), np.array([10.0, 0.0]))]
    return away[0] / np.linalg.norm(away[0]) ** 3 + away[1] / np.linalg.norm(away[1]) ** 3


@pytest.mark.parametrize("mode", _descent.MODES)
def test_particle_has_a_derivative_within_a_derivative(mode: str) -> None:
    outer, inner = mode
    f = particle.path(inner)
    exact = partial(particle.missed_by, euler=lambda x, v, w: (x + 0.1 * v, v + 0.1 * _force(x, w)))
    w = np.float64(0.1)
    _close(f(w), exact(w))
    _close(_descent.GRADIENTS[outer](f)(w), (exact(w + 1e-6) - exact(w - 1e-6)) / 2e-6, 1e-6)


@pytest.mark.parametrize("mode", _descent.MODES)
@pytest.mark.parametrize("f", [lambda x: np.sum((x - 0.25) ** 2), lambda x: np.cosh(x[0] - 0.25) + (x[1] - 0.25) ** 2])
def test_descent_ends_where_the_slope_does(f: Callable[[Any], Any], mode: str) -> None:
    found = _descent.argmin(f, _descent.GRADIENTS[mode[0]](f), np.array([3.0, -2.0]))
    _close(found, [0.25, 0.25], 1e-3)


# The numbers to which GradBench compares: python/gradbench/gradbench/evals/{particle,saddle}/run.py.
PUBLISHED = {
    "particle": ({"w": 0.0}, 0.2071918746486116),
    "saddle": ({"start": [1.0, 1.0]}, [8.246324826140356e-06] * 4),
}


ONCE = {"min_runs": 1, "min_seconds": 0}


@pytest.mark.long
@pytest.mark.parametrize("mode", _descent.MODES)
@pytest.mark.parametrize("module", PUBLISHED)
def test_descents_give_the_published_numbers(module: str, mode: str) -> None:
    given, expected = PUBLISHED[module]
    (response,) = _answers({"kind": "evaluate", "module": module, "function": mode, "input": given | ONCE})
    _close(response["output"], expected)


def _answers(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    lines = ["", *(json.dumps({"id": i} | message) + "\n" for i, message in enumerate(messages))]
    return [json.loads(line) for line in Tool(fg.jit).answers(lines)]


def test_the_protocol() -> None:
    square = {"kind": "evaluate", "module": "hello", "function": "square", "input": 1.5}
    start, define, evaluate, analysis, other = _answers(
        {"kind": "start", "eval": "hello"},
        {"kind": "define", "module": "hello"},
        square,
        {"kind": "analysis", "of": 2, "valid": False, "error": "a reason"},
        {"kind": "a kind to come"},
    )
    assert start == {"id": 0, "tool": "funcgrad"}
    assert define == {"id": 1, "success": True}
    assert (evaluate["id"], evaluate["success"], evaluate["output"]) == (2, True, 2.25)
    assert [set(timing) for timing in evaluate["timings"]] == [{"name", "nanoseconds"}]
    assert (analysis, other) == ({"id": 3}, {"id": 4})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"kind": "define", "module": "os"}, "no program for the module 'os'; there are ba, det"),
        ({"kind": "evaluate", "module": "hello", "function": "cube", "input": 1.0}, "it has square, double"),
        ({"kind": "evaluate", "module": "hello", "function": "square", "input": "one"}, "could not convert"),
        ({"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1.0]}}, "min_runs"),
    ],
)
def test_an_error_is_a_response(message: dict[str, Any], reason: str) -> None:
    refused, hello = _answers(message, {"kind": "define", "module": "hello"})
    assert (refused["id"], refused["success"]) == (0, False)
    assert reason in refused["error"]
    assert hello == {"id": 1, "success": True}


@pytest.mark.parametrize(("runs", "seconds"), [(5, 0.0), (1, 0.02), (0, 0.0)])
def test_a_function_runs_for_as_long_as_the_input_asks(runs: int, seconds: float) -> None:
    given = {"x": [1.0, 2.0], "min_runs": runs, "min_seconds": seconds}
    (response,) = _answers({"kind": "evaluate", "module": "lse", "function": "primal", "input": given})
    spent = [timing["nanoseconds"] for timing in response["timings"]]
    assert len(spent) >= max(runs, 1)
    assert sum(spent) >= seconds * 1e9
    assert len(spent) in (1, runs) or sum(spent[:-1]) < seconds * 1e9


def test_the_process_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "benchmarks.gradbench", "--engine", "numpy"]
    message = {"id": 7, "kind": "evaluate", "module": "hello", "function": "double", "input": 2.0}
    ended = subprocess.run(
        command, input=json.dumps(message), capture_output=True, text=True, check=True, cwd=ROOT, timeout=120
    )
    (response,) = map(json.loads, ended.stdout.splitlines())
    assert (response["id"], response["output"]) == (7, 4.0)
