"""Programs of JAX give the same numbers here after their import lines are changed; other changes are counted."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

from tests.jax._compare import flat
from tests.jax.programs import models, neighbours, solutions, transforms

PROGRAMS = models.PROGRAMS | transforms.PROGRAMS | solutions.PROGRAMS | neighbours.PROGRAMS
# Lines that change besides imports: the line of JAX's program, and the line of ours.
CHANGED: dict[str, dict[str, str]] = {}
_IMPORT = re.compile(r"^(?P<indent>\s*)(?P<verb>import|from) jax\b(?P<rest>.*)$")


def ours(name: str) -> str:
    """Return a program with its import lines changed, and the lines of `CHANGED`."""
    lines = []
    for line in PROGRAMS[name].splitlines():
        found = _IMPORT.match(CHANGED.get(name, {}).get(line, line))
        if found is None:
            lines.append(CHANGED.get(name, {}).get(line, line))
        elif found["verb"] == "from" or " as " in found["rest"]:
            lines.append(f"{found['indent']}{found['verb']} funcgrad.jax{found['rest']}")
        else:
            lines.append(f"{found['indent']}import funcgrad.jax as jax")
    return "\n".join(lines)


def run(text: str, name: str) -> list[Any]:
    """Run a program and return the leaves of its results."""
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, f"<{name}>", "exec"), space)
    return [each if isinstance(each, str) else np.asarray(each) for each in flat(space["out"]) if each is not None]


# The other programs take seconds each: a program compiles in JAX and here.
@pytest.mark.parametrize(
    "name", [name if i % 8 == 0 else pytest.param(name, marks=pytest.mark.long) for i, name in enumerate(PROGRAMS)]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the packages that programs import
def test_the_program_gives_jaxs_numbers(name: str) -> None:
    for package in neighbours.NEEDS.get(name, ()):
        pytest.importorskip(package, reason=f"the program needs {package}")
    mode = jax.config.read("jax_enable_x64")
    try:
        with jax.enable_x64(True):
            expected = run(PROGRAMS[name], name)
        # Some programs set the mode of the whole process. All others run outside of JAX's 64-bit mode here.
        jax.config.update("jax_enable_x64", mode)
        found = run(ours(name), name)
    finally:
        jax.config.update("jax_enable_x64", mode)
    assert len(found) == len(expected)
    for y, y_of_jax in zip(found, expected, strict=True):
        if isinstance(y_of_jax, str):
            assert y == y_of_jax
            continue
        assert y.dtype == y_of_jax.dtype
        np.testing.assert_allclose(y, y_of_jax, rtol=1e-6, atol=1e-8)


def test_how_many_lines_change() -> None:
    counts = [len(CHANGED.get(name, {})) for name in PROGRAMS]
    assert len(PROGRAMS) >= 40
    assert counts.count(0) == len(PROGRAMS) - len(CHANGED)
    for name, lines in CHANGED.items():
        assert all(line in PROGRAMS[name].splitlines() for line in lines)
