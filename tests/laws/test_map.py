"""The map in docs/design.md says how large the parts of the package are, to within a sixth, and leaves none out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.laws.test_doors import BESIDE_THE_CORE, CORE, CORE_MODULES, core_lines, lines_without_examples
from tests.laws.test_layering import PACKAGE, package_sources, part_of

SOURCES = package_sources()
DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
MAP = DESIGN.read_text(encoding="utf-8").partition("## A map")[2].partition("\n## ")[0]
ROW = re.compile(r"^\| (.*?) \| ([\d,]+) \|", re.MULTILINE)
CONTRACTS, ENGINES = "`_ops`: its contracts", "`_engines`: its record"
# The modules that a row's title does not name.
OUTER = [module for module in SOURCES if part_of(module) not in CORE and module not in CORE_MODULES]
SPECIAL = {
    CONTRACTS: [module for module in CORE_MODULES if "._ops." in module],
    ENGINES: [module for module in CORE_MODULES if "._engines" in module],
    "beside the core": list(BESIDE_THE_CORE),
    "`_ops`: the primitives": [module for module in OUTER if part_of(module) == "_ops"],
    "`_engines/xla`, `_engines/source`": [module for module in OUTER if part_of(module) == "_engines"],
}


def modules_of(title: str) -> list[str]:
    """Return the modules that a row of the map is about."""
    if title in SPECIAL:
        return SPECIAL[title]
    parts = set(re.findall(r"`(\w+)`", title))
    return [module for module in SOURCES if part_of(module) in parts and module not in BESIDE_THE_CORE]


def lines_of(title: str) -> int:
    """Return the lines of a row: those of the core without the calls in examples."""
    modules = modules_of(title)
    core = title in {CONTRACTS, ENGINES} or all(part_of(module) in CORE for module in modules)
    return sum(lines_without_examples(SOURCES[x]) if core else len(SOURCES[x].splitlines()) for x in modules)


@pytest.mark.parametrize(("title", "written"), ROW.findall(MAP))
def test_the_map_says_how_large_a_part_is(title: str, written: str) -> None:
    number = int(written.replace(",", ""))
    assert 5 / 6 <= number / lines_of(title) <= 7 / 6, f"{title}: {lines_of(title):,} lines"


def test_the_map_says_how_large_the_core_is() -> None:
    (core, whole) = re.findall(r"These are ([\d,]+) of ([\d,]+) lines", MAP)[0]
    total = sum(len(text.splitlines()) for text in SOURCES.values())
    assert 5 / 6 <= int(core.replace(",", "")) / core_lines(SOURCES) <= 7 / 6
    assert 5 / 6 <= int(whole.replace(",", "")) / total <= 7 / 6, f"{total:,} lines"


def test_the_map_leaves_no_part_out() -> None:
    found = [module for title, _ in ROW.findall(MAP) for module in modules_of(title)]
    assert len(found) == len(set(found))
    left = {part_of(module) for module in SOURCES} - {part_of(module) for module in found}
    assert left <= {"", "_public", "_types", PACKAGE}, left
