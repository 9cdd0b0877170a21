"""``docs/coverage.md`` says what the code does, of every public function of the installed NumPy."""

from __future__ import annotations

import pytest

import funcgrad as fg
from funcgrad._core.bind import Tracer
from tests.laws._coverage import MODULES, PAGE, Row, functions, row_of

REMEDY = "run python -m tests.laws._coverage and look at what changed"


def rows_of_page() -> dict[str, str]:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: line for line in rows}


@pytest.mark.parametrize("module", MODULES)
def test_the_page_is_of_this_code(module: str) -> None:
    page = rows_of_page()
    for name, function in functions(module):
        row = row_of(module, name, function)
        assert page.get(f"{module}.{name}") == str(row), REMEDY


def test_the_page_notices_what_is_not_there() -> None:
    """A rule that would lose a derivative, and one that is not there, each give another row."""

    def without(x: object) -> object:
        return fg.stop_gradient(x)

    def refused(x: object) -> object:
        if isinstance(x, Tracer):
            raise NotImplementedError("no rule. Write another")
        return x

    assert row_of("numpy", "sin", without).derivative == "constant"
    assert row_of("numpy", "sin", refused) == Row("`numpy.sin`", "refused", note="NotImplementedError")
