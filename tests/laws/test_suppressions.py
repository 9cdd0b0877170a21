"""Suppressions of checkers: each names its code and its reason. The checkers report those that are not needed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("funcgrad", "tests", "examples", "benchmarks")
SUPPRESSION = re.compile(r"#\s*(?:noqa|ruff:|pyright:|type:\s*ignore)")
WITH_CODE_AND_REASON = re.compile(
    r"# (?:noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*|pyright: ignore\[\w+(?:, \w+)*\])  \((?!\)).+\)$"
)


def unexplained(text: str) -> list[int]:
    """The numbers of lines whose suppression lacks a code or a reason, which follows in parentheses."""
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if SUPPRESSION.search(line) and not WITH_CODE_AND_REASON.search(line)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_suppression_says_why(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    found = {str(path.relative_to(ROOT)): lines for path in paths if (lines := unexplained(path.read_text()))}
    assert found == {}


@pytest.mark.parametrize(
    ("line", "objected"),
    [
        ("x = 1  # noqa: N803  (NumPy's name)", False),
        ("x = 1  # pyright: ignore[reportCallIssue, reportArgumentType]  (what is refused)", False),
        ("x = 1  # noqa", True),
        ("x = 1  # noqa: N803", True),
        ("x = 1  # noqa: N803 - NumPy's name", True),
        ("x = 1  # noqa: N803  ()", True),
        ("x = 1  # pyright: ignore  (anything)", True),
        ("x = 1  # type: ignore[attr-defined]  (anything)", True),
        ("# pyright: basic", True),
    ],
)
def test_a_planted_suppression_is_seen(line: str, objected: bool) -> None:
    assert bool(unexplained(line)) is objected
