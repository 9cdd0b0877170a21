"""pyhpc-benchmarks: which contenders are timed, and what the report says of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import pyhpc
from benchmarks._timing import Suite


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
