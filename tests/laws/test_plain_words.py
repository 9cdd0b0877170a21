"""Comments and docstrings begin with their subject: no text opens with a word that announces one, such as "What".

This holds for the package, its tests, the benchmarks and the examples, and for each sentence of the pages. Titles of
the gallery's pages, and sentences of pages, may be questions.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("funcgrad", "tests", "benchmarks", "examples", "docs")
RIDDLE = re.compile(r"(What|Whatever|Of|Who|Whose|Where|By|So many|Beside|Such|Those|Nothing)\b")


# A file without a match has no such text and need not be parsed, which takes most of the time.
SUSPICIOUS = re.compile(rf'(#|"""|\'\'\')\s*{RIDDLE.pattern}')


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
    if not SUSPICIOUS.search(source):
        return []
    return [text for text in (*comments(source), *docstrings(source)) if RIDDLE.match(text)]


def is_title(path: Path, text: str) -> bool:
    """Return whether a text is the docstring of a page of the gallery, which begins with a title."""
    return "gallery" in path.parts and text.partition("\n")[2].startswith("===")


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_text_opens_with_such_a_word(folder: str) -> None:
    paths = [ROOT / "conftest.py", *sorted((ROOT / folder).rglob("*.py"))]
    found = {path: riddles(path.read_text(encoding="utf-8")) for path in paths if "_build" not in path.parts}
    texts = [f"{path}: {text[:80]}" for path, texts in found.items() for text in texts if not is_title(path, text)]
    assert not texts, "\n".join(["Name the subject first:", *texts])


# Pages that a program makes from the package are left out.
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in ("coverage.md", "jax_names.md")),
]
CODE = re.compile(r"```.*?^```|^(?:    |\|).*?$", re.DOTALL | re.MULTILINE)


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page, without code and tables."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )", CODE.sub("", page)):
        for sentence in re.split(r"(?<=[.!?]) (?=[A-Z`*\[])", " ".join(paragraph.split())):
            yield sentence.removeprefix("- ").removeprefix("* ")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_sentence_of_a_page_opens_with_such_a_word(path: Path) -> None:
    texts = [x for x in sentences(path.read_text(encoding="utf-8")) if RIDDLE.match(x) and not x.endswith("?")]
    assert not texts, "\n".join(["Name the subject first:", *texts])


def test_such_sentences_are_found() -> None:
    page = "# A title\n\nNames are usual. Where it\nis a view, it shares. What is it?\n\n* Of all, one.\n\n    Such\n"
    assert [x for x in sentences(page) if RIDDLE.match(x)] == [
        "Where it is a view, it shares.",
        "What is it?",
        "Of all, one.",
    ]


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
