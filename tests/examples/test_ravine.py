"""The picture of the rules' paths is drawn, and all paths end low."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.test_digits import run


@pytest.mark.long
def test_rules_come_down(tmp_path: Path) -> None:
    picture = tmp_path / "ravine.png"
    found = run("examples/ravine.py", "--output", str(picture), "--rules", "SGD", "Muon", "SparseAdam")
    losses = re.findall(r"^(Ravine|Rosenbrock) +(.+?) +lr \S+ +loss (\S+)$", found, re.MULTILINE)
    assert len(losses) == 6
    # At the start they are 9.2 and 5.3.
    assert all(float(loss) < 0.1 for _, _, loss in losses)
    assert picture.read_bytes().startswith(b"\x89PNG")
