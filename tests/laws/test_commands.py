"""The commands on pages run in a checkout, on a machine that has only Python, make and a package index."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# There is no release: an index has no package of this name.
FROM_AN_INDEX = re.compile(r"pip install\s[^\n`]*(?<![\w./-])funcgrad\b")
FOLDERS = ("docs", "funcgrad", "examples", "benchmarks")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")),
]


def asked(text: str) -> Iterator[str]:
    """Yield the targets of the calls of make in a page."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    for call in [*lines, *QUOTED.findall(text)]:
        first, *words = call.split() or [""]
        if first == "make":
            yield from itertools.takewhile(lambda word: re.fullmatch("[a-z][a-z-]*", word), words)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_readme_begins_with_two_commands() -> None:
    """They are the blocks that ``.ci/run`` reads, by the same fences."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks[:2] == ["make train\n", "make test\n"]


@pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="the archive does not have .ci")
def test_the_check_of_a_commit_takes_these_blocks_from_the_readme() -> None:
    (program,) = re.findall(r"awk '([^']+)' README\.md", (ROOT / ".ci" / "run").read_text())
    read = subprocess.run(["awk", program, "README.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert read.stdout == "make train\nmake test\n"


def test_make_has_the_targets_that_pages_ask_for() -> None:
    wanted = {target for page in PAGES for target in asked(page.read_text())}
    assert {"train", "test", "test-all", "lint", "types", "docs", "bench"} <= wanted
    assert wanted - targets() == set()


def test_help_has_one_line_for_each_target() -> None:
    # A make that itself was started by make says which folder it enters.
    command = ["make", "--no-print-directory", "help"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[1] for line in said.splitlines()) == sorted(targets() - {"help"})


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    files = [
        *PAGES,
        *(path for folder in FOLDERS for end in ("py", "ipynb") for path in (ROOT / folder).rglob(f"*.{end}")),
    ]
    assert [str(path) for path in files if FROM_AN_INDEX.search(path.read_text())] == []


def test_such_commands_are_noticed() -> None:
    assert all(
        FROM_AN_INDEX.search(f"pip install {what}")
        for what in ("funcgrad", "'funcgrad[io]'", "jax 'funcgrad'", "-U funcgrad")
    )
    assert not any(
        FROM_AN_INDEX.search(f"pip install {what}") for what in (".", "'.[io]'", "./funcgrad", "jax` for funcgrad")
    )
    assert list(asked("Run `make lint\ntypes`.\n\n```sh\nmake test ARGS=x\n```\nmake no thing\n")) == [
        "test",
        "lint",
        "types",
    ]


def test_a_sample_has_tests_of_each_file(pytestconfig: pytest.Config) -> None:
    names = ["a.py::alone", *(f"a.py::table[{i}]" for i in range(40)), "b.py::C::small[x]", "b.py::small[y]"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    left: list[SimpleNamespace] = []
    config = SimpleNamespace(
        getoption={"one_in": 20}.get, hook=SimpleNamespace(pytest_deselected=lambda items: left.extend(items))
    )
    plugin: Any = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    plugin.pytest_collection_modifyitems(config, items)
    assert [item.nodeid[:4] for item in items] == ["a.py"] * 3 + ["b.py"]
    assert sorted(item.nodeid for item in [*items, *left]) == sorted(names)
