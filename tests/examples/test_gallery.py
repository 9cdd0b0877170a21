"""The gallery: programs that sphinx-gallery reads; the fastest run whole here, all of them by `make gallery`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from examples import run_gallery

FASTEST = ["kalman_filter", "survival", "hamiltonian_monte_carlo"]


@pytest.mark.parametrize("script", run_gallery.scripts(), ids=lambda script: script.stem)
def test_is_a_page(script: Path) -> None:
    """A title of its own, underlined; text between code; a picture; and an answer that is checked."""
    text = script.read_text()
    module = ast.parse(text)
    title, line, empty, *paragraph = (ast.get_docstring(module) or "").splitlines()
    assert title
    assert line == "=" * len(title)
    assert not empty
    assert any(each.startswith("What one learns: ") for each in paragraph)
    assert text.count("\n# %%\n# ") >= 2
    assert text.endswith("plt.show()\n")
    assert "assert" in text


@pytest.mark.parametrize("name", FASTEST)
def test_runs(name: str, tmp_path: Path) -> None:
    (script,) = [script for script in run_gallery.scripts() if script.stem == name]
    pictures = run_gallery.run_here(script, tmp_path)
    assert pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
