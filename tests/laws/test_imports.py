"""Tests run where only the package and its extra ``test`` are installed: no test module needs more to be imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Names of distributions that differ from the names of their modules.
MODULES = {"pillow": "PIL", "scikit_learn": "sklearn", "pytest_xdist": "xdist", "orbax_checkpoint": "orbax"}
# nbclient depends on nbformat.
KNOWN = {"benchmarks", "examples", "funcgrad", "nbformat", "tests"}
# Run by commands of their own, in environments of their own: make array-api, make clients, make package.
ELSEWHERE = ("tests/array_api/", "tests/clients/", "tests/installed.py")


def installed() -> set[str]:
    """Return the modules that ``pip install '.[test]'`` installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked, found = [*project["dependencies"], *extras["test"]], set()
    while asked:
        requirement = asked.pop()
        name = re.split(r"[\[><=]", requirement)[0].replace("-", "_")
        if name == "funcgrad":
            asked += [x for extra in requirement[9:-1].split(",") for x in extras[extra]]
        found.add(MODULES.get(name, name))
    return found


def imported_at_once(text: str) -> set[str]:
    """Return the packages that a module imports when it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_tests_import_what_is_installed() -> None:
    allowed = (
        installed() | KNOWN | set(sys.stdlib_module_names) | {path.stem for path in (ROOT / "docs/_site").iterdir()}
    )
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")]
    paths = [path for path in paths if not path.startswith(ELSEWHERE)]
    found = {path: extra for path in paths if (extra := imported_at_once((ROOT / path).read_text()) - allowed)}
    assert found == {}


@pytest.mark.parametrize("planted", ["import torch", "from torch import nn", "import sympy.core"])
def test_a_planted_import_is_seen(planted: str) -> None:
    assert imported_at_once(planted) - installed()


def test_files_of_arrays_are_closed() -> None:
    """An open file warns when it is collected, and the warning fails an unrelated test."""
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    opened = [
        f"{path.name}: {line.strip()}" for path in paths for line in path.read_text().split("\n") if "np.load(" in line
    ]
    assert [line for line in opened if "with np.load(" not in line] == []
