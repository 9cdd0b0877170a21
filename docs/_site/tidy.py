"""Small repairs of pages between reading and writing."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_COLON = "\N{RATIO}"


def tidy_examples(app: Sphinx, document: nodes.document) -> None:
    """A block that doctest runs ends with an empty line, which nobody needs to see, and is Python without saying so."""
    del app
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith(">>>") and len(block) == 1:
            block["language"] = "pycon"
            block[0] = nodes.Text(text.rstrip())
            block.rawsource = text.rstrip()


def with_colons(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """The text before a colon in ``Returns`` is not a type, so the colon is hidden from napoleon."""
    del app, what, name, thing, options
    inside = False
    for number, line in enumerate(lines):
        if line.strip():
            inside = line == "Returns:" or (inside and line.startswith(" "))
        if inside and line != "Returns:":
            lines[number] = line.replace(": ", f"{_COLON} ")


def colons_back(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """The colons, once napoleon has been there."""
    del app, what, name, thing, options
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Have each page repaired once it is read, and docstrings before and after napoleon."""
    app.connect("autodoc-process-docstring", with_colons, priority=400)
    app.connect("autodoc-process-docstring", colons_back, priority=600)
    app.connect("doctree-read", tidy_examples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
