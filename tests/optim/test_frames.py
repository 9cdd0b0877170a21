"""Short ways: how many Python functions a warm step of two parameters enters."""

from __future__ import annotations

import pytest

from benchmarks.frames import frames_of, warm_steps

# The counts on Python 3.11; later versions enter no frame for a list in brackets.
MOST = {"sgd_update": 30, "Adam.step": 23, "SGD.step": 16}


@pytest.mark.parametrize("name", MOST)
def test_frames_of_a_warm_step(name: str) -> None:
    assert frames_of(warm_steps()[name]).total() <= MOST[name]
