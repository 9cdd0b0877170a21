"""Parts of the package use each other by public doors, and engines by their records.

Each rule is also tried on a planted offence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.laws.test_layering import PACKAGE, RANKS, Sources, edges, imports_of, package_sources, part_of

# Other parts use a public part only by its public names and by its ``extend.py``. A part with a leading underscore has
# no public names. Other parts use its modules and names that have no underscore, and of the engines only the records
# and what an engine's folder gives to others in its ``extend.py``.
PUBLIC = {part for part in RANKS if part and not part.startswith("_")}
ENGINES = f"{PACKAGE}._engines"
ENGINE_DOORS = {
    ENGINES,
    f"{ENGINES}.engine",
    f"{ENGINES}.signature",
    f"{ENGINES}.source.extend",
    f"{ENGINES}.xla.extend",
    f"{ENGINES}.xla.record",
}


def past_the_door(sources: Sources) -> list[str]:
    """Imports of a private module or name of a public part, or of a private name of another part."""
    return [
        f"{module} imports {target}"
        for module, targets in edges(sources, for_types=True).items()
        for target in sorted(targets | private_names(sources[module]))
        if part_of(target) != part_of(module)
        if part_of(target) in PUBLIC or target not in sources
        if any(name.startswith("_") for name in target.split(".")[2:])
    ]


def past_the_engines_door(sources: Sources) -> set[tuple[str, str]]:
    """Imports of modules of an engine, other than its doors, from outside of the engines."""
    return {
        (module, target)
        for module, targets in edges(sources, for_types=True).items()
        for target in targets
        if part_of(target) == "_engines" != part_of(module) and target not in ENGINE_DOORS
    }


def private_names(text: str) -> set[str]:
    """Return the private names that are imported from the package, modules included."""
    names = {f"{x.module}.{x.name}" for x in imports_of(text) if x.name and x.name.startswith("_")}
    return {name for name in names if name.startswith(f"{PACKAGE}.")}


def test_other_parts_come_in_by_the_door() -> None:
    assert past_the_door(package_sources()) == []


def test_the_engines_are_used_by_their_doors() -> None:
    assert past_the_engines_door(package_sources()) == set()


def test_a_door_of_an_engine_gives_only_what_others_use() -> None:
    sources = package_sources()
    others = [text for module, text in sources.items() if part_of(module) != "_engines"]
    used = {each for text in others for each in imports_of(text)}
    for door in (door for door in ENGINE_DOORS if door.endswith(".extend")):
        assert {x.name for x in imports_of(sources[door])} == {x.name for x in used if x.module == door}


OFFENCES: dict[str, tuple[Callable[[Sources], Any], Sources]] = {
    "past the door": (
        past_the_door,
        {"funcgrad.nn": "from funcgrad.numpy._base.axes import x", "funcgrad.numpy._base.axes": ""},
    ),
    "past the door, deep down": (
        past_the_door,
        {"funcgrad.scipy": "from funcgrad.numpy.linalg import _systems", "funcgrad.numpy.linalg._systems": ""},
    ),
    "past the door for types only": (
        past_the_door,
        {"funcgrad.optim": "if TYPE_CHECKING:\n    import funcgrad.autograd._base", "funcgrad.autograd._base": ""},
    ),
    "a private name by the door": (
        past_the_door,
        {"funcgrad.optim": "from funcgrad.autograd.extend import _x", "funcgrad.autograd.extend": ""},
    ),
    "past the door of another room": (
        past_the_door,
        {"funcgrad.io": "from funcgrad.tree._flatten import x", "funcgrad.tree._flatten": ""},
    ),
    "a private name of the core": (
        past_the_door,
        {"funcgrad.nn": "from funcgrad._core.bind import _active", "funcgrad._core.bind": ""},
    ),
    "past the engines' door": (
        past_the_engines_door,
        {"funcgrad.nn": "from funcgrad._engines.xla.run import x", "funcgrad._engines.xla.run": ""},
    ),
}


@pytest.mark.parametrize("offence", OFFENCES)
def test_a_planted_offence_is_caught(offence: str) -> None:
    rule, sources = OFFENCES[offence]
    assert rule(sources)


def test_public_names_and_doors_are_let_through() -> None:
    sources = {
        "funcgrad.nn": "from funcgrad.numpy.extend import as_value\nfrom funcgrad.tree import leaves",
        "funcgrad.numpy.extend": "from funcgrad.numpy._base.convert import as_value",
        "funcgrad.numpy._base.convert": "from funcgrad._engines.xla.record import x",
        "funcgrad.optim": "from funcgrad._engines.source.extend import x",
        "funcgrad._engines.source.extend": "from funcgrad._engines.source.writer import x",
        "funcgrad._engines.source.writer": "",
        "funcgrad._engines.xla.record": "",
        "funcgrad.tree": "",
    }
    assert past_the_door(sources) == []
    assert past_the_engines_door(sources) == set()
