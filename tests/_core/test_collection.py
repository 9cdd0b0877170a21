"""The garbage collector runs rarely while a program is staged, and has its old settings afterwards."""

from __future__ import annotations

import functools
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


def _long(x: np.ndarray, rounds: int) -> np.ndarray:
    y = x
    for i in range(rounds):
        y = np.sin(y) * x[: i % 3 + 1].sum() + y[i % 4]
    return y


def test_it_runs_rarely_while_code_is_written() -> None:
    found: list[str] = []
    before = gc.get_threshold()
    # The first call loads modules and compiles kernels, which makes objects too.
    fg.jit(functools.partial(_long, rounds=500), engine="numba", roll=False)(np.ones(4))
    gc.callbacks.append(lambda phase, info: found.append(phase))
    try:
        gc.set_threshold(200, 10, 10)
        fg.jit(functools.partial(_long, rounds=500), engine="numba", roll=False)(np.ones(4))
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
    # Each search has a beginning and an end. One may follow each part of the work.
    assert len(found) <= 20
