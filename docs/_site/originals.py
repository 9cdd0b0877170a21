"""Arguments and results of a mirrored function, in the words of the library that it mirrors.

The texts are read from the installed library when the site is built, and none of them is kept here.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

_MOST = 240  # characters of a description: whole sentences, as many as fit
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ARGUMENT = re.compile(r"^(\*{0,2}\w[\w, *]*?)\s*(?::\s*(.*))?$")

# NumPy's names for the operands of a ufunc. Ours may have other names at the same places.
_OF_UFUNCS = {"x", "x1", "x2"}


def sections(path: str, value: Any) -> list[str]:
    """Return lines of reStructuredText: the arguments that ours takes too, those that it lacks, and the result.

    Args:
        path: the name in the other library, ``"numpy.tanh"``.
        value: our function. What its own docstring says is left out here.
    """
    own = inspect.getdoc(value) or ""
    theirs = _found(path)
    said = parts(inspect.getdoc(theirs) or "")
    lines: list[str] = []
    if said.get("Parameters") and "Args:" not in own:
        lines += _arguments(said["Parameters"], value, is_ufunc=isinstance(theirs, np.ufunc))
    if said.get("Returns") and "Returns:" not in own:
        result = " ".join(_described(text) for _, _, text in said["Returns"][:1])
        # The formula that their text introduces is left out; reStructuredText would read the next line as code.
        result = re.sub(r":+$", ".", result.rstrip())
        lines += [f"*Returns*: {result}", ""] if result else []
    if said.get("Raises") and "Raises:" not in own:
        lines += ["*Raises*: " + "; ".join(f"``{name}``" for name, _, _ in said["Raises"]) + ".", ""]
    return [f"In the words of ``{path}``:", "", *lines] if lines else []


def parts(doc: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the sections of a docstring in NumPy's or Google's form: (name, type, description) for each entry."""
    headings = list(_HEADING.finditer(doc))
    ends = [*(each.start() for each in headings), len(doc)][1:]
    found = {each[1]: _entries(doc[each.end() : end]) for each, end in zip(headings, ends, strict=True)}
    for title, known in (("Args", "Parameters"), ("Arguments", "Parameters"), ("Returns", "Returns")):
        block = re.search(rf"^{title}:\n((?:[ \t]+.*\n?|\n)+)", doc, re.MULTILINE)
        if block and known not in found:
            found[known] = _google(inspect.cleandoc("\n" + block[1]))
    return found


def _entries(text: str) -> list[tuple[str, str, str]]:
    """Return the entries of a section in NumPy's form: a line that begins at the margin opens one."""
    found: list[tuple[str, str, str]] = []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        head, _, body = block.partition("\n")
        match = _ARGUMENT.match(head.strip())
        if match:
            found.append((match[1], match[2] or "", inspect.cleandoc("\n" + body)))
    return found


def _google(text: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for block in re.split(r"\n(?=\S)", text):
        match = re.match(r"(\*{0,2}\w+(?:, *\*{0,2}\w+)*)\s*(?:\(([^)]*)\))?:\s*(.*)", block, re.DOTALL)
        found.append((match[1], match[2] or "", match[3]) if match else ("", "", block))
    return found


def _arguments(entries: list[tuple[str, str, str]], value: Callable[..., Any], *, is_ufunc: bool) -> list[str]:
    """Return a list of the arguments that ours takes, and a line with those that it lacks."""
    try:
        taken = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    takes_all = any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in taken.values())
    lines: list[str] = []
    lacked: list[str] = []
    for head, kind, text in entries:
        names = [each for name in head.split(",") if (each := name.strip(" *"))]
        if not names:
            continue
        if takes_all or _OF_UFUNCS.issuperset(names) or any(name in taken for name in names):
            about = f" ({rest})" if (rest := _plain(kind)) else ""
            lines.append(f"- ``{', '.join(names)}``{about}: {_described(text)}".rstrip(": "))
        elif not is_ufunc and not head.startswith("*"):
            # The arguments that all ufuncs share (out, where, dtype) are taken by the ufunc protocol.
            lacked += names
    lines += [""] if lines else []
    if lacked:
        lines += [f"*Not taken for traced values*: {', '.join(f'``{name}``' for name in lacked)}.", ""]
    return lines


def _described(text: str) -> str:
    """Return the first paragraph, cut after the last whole sentence that fits."""
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    while len(first) > _MOST and ". " in first[:-1]:
        first = first[: first[:-1].rindex(". ") + 1]
    return _plain(first)


def _plain(text: str) -> str:
    """Return a text without roles, footnotes and links, with everything else that has a meaning in markup escaped."""
    text = re.sub(r"\s*\[\w+\]_", "", text)
    text = re.sub(r":[\w:]+:`~?([^`<]*?)\s*(?:<[^`]*>)?`", r"``\1``", text)
    pieces = re.split(r"(``[^`]+``|`[^`]+`_*)", " ".join(text.split()))
    return "".join(
        f"``{piece.strip('`_')}``" if piece.startswith("`") else re.sub(r"([*_|\\`])", r"\\\1", piece)
        for piece in pieces
    )


def _found(path: str) -> Any:
    """Return what a path names; ``None`` where the library is not installed or has no such name."""
    module, _, name = path.rpartition(".")
    while module:
        try:
            found = importlib.import_module(module)
        except ImportError:
            module, _, above = module.rpartition(".")
            name = f"{above}.{name}"
            continue
        for each in name.split("."):
            found = getattr(found, each, None)
        return found
    return None
