"""The garbage collector runs rarely while a program is staged, and has its old settings afterwards."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.collection import rare_collection


def test_the_thresholds_come_back() -> None:
    before = gc.get_threshold()
    with rare_collection():
        inside = gc.get_threshold()
        with rare_collection():
            assert gc.get_threshold() == inside
        assert gc.get_threshold() == inside
    assert inside[0] > before[0]
    assert gc.get_threshold() == before


def test_they_come_back_after_an_error() -> None:
    before = gc.get_threshold()

    def f(x: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fg.make_graph(f)(np.ones(3))
    assert gc.get_threshold() == before


def test_thresholds_that_the_function_sets_stay() -> None:
    before = gc.get_threshold()

    def f(x: np.ndarray) -> np.ndarray:
        gc.set_threshold(1234, 5, 6)
        return x * 2

    try:
        fg.make_graph(f)(np.ones(3))
        assert gc.get_threshold() == (1234, 5, 6)
    finally:
        gc.set_threshold(*before)
