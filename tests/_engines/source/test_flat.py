"""Elementwise programs that write to given memory: NumPy's numbers for each choice of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core import threads
from funcgrad._engines.source import flat
from funcgrad._engines.source.elementwise import in_memory
from funcgrad._engines.source.flat import BLOCK, FlatProgram, write

Function = Callable[..., tuple[Any, ...]]

# Functions of three arrays and a number, with the number of the array whose memory each result may use.
PROGRAMS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "a step with momentum": (lambda p, g, b, k: (p - k * (g + 0.5 * (b * k + g)), b * k + g), (0, 2)),
    "the parameter first": (lambda p, g, b, k: (p * k - g / (b * b + 1), b + g * 2), (0, 2)),
    "two that change places": (lambda p, g, b, k: (b, p), (0, 2)),
    "one after the other": (lambda p, g, b, k: (g, p + k, b), (0, 1, 2)),
    "one result twice": (lambda p, g, b, k: (p * k + g, p * k + g), (0, 2)),
    "an array as it is": (lambda p, g, b, k: (p, b * k), (0, 2)),
    "the gradient kept": (lambda p, g, b, k: (p - k * g, g), (0, 2)),
    "the second read last": (lambda p, g, b, k: (b * k + g, p * (b + 1) + b), (0, 2)),
    "a choice": (lambda p, g, b, k: (np.where(p > g, p * k, b), np.maximum(b, g * g)), (0, 2)),
    "functions": (lambda p, g, b, k: (np.exp(-p * p) + np.tanh(g), np.sqrt(abs(b)) * np.sign(g)), (0, 2)),
    "zeros": (lambda p, g, b, k: (p - np.zeros_like(p) * k, np.zeros_like(b) + g), (0, 2)),
    "a stopped gradient": (lambda p, g, b, k: (fg.stop_gradient(p * k) + g, fg.stop_gradient(b)), (0, 2)),
}


def program(name: str, dtype: Any) -> tuple[Any, FlatProgram]:
    f, aliases = PROGRAMS[name]
    x = np.ones(BLOCK, dtype)
    graph = fg.make_graph(f)(x, x, x, dtype(1))
    return graph, FlatProgram(graph, aliases)


def operands(size: int, dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    return [*[rng.normal(size=size).astype(dtype) for _ in range(3)], np.array(0.3, dtype)]


@pytest.mark.parametrize("ways", ["ufuncs", "kernels"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_numpys_in_old_and_in_new_memory(name: str, ways: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if ways == "kernels":
        pytest.importorskip("llvmlite")
    for attribute in ("BLOCK", "THREADED"):
        # Blocks of a few elements. Each operation has its own length.
        monkeypatch.setattr(flat, attribute, 7)
    monkeypatch.setattr(flat, "kernels_usable", lambda: ways == "kernels")
    monkeypatch.setattr(threads, "workers", lambda: 2)
    for dtype in (np.float32, np.float64):
        graph, made = program(name, dtype)
        for size in (0, 1, 20):
            given = operands(size, dtype)
            # A result may be one of the operands.
            expected = [np.copy(y) for y in graph.evaluate(*given)]
            fresh = tuple(np.full(size, 7, dtype) for _ in expected)
            write([(made, given[:3], given[3:], fresh)])
            over = tuple(given[k] for k in PROGRAMS[name][1])
            write([(made, given[:3], given[3:], over)])
            for y, z, wanted in zip(fresh, over, expected, strict=True):
                np.testing.assert_array_equal(y, wanted)
                np.testing.assert_array_equal(z, wanted)


def test_without_its_alias_the_memory_of_an_operand_is_written_too_early() -> None:
    f, aliases = PROGRAMS["the second read last"]
    x = np.ones(BLOCK)
    graph = fg.make_graph(f)(x, x, x, np.float64(1))
    for given, right in ((aliases, True), ((None, None), False)):
        p, g, b, k = operands(3, np.float64)
        expected = graph.evaluate(p, g, b, k)
        in_memory(graph, given).run(p, g, b, k, np.empty(3), b)
        assert np.array_equal(b, expected[1]) == right


def test_arrays_with_gaps_and_without_axes() -> None:
    graph, made = program("a step with momentum", np.float64)
    k = np.array(0.3)
    for shape in ((), (4, 6)):
        p, g, b = [np.asarray(np.random.default_rng(i).normal(size=shape)) for i in range(3)]
        gaps = [x if x.ndim == 0 else np.repeat(x, 2, axis=1)[:, ::2].T for x in (p, g, b)]
        expected = graph.evaluate(*gaps, k)
        write([(made, gaps, [k], (gaps[0], gaps[2]))])
        np.testing.assert_array_equal(gaps[0], expected[0])
        np.testing.assert_array_equal(gaps[2], expected[1])


def test_programs_of_several_lengths_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, made = program("a choice", np.float32)
    monkeypatch.setattr(flat, "BLOCK", 64)
    works, expected = [], []
    for size in (5, 64, 65, 1000, 3):
        given = operands(size, np.float32)
        expected.append(graph.evaluate(*given))
        works.append((made, given[:3], given[3:], (given[0], given[2])))
    write(works)
    for (_, _, _, results), wanted in zip(works, expected, strict=True):
        for y, w in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(y, w)
