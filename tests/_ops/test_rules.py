"""The table of simplifications: the result of each rule, and equal bits of all numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.ir import Graph, check_graph
from funcgrad._core.graph.simplify import simplify
from funcgrad._ops.program.rules import TABLE

TINY = float(np.nextafter(0, 1))
FLOATS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1.5, -2.5, TINY, -3 * TINY, 1.7e308, -1.7e308, 0.1, 3.0]
SPECIAL = {
    "float64": np.array(FLOATS),
    "float32": np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1.5, 1e-45, -3e38, 0.1], np.float32),
    "float16": np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 6e-8, 65504.0, 0.1], np.float16),
    "int64": np.array([0, 1, -1, 2, np.iinfo(np.int64).min, np.iinfo(np.int64).max, 7]),
    "int8": np.array([0, 1, -1, -128, 127, 64], np.int8),
    "uint8": np.array([0, 1, 255, 128, 127], np.uint8),
    "bool": np.array([True, False]),
    "complex128": np.array([complex(a, b) for a, b in itertools.product(FLOATS[:8], repeat=2)]),
}

# A program of two arrays, and the number of equations that are left for floats.
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "times one": (lambda x, y: (x * 1) * y, 1),
    "one times": (lambda x, y: (1 * x) * y, 1),
    "times ones": (lambda x, y: (x * np.ones_like(x)) * y, 1),
    "times minus one": (lambda x, y: (x * -1) * y, 2),
    "a number times a negative": (lambda x, y: 3 * (-x) + y, 2),
    "a negative times": (lambda x, y: (-x) * y, 2),
    "two negatives": (lambda x, y: (-x) * (-y), 1),
    "by one": (lambda x, y: (x / 1) * y, 1),
    "by two": (lambda x, y: (x / 2) * y, 2),
    "by a small power of two": (lambda x, y: (x / 2.0**-1020) * y, 2),
    "by a subnormal": (lambda x, y: (x / TINY) * y, 2),
    "by a large power of two": (lambda x, y: (x / 2.0**1023) * y, 2),
    "by three": (lambda x, y: (x / 3) * y, 2),
    "by zero": (lambda x, y: (x / 0) * y, 2),
    "a negative by": (lambda x, y: (-x) / y + y, 2),
    "by a negative": (lambda x, y: y - x / -y, 2),
    "plus a negative": (lambda x, y: x + -y, 1),
    "a negative plus": (lambda x, y: -x + y, 1),
    "two negatives added": (lambda x, y: -x + -y, 2),
    "minus a negative": (lambda x, y: x - -y, 1),
    "plus zero": (lambda x, y: (x + 0) * y, 2),
    "plus minus zero": (lambda x, y: (x + -0.0) * y, 1),
    "minus zero": (lambda x, y: (x - 0.0) * y, 1),
    "minus minus zero": (lambda x, y: (x - -0.0) * y, 2),
    "zero minus": (lambda x, y: (0 - x) * y, 2),
    "zero times": (lambda x, y: (0 * x) * y, 2),
    "twice negative": (lambda x, y: np.negative(-x) * y, 1),
    "a negative product": (lambda x, y: -(3 * x) * y, 2),
    "a negative quotient": (lambda x, y: -(3 / x) * y - (y / 3), 4),
    "a negative difference": (lambda x, y: -(x - y), 2),
    "a square of a negative": (lambda x, y: (-x) ** 2 + y, 2),
    "a cube of a negative": (lambda x, y: (-x) ** 3 + y, 3),
    "to the first": (lambda x, y: x**1 * y, 1),
    "equal branches": (lambda x, y: np.where(x > y, y, y) * x, 1),
    "a choice within a choice": (lambda x, y: np.where(x > y, np.where(x > y, x, 1), y), 2),
    "a choice within the other": (lambda x, y: np.where(x > y, x, np.where(x > y, 1, y)), 2),
    "there and back": (lambda x, y: x.astype(np.float64).astype(x.dtype) * y, 1),
    "narrow and back": (lambda x, y: x.astype(np.float16).astype(x.dtype) * y, 3),
    "to integers through float64": (lambda x, y: x.astype(np.float64).astype(np.int16) + y.astype(np.int16), 3),
    "reshaped twice": (lambda x, y: x.reshape(-1, 1).reshape(1, -1) * y, 2),
    "reshaped and back": (lambda x, y: x.reshape(-1, 1).reshape(-1) * y, 1),
    "transposed twice": (lambda x, y: x.reshape(1, -1).T.T * y, 2),
    "turned three times": (lambda x, y: x.reshape(1, 1, -1).transpose(1, 2, 0).transpose(2, 0, 1) * y, 2),
    "a repeated row": (lambda x, y: np.broadcast_to(x, (3, x.shape[0])) * np.broadcast_to(y[:1], (3, x.shape[0])), 3),
    "a repeated number": (lambda x, y: np.exp(np.broadcast_to(x[0], x.shape)) * y, 3),
    "repeated twice": (lambda x, y: np.broadcast_to(np.broadcast_to(x[0], (2, 1)), (2, x.shape[0])) + y, 3),
    "full of a number": (lambda x, y: np.full_like(x, 3) * y, 1),
}


def staged(f: Callable[..., Any], *args: Any) -> Graph:
    return fg.make_graph(f)(*args)


def bits(x: Any) -> Any:
    """Return the bits of an array, with one pattern for all NaN."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        parts = np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x
        x = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
        return x.view(f"u{x.dtype.itemsize}")
    return x


@pytest.mark.parametrize("name", PROGRAMS)
def test_fewer_equations_and_the_same_bits(name: str) -> None:
    f, left = PROGRAMS[name]
    for kind, values in SPECIAL.items():
        x, y = np.repeat(values, len(values)), np.tile(values, len(values))
        with np.errstate(all="ignore"):
            try:
                graph = staged(f, x, y)
                (wanted,) = graph.evaluate(x, y)
            except (TypeError, OverflowError, ValueError, np.exceptions.ComplexWarning):
                continue
            simple = check_graph(simplify(graph))
            (got,) = simple.evaluate(x, y)
        np.testing.assert_array_equal(bits(got), bits(wanted), strict=True, err_msg=f"{kind}\n{graph}\n{simple}")
        assert got.dtype == wanted.dtype
        if kind == "float64":
            assert len(simple.equations) == left, str(simple)


def test_each_row_of_the_table_is_used() -> None:
    """Without its rules a primitive's programs are longer, so no rule is unused."""
    used = set()
    for f, _ in PROGRAMS.values():
        graph = staged(f, SPECIAL["float64"], SPECIAL["float64"])
        kept = {id(equation.primitive) for equation in simplify(graph).equations}
        used |= {equation.primitive for equation in graph.equations if len(kept) < len(graph.equations)}
    assert used >= TABLE.keys()


OWN: dict[str, Callable[[Any], Any]] = {
    "times one": lambda x: x * 1,
    "a view of it": lambda x: (x * 1).reshape(-1),
    "beside it": lambda x: (np.sin(x), np.sin(x) * 1),
    "by one": lambda x: (x.T / 1, x),
    "two of them": lambda x: (np.sin(x) * 1, np.sin(x) / 1),
    "equal branches": lambda x: np.where(x > 0, x, x),
    "an astype": lambda x: x.astype(np.float64),
    "a copy": lambda x: x.copy(),
    "turned and back": lambda x: x.T.T,
}


@pytest.mark.parametrize("name", OWN)
def test_what_numpy_makes_anew_is_new(name: str) -> None:
    x = np.arange(6.0).reshape(2, 3) + 1
    f = OWN[name]
    got = fg.tree.leaves(fg.jit(f, engine="numpy")(x))
    jitted: Any = fg.jit(f, engine="numpy")
    graph = fg.tree.leaves(jitted.graph(x)(x))
    wanted = fg.tree.leaves(f(x))
    for k, (y, z, w) in enumerate(zip(got, graph, wanted, strict=True)):
        np.testing.assert_array_equal(y, w)
        np.testing.assert_array_equal(z, w)
        assert y is x or not np.shares_memory(y, x)
        # A graph shares memory with its arguments exactly as the function does.
        assert np.shares_memory(z, x) is np.shares_memory(w, x)
        assert not any(np.shares_memory(y, other) for other in got[:k])


def test_numbers_of_loops_are_data() -> None:
    """A program for another number has the same equations, so no rule depends on a number."""
    graph = staged(lambda x: x * np.float64(1.0), SPECIAL["float64"])
    assert len(simplify(graph).equations) == 1
    inner = staged(lambda x: np.sin(x * np.float64(1.0) - -x), SPECIAL["float64"])
    assert len(simplify(inner).equations) == 2
    assert len(simplify(inner, numbers_are_data=True).equations) == 3
