"""Random programs, tensor scripts and schedules of SGD with fixed seeds; ``make fuzz`` runs fresh ones.

Why not by hypothesis is told in `tests/laws/fuzz/generate.py`.
"""

from __future__ import annotations

import pytest

from tests.laws.fuzz.faults import programs_until
from tests.laws.fuzz.runner import run_scripts, run_seeds

pytestmark = pytest.mark.long

CHUNK = 50


@pytest.mark.parametrize("first", range(0, 500, CHUNK))
def test_programs(first: int) -> None:
    _, found, _ = run_seeds(first, 1, CHUNK, 1e9)
    assert not found, "\n\n".join(f.text for f in found)


@pytest.mark.parametrize(("kind", "count"), [("tensors", 200), ("schedules", 200), ("writes", 80)])
def test_scripts(kind: str, count: int) -> None:
    if kind == "tensors":
        pytest.importorskip("torch")
    _, found = run_scripts(kind, range(count))
    assert not found, "\n\n".join(f.text for f in found)


@pytest.mark.parametrize(
    ("name", "first", "limit"),
    [
        ("Tensor.view copies", 0, 400),
        ("momentum buffer is the gradient", 0, 30),
        ("transposed arrays are copies", 0, 60),
    ],
)
def test_a_planted_fault_is_noticed(name: str, first: int, limit: int) -> None:
    if "Tensor" in name:
        pytest.importorskip("torch")
    assert programs_until(name, first, limit) is not None
