"""The page of benchmarks: what it says of a stored run."""

from __future__ import annotations

import json
from pathlib import Path

import measured
import published
import pytest

ENVIRONMENT = {
    "date": "2026-01-02",
    "accelerator": "a GPU",
    "processor": "a processor",
    "cores": 4,
    "system": "Linux",
    "python": "3.12",
    "packages": {"numpy": "2.4"},
}


def _case(name: str, **seconds: float) -> dict[str, object]:
    contenders = {who: {"best": each, "ours_over_this": 1.0} for who, each in seconds.items()}
    return {"case": name, "ours": "funcgrad", "contenders": contenders}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    monkeypatch.setattr(published, "RESULTS", tmp_path)
    cases = [_case("one", funcgrad=2.0, funcgrad_numba=1.0, JAX=0.5), _case("two", funcgrad=1.0, JAX=3.0)]
    content = {"environment": ENVIRONMENT, "cases": cases, "checks": [], "notes": ["a remark"]}
    (tmp_path / "some.json").write_text(json.dumps(content))
    return tmp_path


def test_the_page_names_the_cases_that_others_win(results: Path) -> None:
    said = published.times("some", "make it")
    assert "In 1 of 2 cases others are faster than funcgrad's fastest engine." in said
    assert "- one (funcgrad_numba): JAX 0.50\n\n- a remark" in said
    assert "*2026-01-02, a GPU, a processor, 4 cores, Linux" in said


def test_the_page_names_the_command_of_a_run_that_is_not_there(results: Path) -> None:
    assert "`make it` makes one" in published.times("another", "make it")
    assert published.chart("another") is None
