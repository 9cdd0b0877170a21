"""Code acts on its arguments: not on callers' frames, on reference counts, or on a class that was swapped."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "funcgrad"
OUTSIDE = re.compile(
    r"\b(?:_getframe|getrefcount|f_locals|f_globals|f_code|f_back|co_name|co_filename)\b|\.__class__ = "
)
# Files that read frames, or a function's own code, only for text: source lines, tracebacks, breakpoints, and printed
# Python.
FOR_PEOPLE = {
    "_core/definition.py",
    "_core/graph/ir.py",
    "_core/graph/line.py",
    "_core/trace/backward.py",
    "_core/tracebacks.py",
    "_core/words.py",
    "_report/python/definitions.py",
    "_report/python/texts.py",
    "_transforms/compiled/log.py",
    "_transforms/effects.py",
}
# The number of lines in each other file. Decision 0015 says why they are there and what would replace them. The numbers
# may only fall, except where only a frame can show that a number would be wrong.
LEFT = {
    "numpy/_array/number.py": 1,
    "numpy/_base/caller.py": 11,
}


def lines_of(text: str) -> int:
    """The number of lines that look outside."""
    return sum(OUTSIDE.search(line) is not None for line in text.splitlines())


def test_behaviour_looks_at_nothing_outside() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): lines_of(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert {name: count for name, count in found.items() if count and name not in FOR_PEOPLE} == LEFT
    assert {name for name in FOR_PEOPLE if found[name]} == FOR_PEOPLE


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("frame = sys._getframe(1)", 1),
        ("trace.__class__ = checked(type(trace))", 1),
        ("if getrefcount(value) > 2:", 1),
        ('frame.f_globals.get("__name__")', 1),
        ("kind = x.__class__", 0),
        ("co_names = ()", 0),
    ],
)
def test_planted_lines_are_found(line: str, count: int) -> None:
    assert lines_of(line) == count
