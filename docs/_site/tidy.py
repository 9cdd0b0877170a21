"""Small repairs of pages between reading and writing."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_COLON = "\N{RATIO}"
_MODULE = re.compile(r"(?<=>)funcgrad(?:\.\w+)+(?=<)")


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


def with_breaks(html: str) -> str:
    """Return the sidebar's HTML, where the names of modules may break after their dots, and not within a word."""
    return _MODULE.sub(lambda found: found[0].replace(".", ".<wbr>"), html)


def break_names(app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document) -> None:
    """Have the theme's function for the sidebar give names that break after their dots."""
    del app, page, template, document
    make = context.get("generate_toctree_html")
    if make is None:
        return

    def made(kind: str, *args: Any, **kwargs: Any) -> Any:
        found = make(kind, *args, **kwargs)
        return with_breaks(str(found)) if kind == "sidebar" else found

    context["generate_toctree_html"] = made


def setup(app: Sphinx) -> dict[str, Any]:
    """Have each page repaired once it is read, and docstrings before and after napoleon."""
    app.connect("autodoc-process-docstring", with_colons, priority=400)
    app.connect("autodoc-process-docstring", colons_back, priority=600)
    app.connect("doctree-read", tidy_examples)
    # The theme adds its function at the priority 500.
    app.connect("html-page-context", break_names, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
