"""Comments and docstrings begin with their subject: no text opens with a word that announces one, such as "What".

``ALLOWED`` has the number of such texts that each part of the package may have; all other parts may have none. Lower a
number when texts are rewritten.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import funcgrad

PACKAGE = Path(funcgrad.__file__).parent
RIDDLE = re.compile(r"(What|Whatever|Of|Who|Whose|Where|By|So many|Beside|Such|Those|Nothing)\b")
ALLOWED = {
    "optim": 13,
}


def comments(source: str) -> Iterator[str]:
    """Yield the comments of a module, the lines of one block together."""
    lines = source.splitlines()
    before, block = (0, 0), ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        text = token.string.removeprefix("#").strip()
        whole = not lines[row - 1][:column].strip()
        if whole and before == (row - 1, column):
            block = f"{block} {text}"
        else:
            yield block
            block = text
        before = (row, column) if whole else (0, 0)
    yield block


def docstrings(source: str) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def riddles(source: str) -> list[str]:
    """Return the comments and docstrings of a module that open with one of the words."""
    return [text for text in (*comments(source), *docstrings(source)) if RIDDLE.match(text)]


def part_of(path: Path) -> str:
    """Return the first folder or the file of the package that holds a path."""
    return path.relative_to(PACKAGE).parts[0]


FOUND = {path: riddles(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.mark.parametrize("part", sorted({part_of(path) for path in FOUND}))
def test_no_new_text_opens_with_such_a_word(part: str) -> None:
    texts = [f"{path}: {text[:80]}" for path, found in FOUND.items() if part_of(path) == part for text in found]
    assert len(texts) <= ALLOWED.get(part, 0), "\n".join(["Name the subject first:", *texts])


def test_such_texts_are_found() -> None:
    source = '''
# The number of rows.
# Of these, most are empty.
rows = 3  # Whose rows
# What follows
# is one comment.
def f(x):
    """Where x is."""
    # Somewhere
    return x  # not "What" at the start
'''
    assert riddles(source) == ["Whose rows", "What follows is one comment.", "Where x is."]
