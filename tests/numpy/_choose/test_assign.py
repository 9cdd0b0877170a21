"""Assignments by code in C: shuffles, and ``operator.setitem``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError


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


def test_a_function_that_names_shuffle_may_write_by_other_functions() -> None:
    def f(x: Any) -> Any:
        np.random.default_rng(0).shuffle(np.arange(3))
        y = x * 1.0
        operator.setitem(y, 0, x[1])
        return np.sum(y)

    assert fg.grad(f)(np.ones(3)).tolist() == [0, 2, 1]


@pytest.mark.filterwarnings("ignore:you are shuffling a:UserWarning")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_shuffle_of_rows_is_refused(make: Any) -> None:
    def shuffled(x: Any) -> Any:
        y = x * 1.0
        make(3).shuffle(y)
        return np.sum(y)

    with pytest.raises(TracerAssignmentError, match=r"permutation\(len\(x\)\)"):
        fg.grad(shuffled)(np.ones((3, 2)))
