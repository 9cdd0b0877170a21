"""Writes whose value reads the array that they write, on XLA: it must read what was there before the write."""

import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests._ops.index._overlaps import ARRAYS, READS, SIZE, WRITES, program, rounds

VALUES = np.arange(1, SIZE + 1) * 3 % 7
DTYPES = ("float64", "float32", "int64", "complex128")
# NumPy orders complex numbers otherwise than XLA, or not at all.
REAL = ("chosen", "running maximum", "sorted")
# The arrays that XLA's CPU backend holds under another shape, and one of each other kind.
# `FUNCGRAD_ALL_OVERLAPS=1` compares all pairs of an array and a write in all dtypes, which takes an hour.
ALL = bool(os.environ.get("FUNCGRAD_ALL_OVERLAPS"))
FEW = ("copy", "cumsum", "index array", "index array of rows", "padded", "column", "written to a constant")


def values(dtype: str) -> Any:
    return (VALUES * (1 + 0.5j) if dtype == "complex128" else VALUES).astype(dtype)


def compare(programs: dict[str, Callable[[Any], Any]], x: Any) -> None:
    """Compare programs with NumPy. They are compiled together, which takes a third of the time."""
    every = fg.jit(lambda xs: {name: f(xs[name]) for name, f in programs.items()})(dict.fromkeys(programs, x))
    for name, f in programs.items():
        expected = f(x)
        assert every[name].dtype == expected.dtype, name
        np.testing.assert_allclose(every[name], expected, rtol=1e-5, err_msg=name)


def total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a scalar of the result to which each element counts differently."""

    def weighted(x: Any) -> Any:
        y = f(x).ravel()
        return np.sum(np.arange(1, len(y) + 1) * y**2)

    return weighted


@pytest.mark.parametrize("array", FEW)
def test_values(array: str) -> None:
    compare({write: program(array, write) for write in WRITES}, values("float64"))


@pytest.mark.parametrize("array", FEW[1:3])
def test_loops(array: str) -> None:
    for count in (1, 3):
        compare({write: rounds(array, write, count) for write in WRITES}, values("float64"))


@pytest.mark.parametrize("array", FEW[1:3])
def test_gradients(array: str) -> None:
    x = values("float64")
    totals = {write: total(program(array, write)) for write in WRITES}
    gradients = lambda xs: {name: fg.grad(f)(xs[name]) for name, f in totals.items()}
    xs = dict.fromkeys(totals, x)
    found, expected = fg.jit(gradients)(xs), gradients(xs)
    for name in totals:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, err_msg=name)


def test_gradients_of_jax() -> None:
    f = total(program("cumsum", "y[1:-1] = y[2:] + y[:-2]"))
    x = values("float64")
    with jax.enable_x64(True):
        for way in (jax.grad, jax.jacfwd):
            np.testing.assert_allclose(jax.jit(way(fg.to_jax(f)))(x), fg.grad(f)(x), rtol=1e-12)


def test_a_write_to_what_a_loop_carries_stores_no_value() -> None:
    def once(i: int, carry: Any) -> Any:
        x, y = carry[0].copy(), carry[1].copy()
        y[1:-1] = x[2:] + x[:-2]
        x[1:-1] = y[2:] - y[:-2]
        return x, y

    text = fg.jit(lambda x, y: fg.fori_loop(0, 20, once, (x, y))).lower(np.ones(9), np.ones(9)).as_text()
    assert text.count("stablehlo.while") == 1


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES if ALL else DTYPES[:1])
@pytest.mark.parametrize("array", ARRAYS if ALL else FEW[1:3])
def test_all(array: str, dtype: str) -> None:
    if dtype == "complex128" and array in REAL:
        pytest.skip("complex numbers have no order")
    x = values(dtype)
    for read in READS:
        compare({write: program(array, write, read) for write in WRITES}, x)
    for count in (1, 3):
        compare({write: rounds(array, write, count) for write in WRITES}, x)


@pytest.mark.long
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("array", ARRAYS if ALL else FEW[1:3])
def test_each_alone(array: str, write: str) -> None:
    x, f = values("float64"), program(array, write)
    np.testing.assert_allclose(fg.jit(f)(x), f(x))
    np.testing.assert_allclose(fg.jit(fg.grad(total(f)))(x), fg.grad(total(f))(x), rtol=1e-12, atol=1e-12)
