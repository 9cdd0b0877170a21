"""Random programs with loops, whose written programs use the free memory of small arrays, too.

Written programs look for free memory only for large arrays. Random programs have small ones.
"""

from __future__ import annotations

import pytest

from funcgrad._engines.source import buffers, writer
from tests.laws.fuzz import loops
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.runner import looping_of


# Before loops registered the memory of their last values once, the first two gave wrong numbers.
@pytest.mark.parametrize("seed", [91000033, 91000047, *range(91000000, 91000006)])
def test_small_arrays_are_written_into_free_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_SPARE_LIMIT_BYTES", 0)
    monkeypatch.setattr(writer, "_DROP_LIMIT_BYTES", 0)
    report = Report()
    assert not loops.findings(looping_of(seed), report)
    assert report.checks
