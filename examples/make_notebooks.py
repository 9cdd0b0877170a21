"""Make the notebooks in ``examples/notebooks`` from programs of the gallery: text cells from comments, code as it is.

python examples/make_notebooks.py
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent
NAMES = (
    "physics/lens_design",
    "statistics/hamiltonian_monte_carlo",
    "statistics/kalman_filter",
    "statistics/survival",
)
HEADINGS = {"=": "#", "-": "##"}


def markdown(text: str) -> str:
    """The few things of reStructuredText that the gallery's pages use, in Markdown."""
    text = re.sub(r"^(.+)\n(=|-)\2+\n", lambda found: f"{HEADINGS[found[2]]} {found[1]}\n\n", text, flags=re.MULTILINE)
    paragraphs = (paragraph.replace("\n", " ") for paragraph in re.split(r"\n{2,}", text))
    return re.sub(r":math:`([^`]+)`", r"$\1$", "\n\n".join(paragraphs)).replace("``", "`")


def blocks(script: str) -> Iterator[tuple[str, str]]:
    """The kind and the text of each cell: the module's docstring, then texts and code in turns."""
    head, *parts = re.split(r"^# %%\n", script, flags=re.MULTILINE)
    _, title, code = re.split(r'^r?"""$', head, maxsplit=2, flags=re.MULTILINE)
    yield "markdown", markdown(title.strip())
    yield "code", code.strip()
    for part in parts:
        comment = "".join(itertools.takewhile(lambda line: line.startswith("#"), part.splitlines(keepends=True)))
        yield "markdown", markdown(re.sub(r"^# ?", "", comment, flags=re.MULTILINE).strip())
        yield "code", part.removeprefix(comment).strip()


def notebook(script: str) -> dict[str, Any]:
    """A notebook (nbformat 4.5) without results."""
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(block for block in blocks(script) if block[1]):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def notebooks() -> dict[Path, str]:
    """The text of each notebook's file."""
    scripts = {name: (EXAMPLES / "gallery" / f"{name}.py").read_text() for name in NAMES}
    folder = EXAMPLES / "notebooks"
    return {
        folder / f"{Path(name).name}.ipynb": json.dumps(notebook(script), indent=1, ensure_ascii=False) + "\n"
        for name, script in scripts.items()
    }


def main() -> None:
    """Write them."""
    for path, text in notebooks().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path)


if __name__ == "__main__":
    main()
