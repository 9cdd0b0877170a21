"""Sphinx writes the reference from the package: a page for each module, an entry for each public name."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import densities
from mirrors import told
from public_names import CHAPTERS, Page, chapter, link, mirrors, modules, own, pages, slug
from sphinx.application import Sphinx

from funcgrad._public import origins

FOLDER = "api"


def write(app: Sphinx) -> None:
    """Write the pages; those that stay as they were keep their time, so that they are not read again."""
    folder = Path(app.srcdir) / FOLDER
    texts = chapter_texts()
    for module in modules():
        parts = pages(module)
        for page in parts:
            texts[page.path] = text_of(page, parts if page is parts[0] else [])
    folder.mkdir(exist_ok=True)
    for left in folder.glob("*.rst"):
        if left.stem not in texts:
            left.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def chapter_texts() -> dict[str, str]:
    """A page for each chapter, with its modules and what they are."""
    found = {}
    for title in CHAPTERS:
        lines = _heading(title, "=")
        paths: list[str] = []
        lines += [".. list-table::", "   :widths: 40 60", ""]
        for module in (module for module in modules() if chapter(module) == title):
            first, *others = pages(module)
            said = (importlib.import_module(module).__doc__ or "").strip().split("\n")[0]
            lines += [f"   * - :doc:`{first.path}`", f"     - {said}"]
            lines += [text for page in others for text in (f"   * - :doc:`{page.path}`", f"     - of ``{module}``")]
            paths += [page.path for page in (first, *others)]
        lines += ["", ".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *[f"   {path}" for path in paths], ""]
        found[slug(title)] = "\n".join(lines)
    return found


def text_of(page: Page, parts: list[Page]) -> str:
    """One page: what the module says of itself, a table of its names, then their entries."""
    module = importlib.import_module(page.module)
    lines = [*_heading(page.title, "="), f".. currentmodule:: {page.module}", ""]
    if page.title != page.module:
        lines += [f"Names of ``{page.module}``.", ""]
    if parts:
        lines += [f".. automodule:: {page.module}", "   :no-members:"]
        lines += ["   :no-index:" if _is_function_too(page.module) else "", ""]
    if parts[1:]:
        lines += [f"- :doc:`{other.path}`" for other in parts[1:]] + [""]
    mine = {
        heading: [n for n in names if own(getattr(module, n), page.module)] for heading, names in page.names.items()
    }
    for heading, names in sorted((item for item in mine.items() if item[1]), key=lambda item: _rank(item[0])):
        if heading:
            lines += _heading(heading, "-")
        lines += [".. list-table::", "   :widths: 25 75", ""]
        for name in names:
            lines += [f"   * - :py:obj:`{name} <{page.module}.{name}>`", f"     - {summary(getattr(module, name))}"]
        lines += [""]
        for name in names:
            lines += [*entry(page.module, name, getattr(module, name)), ""]
    others = [(name, value) for name, value in page.entries() if not own(value, page.module)]
    if others:
        lines += _heading("From elsewhere", "-")
        lines += ["Under these names too:", "", ".. list-table::", "   :widths: 40 60", ""]
        for name, value in others:
            lines += [f"   * - ``{name}``", f"     - {link(value, name, module)}"]
    return "\n".join(lines) + "\n"


def summary(value: Any) -> str:
    """Return the first sentence of a docstring; for a distribution, its name and its shape parameters."""
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    # The docstring of a function in C begins with the signature.
    begins = f"{getattr(value, '__name__', '')}("
    said = next((text for text in paragraphs if not text.startswith(begins)), "").replace("\n", " ")
    if hasattr(value, "shapes"):
        shapes = " and ".join(f"``{each}``" for each in value.shapes)
        whole = "" if hasattr(value, "logpdf") else ", of whole numbers"
        parameters = f", with {shapes}" if shapes else ""
        return f"The {densities.title(f'scipy.stats.{value.name}')} distribution{whole}{parameters}."
    return re.split(r"(?<=[.])\s+(?=[A-Z`])", said)[0].removesuffix("::")


def entry(module: str, name: str, value: Any) -> list[str]:
    """The directive that shows a name's documentation; below it what else is told of what NumPy or SciPy name."""
    if inspect.isclass(value):
        bases = value.__mro__[1:-1]
        private = bases and all(base.__module__.startswith("funcgrad.") and base not in origins for base in bases)
        lines = [
            f".. autoclass:: {module}.{name}",
            "   :members:",
            # Members that a class inherits from private bases count as its own.
            *(["   :inherited-members:"] if private else []),
            "   :show-inheritance:",
            "   :exclude-members: compiled_update",
        ]
        if module.startswith("funcgrad.nn"):
            lines += ["", *[f"   {line}" if line else "" for line in told(module, name, value)]]
        return lines
    if inspect.isfunction(value):
        lines = [f".. autofunction:: {module}.{name}"]
    else:
        lines = [f".. autodata:: {module}.{name}", "   :no-value:"]
    if (
        mirrors(value, module)
        or module.startswith("funcgrad.nn")
        or hasattr(value, "logpdf")
        or hasattr(value, "logpmf")
    ):
        lines += ["", *[f"   {line}" if line else "" for line in told(module, name, value)]]
    return lines


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _is_function_too(module: str) -> bool:
    """Whether a module has the name of one of its parent's functions: the index has one entry for a name."""
    parent, _, name = module.rpartition(".")
    return bool(parent) and callable(vars(importlib.import_module(parent)).get(name))


# The optimizers that most people use come first; the others follow by name.
_FIRST = ("SGD", "Adam", "AdamW", "RMSprop")


def _rank(heading: str) -> tuple[bool, int, str]:
    return heading == "For all rules", _FIRST.index(heading) if heading in _FIRST else len(_FIRST), heading


def setup(app: Sphinx) -> dict[str, Any]:
    """Have the pages written before Sphinx looks for files."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
