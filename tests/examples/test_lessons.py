"""The lessons: every cell runs, solutions included, and each lesson has exercises with folded solutions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

LESSONS = Path(__file__).parents[2] / "docs" / "learn"
PAGES = sorted(path for path in LESSONS.glob("*.md") if path.name != "index.md")
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::\w+:.*\n)+\n)", re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_lesson_runs(page: Path) -> None:
    mpl.use("agg")
    names: dict[str, Any] = {"__name__": page.stem}
    for cell in CELL.findall(page.read_text()):
        exec(compile(OPTIONS.sub("", cell), page.name, "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_lesson_has_exercises_with_folded_solutions(page: Path) -> None:
    text = page.read_text()
    exercises = text.partition("\n## Exercises\n")[2]
    count = len(re.findall(r"^\*\*\d\.\*\* ", exercises, re.MULTILINE))
    solutions = [cell for cell in CELL.findall(exercises) if "hide-cell" in cell and "Show the solution" in cell]
    assert count >= 2
    assert len(solutions) == count
    assert all("assert " in cell for cell in solutions)


def test_the_index_lists_the_lessons() -> None:
    index = (LESSONS / "index.md").read_text()
    assert sorted(re.findall(r"\((\w+)\.md\)", index)) == [page.stem for page in PAGES]
