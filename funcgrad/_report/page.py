"""Write a graph as a self-contained HTML page: data, places, drawing code and colours in one file."""

from __future__ import annotations

import functools
import json
import os
from html import escape
from pathlib import Path
from string import Template

from funcgrad._core.graph.ir import Graph
from funcgrad._report.draw import Drawing, as_data
from funcgrad._report.items import counted
from funcgrad._report.layout import has_columns

_FOLDER = Path(__file__).parent
# For notebooks: a height that fits on a screen with the cell.
_HEIGHT = 560


def show(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write the page."""
    Path(path).write_text(page(graph), encoding="utf-8")


def page(graph: Graph) -> str:
    """Return the text of the page."""
    drawing = Drawing(graph)
    # The text of a script must not contain its own end tag.
    data = json.dumps(as_data(drawing), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return _template().substitute(
        title=escape(graph.name),
        style=_text("page.css"),
        script=_text("place.js") + _text("page.js"),
        data=data,
        sums=f"{counted(drawing.root.count)} &middot; {shortened(graph.flops)}flop &middot; {shortened(graph.bytes)}B",
        backward='<span class="backward"><i></i>backward</span>' if has_columns(drawing.root) else "",
    )


def in_notebook(graph: Graph) -> str:
    """Return the page in a frame."""
    style = f"width:100%;height:{_HEIGHT}px;border:1px solid rgba(128,128,128,0.3);border-radius:8px"
    return f'<iframe srcdoc="{escape(page(graph))}" style="{style}" title="graph {escape(graph.name)}"></iframe>'


def shortened(number: float) -> str:
    """Return a number with three digits and a metric prefix: ``1.23 M``."""
    for letter in ("", "k", "M", "G", "T", "P"):
        if number < 999.5 or letter == "P":
            return f"{number:.3g} {letter}"
        number /= 1000
    raise AssertionError


@functools.cache
def _template() -> Template:
    return Template(_text("page.html"))


@functools.cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
