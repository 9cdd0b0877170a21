"""A traced number repeats a sequence, as Python's and NumPy's integers do; it never multiplies the elements."""

from __future__ import annotations

import math
from collections import deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError

Pair = namedtuple("Pair", "a b")  # noqa: PYI024  (a namedtuple without types, as users write it)


def _in_place(x: Any, n: Any) -> Any:
    values = [x]
    values *= n
    return sum(values)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "list": lambda x, n: math.prod([x] * n),
    "reflected": lambda x, n: math.prod(n * [x]),
    "length": lambda x, n: x * len([0.0] * n),
    "tuple": lambda x, n: math.prod((x, x + 1) * n),
    "namedtuple": lambda x, n: len(Pair(x, x) * n) * x,
    "text": lambda x, n: x * len("ab" * n + n * "c"),
    "bytes": lambda x, n: x * len(b"ab" * n) + len(bytearray(b"a") * n),
    "deque": lambda x, n: math.prod(deque([x]) * n),
    "in place": _in_place,
    "computed": lambda x, n: math.prod([x] * (2 * n - 1)),
    "stacked": lambda x, n: np.sum(np.stack([x, 1.0] * n)) if n > 0 else x,
    "range": lambda x, n: sum([x * i for i in range(n)]),
    "item": lambda x, n: [x, 2 * x, 3 * x, 4 * x][n] + ord("abcd"[n]),
    "slice": lambda x, n: sum([x, 2 * x, 3 * x, 4 * x][:n]),
}
COUNTS = [3, np.int64(2), np.uint8(1), 0, True]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_a_path_follows_the_number_of_repetitions(name: str, engine: str) -> None:
    f = PROGRAMS[name]
    compiled = fg.jit(f, engine=engine, paths=8)
    counts = COUNTS[:3] if name == "computed" else COUNTS
    for n in (*counts, *counts):
        np.testing.assert_allclose(compiled(1.5, n), f(1.5, n), rtol=1e-14)
    f_dot = fg.jit(fg.grad(f), engine=engine, paths=8)(1.5, 3)
    np.testing.assert_allclose(f_dot, (f(1.5 + 1e-6, 3) - f(1.5 - 1e-6, 3)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_that_is_not_known_is_refused(name: str) -> None:
    f = PROGRAMS[name]
    with pytest.raises(ConcretizationTypeError, match=r"integer index|repetitions of a sequence|bool\(\)"):
        fg.jit(f, engine="numpy")(1.5, 3)
    with pytest.raises(ConcretizationTypeError, match=r"integer index|repetitions of a sequence|bool\(\)"):
        fg.vmap(lambda n: f(1.5, n))(np.array([1, 2]))


def test_a_float_repeats_nothing() -> None:
    for transform in (fg.grad, lambda f: fg.jit(f, engine="numpy")):
        with pytest.raises(TypeError, match=r"a list was multiplied by a traced number f64\[\]; needed an integer"):
            transform(lambda x: sum(x * [1.0, 2.0]))(2.0)


def test_an_array_multiplies_the_elements() -> None:
    f = fg.jit(lambda x: [1.0, 2.0] * x, engine="numpy")
    np.testing.assert_array_equal(f(np.array([3, 4])), [3.0, 8.0])
    np.testing.assert_array_equal(f(np.array(3)), [3.0, 6.0])
    np.testing.assert_array_equal(f(np.array(3.0)), [3.0, 6.0])
