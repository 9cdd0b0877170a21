"""The page on porting from autograd: its program on either side, and its lines."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "start" / "from_autograd.md"


def printed(side: str) -> str:
    """Return the output of the program before (``-``) or after (``+``) the diff."""
    found = re.search(r"```diff\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    lines = [line[1:] for line in found[1].splitlines() if line[:1] in (" ", side)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec("\n".join(lines), {"__name__": "program"})
    return out.getvalue()


def test_the_program_prints_the_same_on_either_side() -> None:
    pytest.importorskip("autograd")
    after = printed("+")
    assert len(after) > 40
    assert after == printed("-")


def test_the_lines_of_the_page_are_so() -> None:
    results = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert results.attempted >= 6
    assert results.failed == 0
