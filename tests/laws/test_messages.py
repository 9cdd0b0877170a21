"""The text of our errors: what was asked and where, what arrived against what was needed, what to do instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "funcgrad"
# NumPy's text for the same mistake, word for word: code that catches NumPy's error works here too.
NUMPYS_WORDS = ("Cannot cast array data", "'start' arg requires", "cannot select an axis", "operands could not be")
ROOMS = ("_transforms", "_ops", "numpy", "scipy", "interop")


def text(node: ast.expr) -> str:
    """A string literal, with ``?`` in place of what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text(part) if isinstance(part, ast.Constant) else "?" for part in node.values)
    return "?"


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Each literal message that is raised, of more than a few words: NumPy's and PyTorch's own are short."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            found = text(node.exc.args[0])
            if len(found.split()) > 12 and not found.startswith(NUMPYS_WORDS):
                yield node.lineno, found


def faults(message: str) -> list[str]:
    asked, _, rest = message.partition(". ") if ". " in message else message.partition("; ")
    found = []
    if not rest:
        found.append("one sentence alone: what arrived, what is needed, what to do?")
    if message[-1] not in ".?":
        found.append("ends without a full stop")
    if asked != asked.strip() or "  " in message:
        found.append("stray blanks")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_messages_say_what_to_do(room: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {fault}: {message}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, message in messages(path.read_text())
        for fault in faults(message)
    ]
    assert not found, "\n".join(found)


def test_the_law_bites() -> None:
    planted = (
        'def f():\n    raise TypeError("f: the thing that was asked of it is not what it was meant to be at all")\n'
    )
    assert [fault for _, message in messages(planted) for fault in faults(message)] == [
        "one sentence alone: what arrived, what is needed, what to do?",
        "ends without a full stop",
    ]
