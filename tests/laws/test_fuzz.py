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


COUNTS = {
    "schedules": 200,
    "writes": 80,
    "branches": 200,
    "loops": 400,
    "windows": 80,
    "slices": 60,
    "states": 60,
    "mixtures": 200,
}


@pytest.mark.parametrize(("kind", "count"), [*COUNTS.items(), ("specials", 200)])
def test_scripts(kind: str, count: int) -> None:
    _, found = run_scripts(kind, range(count))
    assert not found, "\n\n".join(f.text for f in found)


@pytest.mark.usefixtures("torch")
def test_scripts_of_tensors() -> None:
    test_scripts("tensors", 200)


@pytest.mark.parametrize(
    ("name", "first", "limit"),
    [
        ("momentum buffer is the gradient", 0, 30),
        ("transposed arrays are copies", 0, 60),
    ],
)
def test_a_planted_fault_is_noticed(name: str, first: int, limit: int) -> None:
    assert programs_until(name, first, limit) is not None


@pytest.mark.usefixtures("torch")
def test_a_planted_fault_of_tensors_is_noticed() -> None:
    assert programs_until("Tensor.view copies", 0, 400) is not None
