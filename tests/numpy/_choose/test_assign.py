"""Assignments by code in C: shuffles, and ``operator.setitem``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg


@pytest.mark.filterwarnings("ignore:you are shuffling a:UserWarning")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_shuffle_of_single_elements_is_numpys(make: Any) -> None:
    weights = np.array([1.0, 4.0, 9.0, 16.0])

    def shuffled(x: Any) -> Any:
        y = x * 1.0
        make(3).shuffle(y)
        return np.sum(y * weights)

    order = np.arange(4)
    make(3).shuffle(order)
    for transform in (fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f), engine="numpy")):
        assert transform(shuffled)(np.ones(4))[order].tolist() == weights.tolist()


def test_any_function_may_write_a_view() -> None:
    def f(x: Any) -> Any:
        y: Any = np.reshape(x * 1.0, (3, 2))
        operator.setitem(y, 0, y[1])
        y.__setitem__(2, y[1] * 3.0)
        return np.sum(y * y[2])

    fg.check_grads(f, (np.arange(1.0, 7.0),))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_numpy_warns_that_a_shuffle_of_rows_loses_some(make: Any) -> None:
    # NumPy exchanges rows by views, of which one is overwritten before it is read. It says so itself.
    def shuffled(x: Any) -> Any:
        y = x * 1.0
        make(3).shuffle(y)
        return np.sum(y)

    with pytest.warns(UserWarning, match="may contain duplicates after shuffling"):
        fg.grad(shuffled)(np.ones((3, 2)))
