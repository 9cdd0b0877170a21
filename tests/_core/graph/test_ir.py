"""A graph checks the types of its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeMismatchError

ONES = np.ones(3)
NARROW = np.ones(3, np.float32)

REFUSED: dict[str, tuple[Callable[..., Any], tuple, tuple, str]] = {
    "shape": (np.mean, (ONES,), (np.ones(6),), r"graph mean: argument 0 is f64\[6\]; needed f64\[3\]"),
    "dtype": (lambda p: 2 * p["a"], ({"a": ONES},), ({"a": NARROW},), r"argument 0 at \['a'\] is f32\[3\]; needed f64"),
    "a strong number": (lambda x, y: x * y, (ONES, 2.0), (ONES, np.float64(3)), "argument 1 .* a Python number"),
    "a float for an int": (lambda x, n: x * n, (ONES, 2), (ONES, 2.5), r"argument 1 is f64\[\]; needed i64\[\]"),
    "no array": (lambda x: x, (ONES,), ("a",), r"argument 0 is a str; needed f64\[3\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_of_other_types_are_refused(name: str) -> None:
    f, made_for, args, message = REFUSED[name]
    with pytest.raises(TreeMismatchError, match=message):
        fg.make_graph(f)(*made_for)(*args)


def test_numbers_are_taken_in_the_dtype_of_the_input() -> None:
    graph = fg.make_graph(lambda x, y: x * y)
    np.testing.assert_array_equal(graph(ONES, np.float64(2))(ONES, 3), 3 * ONES)
    assert graph(NARROW, 2.0)(NARROW, 3).dtype == np.float32


def test_a_pullbacks_graph_checks_too() -> None:
    graph = fg.vjp(np.sin, ONES)[1].graph
    with pytest.raises(TreeMismatchError, match=r"argument 0 is f64\[2\]"):
        graph(np.ones(2))
