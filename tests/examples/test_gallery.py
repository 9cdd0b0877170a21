"""The gallery: its programs are pages. One runs whole here, four as notebooks, and all by `make gallery`."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from examples import make_notebooks, run_gallery

ROOT = Path(__file__).parents[2]
SCRIPTS = {script.stem: script for script in run_gallery.scripts()}
NOTEBOOKS = make_notebooks.notebooks()


@pytest.mark.parametrize("name", SCRIPTS)
def test_is_a_page(name: str) -> None:
    """Each page has a title, text between code, a picture, and a checked answer."""
    text = SCRIPTS[name].read_text()
    module = ast.parse(text)
    title, line, empty, *paragraph = (ast.get_docstring(module) or "").splitlines()
    assert title
    assert line == "=" * len(title)
    assert not empty
    assert any(each.startswith("What one learns: ") for each in paragraph)
    assert text.count("\n# %%\n# ") >= 2
    # The page shows the figure of a block below it and closes the figure.
    before, _, last = text.rpartition("\n# %%\n")
    assert "plt." not in before.replace("matplotlib.pyplot as plt", "")
    assert last.endswith("plt.show()\n")
    assert "assert" in text


@pytest.mark.long
def test_runs(tmp_path: Path) -> None:
    (picture,) = run_gallery.run_here(SCRIPTS["hamiltonian_monte_carlo"], tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_made_from_its_program(path: Path) -> None:
    assert path.read_text() == NOTEBOOKS[path]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120)
    client.create_kernel_manager().transport = "ipc"
    client.execute()
    kinds = [output.output_type for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "stream" in kinds
    assert "display_data" in kinds
