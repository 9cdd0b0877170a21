"""``numpy.emath``: results become complex where a real number has a complex result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerBoolConversionError

INSIDE, OUTSIDE = np.array([0.3, 0.7]), np.array([0.3, -1.7])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np.emath, name) for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
} | {
    "logn": lambda x: np.emath.logn(3.0, x),
    "logn by base": lambda x: np.emath.logn(x, 3.0),
    "power": lambda x: np.emath.power(x, 1.5),
    "power of a power": lambda x: np.emath.power(2.0, x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [INSIDE, OUTSIDE, INSIDE + 0j, OUTSIDE.astype(np.float32), np.float64(-2.5)], ids=str)
def test_as_numpy(name: str, x: np.ndarray) -> None:
    f = FUNCTIONS[name]
    expected = f(x)
    for got in (fg.vjp(f, x)[0], fg.jit(f, engine="numpy", paths=2)(x)):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    if x.dtype == np.float64:
        fg.check_grads(lambda x: np.sum(np.abs(f(x)) ** 2), (x,), order=1)


def test_of_integers() -> None:
    n = np.array([-3, 2])
    for f in (lambda n: np.emath.power(n, 2), lambda n: np.emath.power(2.0, n), np.emath.sqrt):
        got = fg.jit(f, engine="numpy", paths=2)(n)
        assert got.dtype == f(n).dtype
        np.testing.assert_array_equal(got, f(n))


def test_unknown_numbers_are_refused() -> None:
    with pytest.raises(TracerBoolConversionError, match="paths"):
        fg.jit(np.emath.sqrt)(INSIDE)
