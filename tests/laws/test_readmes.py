"""Intricate rooms have a README that names files that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "funcgrad"
ROOMS = [
    *("_core", "_core/trace", "_core/graph", "_ops", "_ops/rolling", "_engines/source", "_engines/source/kernels"),
    *("_engines/xla", "_transforms", "_report", "numpy", "scipy", "sparse", "autograd", "nn", "optim", "interop", "io"),
    *("torch", "jax"),
]
NAMED = re.compile(r"`([\w/]+\.(?:py|md))`|`(tests/[\w/]*)`")


def missing(text: str, folder: Path) -> list[str]:
    """The files and folders that a README names and that are neither in its folder nor in the repository."""
    names = [file or tests for file, tests in NAMED.findall(text)]
    found = [*folder.rglob("*.py")]
    return [
        name
        for name in names
        if not (folder / name).exists() and not (ROOT / name).exists() and not any(p.name == name for p in found)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_readme_says_where_to_begin(room: str) -> None:
    text = (PACKAGE / room / "README.md").read_text()
    assert "Begin with" in text
    assert re.search(r"`tests/", text)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("README.md")), ids=lambda path: path.parent.name)
def test_a_readme_names_files_that_are_there(path: Path) -> None:
    assert missing(path.read_text(), path.parent) == []


def test_a_file_that_is_gone_is_noticed() -> None:
    text = "Begin with `bind.py`, then `bound.py`, then `graph/ir.py`. Tests: `tests/_core/`, `tests/_cores/`."
    assert missing(text, PACKAGE / "_core") == ["bound.py", "tests/_cores/"]


LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_the_projects_readme_links_to_files_that_are_there() -> None:
    links = [link for link in LINK.findall((ROOT / "README.md").read_text()) if not link.startswith("https:")]
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_packages_page_has_addresses_in_place_of_files() -> None:
    """A package index shows the README where there are no files beside it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    text = (ROOT / "README.md").read_text()
    for substitution in settings["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    links = LINK.findall(text)
    assert [link for link in links if not link.startswith("https://")] == []
    assert "https://funcgrad.github.io/funcgrad/start/from_numpy.html" in links
    assert "https://raw.githubusercontent.com/funcgrad/funcgrad/main/docs/_static/graph.png" in links
    assert "https://github.com/funcgrad/funcgrad/blob/main/CHANGELOG.md" in links
