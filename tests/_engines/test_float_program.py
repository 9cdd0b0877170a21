"""Graphs of scalars as functions of Python's floats: NumPy's numbers, or no function."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import numpy as fnp
from funcgrad._engines.source.elementwise import float_program

VALUES = (0.0, -0.0, 1.0, -2.5, 0.3, 7.0, math.inf, -math.inf, math.nan)
FUNCTIONS: dict[str, Any] = {
    "arithmetic": lambda x, y: (x + y, x - 2 * y, -x * y, x / y, 1 - x),
    "powers": lambda x, y: (0.9**x, x**y, fnp.sqrt(abs(y))),
    "extrema": lambda x, y: (fnp.maximum(x, y), fnp.minimum(x, y), fnp.minimum(y, 1.0)),
    "choices": lambda x, y: (fnp.where(x > y, x, 2.0), fnp.where(x == 1, 1.0, y), fnp.where(x <= 0, y, x)),
    "an input": lambda x, y: (y, x + 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_numbers_are_numpys(name: str) -> None:
    graph = fg.make_graph(FUNCTIONS[name])(np.float64(1), np.float64(2))
    run = float_program(graph)
    assert run is not None
    compared = 0
    for x, y in itertools.product(VALUES, VALUES):
        expected = graph(np.float64(x), np.float64(y))
        try:
            found = run(x, y)
        except (ArithmeticError, ValueError):
            assert not np.all(np.isfinite(np.asarray(expected, np.float64)))
            continue
        np.testing.assert_allclose(found, np.asarray(expected, np.float64), rtol=1e-15)
        compared += 1
    assert compared > len(VALUES)


def test_what_floats_do_not_know_is_no_function() -> None:
    f: Any
    for f in (np.cbrt, lambda x: x + np.arange(3.0), lambda x: x * np.inf, lambda x: (x, 1.0), lambda x: x**2):
        assert float_program(fg.make_graph(f)(np.float64(1))) is None
