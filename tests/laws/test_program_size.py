"""Programs that are too long to stage or to compile are refused in words, with their size and their lines."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad._core.bind import active_trace
from funcgrad._core.trace import staging
from funcgrad._engines import ENGINES

LONG = np.ones(20)


def with_growing_rounds(x: Any) -> Any:
    return sum(np.sum(x[:j] * x[i - j : i]) for i in range(10) for j in range(i))


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_a_program_that_would_be_compiled_for_minutes_is_refused(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """The message has the size, the lines that make most of it, and what to write instead."""
    monkeypatch.setitem(ENGINES, engine, dataclasses.replace(ENGINES[engine], most_equations=100))
    message = (
        r"jit: the program of with_growing_rounds has \d+ equations, of which \d+ come from "
        rf"test_program_size.py:\d+.*the engine \"{engine}\" compiles at most 100\. .*with fg\.scan"
    )
    with pytest.raises(errors.ProgramSizeError, match=message):
        fg.jit(with_growing_rounds, engine=engine)(LONG)


def test_equations_in_the_body_of_a_loop_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "numpy", dataclasses.replace(ENGINES["numpy"], most_equations=100))

    def long_rounds(x: Any) -> Any:
        return fg.fori_loop(0, 3, lambda i, x: x + with_growing_rounds(x), x)

    with pytest.raises(errors.ProgramSizeError, match=r"jit: the program of long_rounds has \d+ equations"):
        fg.jit(long_rounds, engine="numpy")(LONG)


def test_a_program_that_would_take_all_memory_is_refused_while_it_is_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MOST_STAGED", 100)
    before = active_trace()
    with pytest.raises(errors.ProgramSizeError, match=r"jit: the program so far has 101 equations, .*at most 100 are"):
        fg.jit(with_growing_rounds, engine="numpy")(LONG)
    assert active_trace() is before
    with pytest.raises(errors.ProgramSizeError, match="jit: the program so far"):
        fg.jit(fg.grad(with_growing_rounds), engine="numba")(LONG)
    assert fg.grad(with_growing_rounds)(LONG).shape == LONG.shape
