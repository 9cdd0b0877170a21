"""Parameters have types that tell what a function takes: few are annotated as ``Any``.

``Array``, ``Value``, ``PyTree`` and the other names of `funcgrad._types` say it where no class of Python's does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import funcgrad

PACKAGE = Path(funcgrad.__file__).parent
# The largest share of parameters that may be ``Any``, in percent. Lower a number when it is more than reached.
ALLOWED = {
    "interop": 25,
    "sharding.py": 40,
    "torch": 20,
    "tree": 22,
}
OTHERS = 17
ALL = 10
# The same for results, in the whole package. Most of what is left are methods of tensors and results of several kinds.
RESULTS = 23


def parameters(source: str) -> Iterator[str]:
    """Yield the annotation of each parameter of a module's functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            for x in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if x is not None and x.annotation is not None:
                    yield ast.unparse(x.annotation)


def share(found: list[str]) -> float:
    return 100 * found.count("Any") / max(1, len(found))


@cache
def found_in(path: Path) -> list[str]:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [x for file in files for x in parameters(file.read_text(encoding="utf-8"))]


ROOMS = [p for p in sorted(PACKAGE.iterdir()) if p.suffix == ".py" or (p / "__init__.py").exists()]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_few_parameters_of_a_room_are_any(room: Path) -> None:
    assert share(found_in(room)) <= ALLOWED.get(room.name, OTHERS)


def test_few_parameters_are_any() -> None:
    assert share([x for room in ROOMS for x in found_in(room)]) <= ALL


def test_parameters_are_counted() -> None:
    found = list(parameters("def f(self, x: Any, /, y: int, *rest: Any, z: list[Any] = (), **more: Any): ..."))
    assert found == ["Any", "int", "list[Any]", "Any", "Any"]
    assert share(found) == 60


def results(source: str) -> Iterator[str]:
    """Yield the annotation of each result of a module's functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield ast.unparse(node.returns)


def test_no_more_results_are_any() -> None:
    found = [x for path in sorted(PACKAGE.rglob("*.py")) for x in results(path.read_text(encoding="utf-8"))]
    assert share(found) <= RESULTS


def test_annotations_are_counted() -> None:
    source = "def f(x: Any, *, y: int) -> Any: ...\ndef g() -> Array: ...\n"
    assert list(parameters(source)) == ["Any", "int"]
    assert list(results(source)) == ["Any", "Array"]
