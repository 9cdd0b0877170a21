"""Inputs of the tests of ``vmap``, and the comparison with a loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

RNG = np.random.default_rng(11)
W, XS, YS = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 4)), RNG.normal(size=(5, 3))
SCALES = np.array([0.5, 1.0, 2.0, -1.0, 0.1])
ENGINES = ["numpy", "xla"]


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(w @ x) - y) ** 2)


def looped(f: Callable[..., Any], *columns: Any) -> Any:
    """Return the results of ``f`` for each row, stacked."""
    results = [f(*row) for row in zip(*columns, strict=True)]
    return fg.tree.map(lambda *rows: np.stack(rows), *results)


def assert_same(got: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(expected)
    for x, y in zip(fg.tree.leaves(got), fg.tree.leaves(expected), strict=True):
        assert np.shape(x) == np.shape(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(x), y, rtol=tolerance, atol=tolerance)
