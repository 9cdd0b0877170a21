"""The table of symptoms in CONTRIBUTING.md names files and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"`((?:[\w.]+/)+[\w.]*|\w+\.py)`")
LINK = re.compile(r"\]\((docs/[^)#]+)")


def missing(text: str) -> list[str]:
    """The paths in code and links that are neither in the repository nor in the package, nor beside the path before."""
    gone, folder = [], ROOT
    for name in (*CODE.findall(text), *LINK.findall(text)):
        found = [base / name for base in (ROOT, ROOT / "funcgrad", folder) if (base / name).exists()]
        if found:
            folder = found[0] if found[0].is_dir() else found[0].parent
        else:
            gone.append(name)
    return gone


def test_the_table_of_symptoms_names_files_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text.partition("## From symptom to file")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    assert {row: missing(row) for row in rows if missing(row)} == {}
    assert all(row.count("|") == 5 and "`tests/" in row and LINK.search(row) for row in rows)


def test_a_file_that_is_gone_is_noticed() -> None:
    row = "| a | `_core/graph/key.py`, `same.py`, `other.py` | `tests/_core/graph/test_keys.py` | [x](docs/none.md) |"
    assert missing(row) == ["other.py", "tests/_core/graph/test_keys.py", "docs/none.md"]
