"""Loops that write to slices of arrays: one kernel on Numba, which writes in place, with the NumPy engine's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

N = 3000


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two trees of arrays have the same bits, signs of zeros too."""
    pairs = zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True)
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


def _swap(a: Any, b: Any, rounds: int = 21) -> Any:
    for _ in range(rounds):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a, b = b, a
    return np.sum(a * a) + np.sum(np.sin(b))


def _twice(a: Any, b: Any) -> Any:
    for _ in range(15):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * b)


def _overlapping(a: Any, b: Any) -> Any:
    """A write reads the array that it writes to, at other places."""
    for _ in range(12):
        a[1:-1] = 0.4 * (a[:-2] + a[2:]) + 0.1 * b[1:-1]
        b[2:] -= 0.1 * a[:-2]
        b[:5] *= 0.5
    return np.sum(a * b)


def _read_before_and_after(a: Any, b: Any) -> Any:
    """A slice that was read before the write is used after it."""
    for _ in range(12):
        old = a[5:20]
        kept = old * 2.0
        a[3:-3] = np.tanh(b[3:-3])
        b[5:20] = b[5:20] + kept
        b[100:115] += a[5:20] - old
    return np.sum(a) + np.sum(b * b)


def _three_levels(a: Any, b: Any) -> Any:
    """Each round makes the next level of three: `c, b, a = f(a, b, c), c, b`."""
    c = a + 0.5 * b
    for _ in range(20):
        new = c.copy()
        new[1:-1] = c[1:-1] + 0.1 * (b[2:] - 2.0 * b[1:-1] + b[:-2]) - 0.01 * a[1:-1]
        a, b, c = b, c, new
    return np.sum(a) + np.sum(b * c)


def _plane(a: Any, b: Any) -> Any:
    for _ in range(9):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
        a[0] = a[-2]
    return np.sum(a * a) + np.sum(b)


def _room(a: Any, b: Any) -> Any:
    for _ in range(7):
        inner = a[1:-1, 1:-1, 1:-1]
        b[1:-1, 1:-1, 1:-1] = inner + 0.1 * (a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 1:-1, 2:])
        a[:, 1:, :] = 0.9 * b[:, :-1, :]
    return np.sum(a * b)


SHAPES: dict[Callable[..., Any], tuple[int, ...]] = {_plane: (60, 70), _room: (14, 15, 16)}
PROGRAMS = [_swap, _twice, _overlapping, _read_before_and_after, _three_levels, _plane, _room]


def _arrays(f: Callable[..., Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shape = SHAPES.get(f, (N,))
    # Zeros of both signs: a sum that starts from zero has another sign than one that does not.
    return [np.where(rng.random(shape) < 0.1, -0.0, rng.standard_normal(shape)) for _ in range(2)]


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return fg.value_and_grad(lambda a, b: f(a.copy(), b.copy()), argnums=(0, 1))


@pytest.mark.parametrize("f", PROGRAMS)
def test_writes_in_loops_have_the_numbers_of_numpy(f: Callable[..., Any]) -> None:
    arrays, gradient = _arrays(f), _gradient(f)
    numba, numpy = fg.jit(gradient, engine="numba"), fg.jit(gradient, engine="numpy")
    assert same_bits(numba(*arrays), numpy(*arrays))
    straight = fg.jit(gradient, engine="numpy", roll=False)(*arrays)
    for x, y in zip(fg.tree.leaves(numpy(*arrays)), fg.tree.leaves(straight), strict=True):
        np.testing.assert_allclose(x, y, 1e-11, 1e-11)


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_loop_of_writes_is_a_kernel(f: Callable[..., Any]) -> None:
    """The program has no loop of Python's: the loops are in the kernels."""
    source = fg.jit(_gradient(f), engine="numba").source(*_arrays(f))
    program = source.split("\ndef ")[0]
    assert "for t0" not in program
    assert "for r1" in source


@pytest.mark.parametrize("rounds", [16, 17, 18, 19])
def test_rounds_that_are_left_over(rounds: int) -> None:
    """Two rounds are written after each other; an odd number leaves one."""
    arrays = _arrays(_swap)
    gradient = _gradient(lambda a, b: _swap(a, b, rounds))
    assert same_bits(fg.jit(gradient, engine="numba")(*arrays), fg.jit(gradient, engine="numpy")(*arrays))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [8, 9, 10, 11])
def test_rows_of_rounds_in_turn(reverse: bool, length: int) -> None:
    """The rounds read rows of an array and write rows of a result, from the first or from the last on."""

    def turned(carry: Any, x: Any) -> Any:
        a, b, c = carry
        new = 0.5 * (a + b) - c + x
        return (new, a, b), new * x

    def total(first: Any, xs: Any) -> Any:
        carry, ys = fg.scan(turned, (first, 2.0 * first, first * first), xs, reverse=reverse)
        return np.sum(carry[0]) + np.sum(carry[1] * carry[2]) + np.sum(np.cos(ys))

    rng = np.random.default_rng(1)
    given = rng.standard_normal(300), rng.standard_normal((length, 300))
    gradient = fg.value_and_grad(total, argnums=(0, 1))
    assert same_bits(fg.jit(gradient, engine="numba")(*given), fg.jit(gradient, engine="numpy")(*given))


def test_arguments_are_not_written_to() -> None:
    arrays = _arrays(_swap)
    before = [each.copy() for each in arrays]
    a, b = [each.copy() for each in arrays]
    fg.jit(_swap, engine="numba")(a, b)
    fg.jit(_gradient(_swap), engine="numba")(*arrays)
    assert same_bits(arrays, before)
