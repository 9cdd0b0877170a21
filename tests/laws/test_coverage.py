"""``docs/coverage.md`` says what the code does, of every public function of the installed NumPy and SciPy."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import funcgrad as fg
from funcgrad._core.bind import Tracer
from tests.laws import _coverage_scipy as scipys
from tests.laws import _coverage_torch as torchs
from tests.laws._coverage import MODULES, PAGE, section
from tests.laws._coverage_rows import Row, row_of

REMEDY = "run python -m tests.laws._coverage and look at what changed"


def sections_of_page() -> dict[str, list[str]]:
    """The lines of each module's section."""
    parts = PAGE.read_text().split("\n### `")[1:]
    return {part.partition("`")[0]: part.partition("\n## ")[0].splitlines()[1:] for part in parts}


@pytest.mark.long
@pytest.mark.parametrize("module", MODULES)
def test_the_page_is_of_this_code(module: str) -> None:
    """Every row; other releases of NumPy and SciPy may lack functions that have one."""
    page = sections_of_page()[module]
    rows = [line for line in section(module).splitlines()[1:] if line.startswith("| `")]
    assert rows
    assert [row for row in rows if row not in page] == [], REMEDY


def test_the_page_lists_what_pytorch_has_that_is_not_here() -> None:
    assert PAGE.read_text().endswith("\n" + torchs.section()), "run python -m tests.laws._coverage_torch"
    assert torchs.missing("torch", ["zeros", "jit"]) == {
        "programs are compiled by fg.jit, from functions of arrays": ["jit"]
    }


def test_the_page_notices_what_is_not_there() -> None:
    """A rule that would lose a derivative, and one that is not there, each give another row."""

    def without(x: object) -> object:
        return fg.stop_gradient(x)

    def refused(x: object) -> object:
        if isinstance(x, Tracer):
            raise NotImplementedError("no rule. Write another")
        return x

    assert row_of("numpy", "sin", without).derivative == "constant"
    assert row_of("numpy", "sin", refused) == Row("`numpy.sin`", "refused", note="raises NotImplementedError")


def test_the_page_notices_what_is_not_scipys() -> None:
    """Each function of ours in a module of SciPy's has a row, and another's numbers are an error."""
    special = importlib.import_module("scipy.special")
    ours = fg.scipy.special
    rows = {entry.name for entry in scipys.entries("scipy.special") if entry.ours}
    assert {name for name in ours.__all__ if callable(getattr(special, name, None))} <= rows

    def wrong(x: Any) -> Any:
        return ours.erf(x) * (1 + 1e-3)

    row: Any = scipys.row_of("scipy.special", scipys.Entry("erf", special.erf, ours.erf))
    assert (row.derivative, row.note) == ("differentiated", "")
    with pytest.raises(AssertionError):
        scipys.row_of("scipy.special", scipys.Entry("erf", special.erf, wrong))
