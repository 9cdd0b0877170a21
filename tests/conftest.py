"""What all tests share: seeded random numbers, and property tests that do not fail for being slow."""

import os

import hypothesis
import numpy as np
import pytest

# A failing test shows the frames of the library.
os.environ.setdefault("FUNCGRAD_FULL_TRACEBACKS", "1")

# A first call may compile for seconds, and other work may share the machine: time is no property of the code here.
hypothesis.settings.register_profile("default", deadline=None, max_examples=50)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
