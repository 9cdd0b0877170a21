"""The inverse problem of a wall: only the noise is left, and the insulating layer is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.test_digits import run


@pytest.mark.long
def test_the_wall_is_recovered(tmp_path: Path) -> None:
    picture = tmp_path / "conductivity.png"
    found = run("examples/conductivity.py", "--output", str(picture), "--seed", "1")
    misfit, error = map(float, re.findall(r"misfit (\S+) after \d+ iterations, conductivity within (\S+) %", found)[0])
    # The noise alone gives 1.
    assert 0.8 < misfit < 1.2
    assert error < 6
    assert picture.read_bytes().startswith(b"\x89PNG")
