"""The record of the XLA engine: importing JAX changes nothing in the process."""

import sys
from typing import Any

import numpy as np
import pytest

from funcgrad._engines.xla.record import with_random_state_restored


def test_numpys_random_state_outlives_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's import draws random numbers somewhere. A program with a seed would then continue with other numbers."""

    def load(attribute: str) -> Any:
        return attribute, np.random.rand()  # noqa: NPY002  (as JAX does)

    np.random.seed(3)  # noqa: NPY002  (it is this one that is watched)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert with_random_state_restored(load, "scope")[0] == "scope"
    assert np.random.rand() == np.random.RandomState(3).rand()  # noqa: NPY002  (see above)
