"""The door to JAX: what it takes to open it is nobody else's concern."""

import sys
from typing import Any

import numpy as np
import pytest

from funcgrad._engines.xla.door import undrawn


def test_numpys_random_state_outlives_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somewhere JAX's import draws from it: a program with a seed would go on with other numbers."""

    def load(attribute: str) -> Any:
        return attribute, np.random.rand()  # noqa: NPY002  (as JAX does)

    np.random.seed(3)  # noqa: NPY002  (it is this one that is watched)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert undrawn(load, "scope")[0] == "scope"
    assert np.random.rand() == np.random.RandomState(3).rand()  # noqa: NPY002  (see above)
