"""The loops of Flax and Equinox with our rules: they learn, and resume from saved states."""

from __future__ import annotations

import re

import pytest

from tests.examples.test_digits import run


@pytest.mark.long
@pytest.mark.parametrize("package", ["flax", "equinox"])
def test_learns(package: str) -> None:
    pytest.importorskip(package)
    found = run(f"examples/{package}_loop.py", "--epochs", "4")
    right = re.search(r"steps: 112, right: (\d\.\d+)", found)
    assert right
    assert float(right[1]) > 0.9
