"""The text below a function with a name of NumPy's or SciPy's: its row in the tables of coverage, and a call made here.

A function with a name of JAX's or PyTorch's gets a link to the original.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from densities import about
from originals import sections
from public_names import mirrored

import funcgrad as fg
from funcgrad.extend import aval_of
from tests.laws import _coverage_rows as numpys
from tests.laws import _coverage_scipy as scipys

COVERAGE = Path(__file__).parents[1] / "coverage.md"
_NAMES = ("x", "y", "z", "a", "b", "c")
_LINE, _LINES = 110, 60


class Said(NamedTuple):
    """A call, as text: what it is given, what it returns, the types, and its gradient where it has one."""

    lines: list[str]
    types: str


@functools.cache
def rows() -> dict[str, list[str]]:
    """The tables of coverage: for a function what its row says."""
    found = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", COVERAGE.read_text(), re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split(" | ")] for name, rest in found}


def told(module: str, name: str, value: Any) -> list[str]:
    """The lines below the own documentation of a function or distribution, as reStructuredText."""
    if isinstance(value, type) or inspect.isfunction(value):
        return _told(mirrored(value, module) or torchs(module, name), module, name, value)
    path = f"{module.removeprefix('funcgrad.')}.{name}"
    methods = [each for each in dir(value) if not each.startswith("_") and callable(getattr(value, each))]
    shapes = getattr(value, "shapes", ())
    lines = [f"*Shape parameters*: {', '.join(f'``{each}``' for each in shapes)}.", ""] if shapes else []
    lines += [f"*Methods*: {', '.join(f'``{each}``' for each in methods)}.", ""]
    density = "logpdf" if hasattr(value, "logpdf") else "logpmf"
    told_of_density = _told(f"{path}.{density}", module, f"{name}.{density}", getattr(value, density))
    lines = [*about(path, discrete=density == "logpmf"), *lines]
    return [*lines, *told_of_density[:-2], f"*In the original*: {link_of(path)}", ""]


def torchs(module: str, name: str) -> str:
    """PyTorch's name of what `funcgrad.nn` and its modules have under the same name."""
    elsewhere = {"functional_call": "torch.func.functional_call", "manual_seed": "torch.manual_seed"}
    path = f"torch.{module.removeprefix('funcgrad.')}"
    is_function = path == "torch.nn" and name[0].islower()
    return elsewhere.get(name, f"{path}.functional.{name}" if is_function else f"{path}.{name}")


def _told(path: str, module: str, name: str, value: Any) -> list[str]:
    if path.startswith(("jax.", "torch.")):
        return [*sections(path, value), f"*In the original*: {link_of(path)}", ""]
    row = rows().get(path, rows().get(f"{module.removeprefix('funcgrad.')}.{name}", []))
    lines = []
    if row:
        lines.append(f"*Derivative*: {row[0] or '-'}. *Graphs*: {row[1] or '-'}. *vmap*: {row[2] or '-'}.")
        lines += [f"*Note*: {row[-1]}" if row[-1] and len(row) > 3 else "", ""]
    lines += sections(path, value)
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        np.printoptions(precision=4, suppress=True, linewidth=88),
    ):
        warnings.simplefilter("ignore")
        said = next((text for each in calls(path, value) if (text := _said(module, name, *each, value))), None)
    if said and ">>>" not in (inspect.getdoc(value) or ""):
        lines += [f"*Types here*: ``{said.types}``", "", "::", "", *[f"    {line}" for line in said.lines], ""]
    return [*lines, f"*In the original*: {link_of(path)}", ""]


# PyTorch's modules that have one page for all names. The names of other modules have a page each.
_PYTORCHS_PAGES = {
    "torch.distributions": "distributions",
    "torch.special": "special",
    "torch.utils.data": "data",
    "torch.utils.checkpoint": "checkpoint",
}


def link_of(path: str) -> str:
    """The name in the library that has it first, as a link to its page there."""
    if path.startswith("numpy."):
        return f"`{path} <https://numpy.org/doc/stable/reference/generated/{path}.html>`__"
    if path.startswith("torch."):
        pages = "https://docs.pytorch.org/docs/stable"
        page = next((page for module, page in _PYTORCHS_PAGES.items() if path.startswith(f"{module}.")), None)
        return f"`{path} <{pages}/{f'generated/{path}.html' if page is None else f'{page}.html#{path}'}>`__"
    if path.startswith("jax."):
        return f"`{path} <https://docs.jax.dev/en/latest/_autosummary/{path}.html>`__"
    return f"`{path} <https://docs.scipy.org/doc/scipy/reference/generated/{path}.html>`__"


def calls(path: str, value: Callable[..., Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """The arguments of calls that NumPy or SciPy answer."""
    seen: list[tuple[tuple, dict[str, Any]]] = []

    @functools.wraps(value, updated=())
    def noted(*args: Any, **named: Any) -> Any:
        seen.append((args, named))
        return value(*args, **named)

    module, _, name = path.rpartition(".")
    try:
        if module.startswith("numpy"):
            call, given = numpys.example(module, name, noted)
            seen.clear()
            call(*given)
            yield from seen[-1:]
        else:
            theirs = operator.attrgetter(path.removeprefix("scipy.").partition(".")[2])(_scipy(path))
            for template, given, _ in itertools.islice(scipys.answered(theirs), 3):
                seen.clear()
                template(noted, *given)
                yield from seen[-1:]
    except (LookupError, *numpys.REFUSALS):
        return


def _scipy(path: str) -> Any:
    """SciPy's module of a name: ``scipy.stats`` of ``scipy.stats.norm.logpdf``."""
    return importlib.import_module(".".join(path.split(".")[:2]))


def _said(module: str, name: str, args: tuple, named: dict[str, Any], value: Callable[..., Any]) -> Said | None:
    short = module.replace("funcgrad.numpy", "fnp").replace("funcgrad", "fg")
    names = {i: _NAMES[i] for i, x in enumerate(args[: len(_NAMES)]) if isinstance(x, np.ndarray) and x.ndim}
    texts = [names.get(i) or _text(x) for i, x in enumerate(args)]
    texts += [f"{key}={_text(x)}" for key, x in named.items()]
    inside = f"{short}.{name}({', '.join(texts)})"
    result = value(*args, **named)
    lines = [line for i, letter in names.items() for line in _shown(f"{letter} = {_text(args[i])}", None)]
    lines += [*_shown(inside, result), *_gradient(inside, names, value, args, named, result)]
    types = f"{', '.join(_type(x) for x in args)} -> {_type(result)}"
    fits = max(len(line) for line in lines if line.startswith(">>>")) <= _LINE and len(lines) < _LINES
    return Said(lines, types) if fits else None


def _gradient(
    inside: str, names: dict[int, str], value: Callable[..., Any], args: tuple, named: dict[str, Any], result: Any
) -> list[str]:
    """The derivative of the result's sum by the first array by which there is one."""
    if getattr(result, "dtype", np.dtype(object)).kind != "f":
        return []
    for number, letter in names.items():
        if args[number].dtype.kind == "f":

            def total(x: Any, number: int = number) -> Any:
                return np.sum(value(*args[:number], x, *args[number + 1 :], **named))

            with contextlib.suppress(*numpys.REFUSALS):
                total_of = f"np.sum({inside})" if np.ndim(result) else inside
                return _shown(f"fg.grad(lambda {letter}: {total_of})({letter})", fg.grad(total)(args[number]))
    return []


def _shown(code: str, result: Any) -> list[str]:
    first, *more = code.split("\n")
    lines = [f">>> {first}", *[f"... {line}" for line in more]]
    return lines if result is None else [*lines, *repr(result).split("\n")]


def _text(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return _text(x.item()) if x.ndim == 0 else f"np.array({_text(x.tolist())}{_dtype(x)})"
    if isinstance(x, list | tuple):
        inside = ", ".join(_text(each) for each in x)
        return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' * (len(x) == 1)})"
    if isinstance(x, type):
        return f"np.{x.__name__}"
    if isinstance(x, np.generic):
        return _text(x.item())
    return getattr(x, "__name__", None) or repr(x)


def _dtype(x: np.ndarray) -> str:
    """The argument that gives an array of Python's numbers its dtype, where they do not."""
    return "" if np.array(x.tolist()).dtype == x.dtype else f", {x.dtype}"


def _type(x: Any) -> str:
    if isinstance(x, list | tuple):
        return f"({', '.join(map(_type, x))})"
    if isinstance(x, np.ndarray | np.generic):
        return str(aval_of(x))
    return repr(x) if isinstance(x, str | int | float) else type(x).__name__
