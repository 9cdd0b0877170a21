"""Integers for which there is no room: where NumPy raises, so do ours, eagerly and on every engine; nothing wraps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X8, U8 = np.array([1, 2, 3], np.int8), np.array([1, 2, 3], np.uint8)
# Calls that NumPy refuses: the array, by NumPy's functions and by ours of the same names.
REFUSED: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray]] = {
    "insert": (lambda m, x: m.insert(x, 1, 300), X8),
    "insert several": (lambda m, x: m.insert(x, [0, 1], [300, 1]), X8),
    "insert a fraction": (lambda m, x: m.insert(x, 1, 300.7), X8),
    "max": (lambda m, x: m.max(x, initial=300), X8),
    "min of numbers": (lambda m, x: m.min(x, initial=np.int64(-300)), X8),
    "max where": (lambda m, x: m.max(x, initial=300, where=x > 1), X8),
    "sum": (lambda m, x: m.sum(x, initial=-1), U8),
    "sum in a dtype": (lambda m, x: m.sum(x, initial=300, dtype=np.int8), X8),
    "prod": (lambda m, x: m.prod(x, initial=-1), U8),
    "nanmax": (lambda m, x: m.nanmax(x, initial=300), X8),
    "pad": (lambda m, x: m.pad(x, 1, constant_values=300), X8),
    "pad with arrays": (lambda m, x: m.pad(x, 1, constant_values=np.array([300, 1])), X8),
    "full_like": (lambda m, x: m.full_like(x, 300), X8),
    "full_like unsigned": (lambda m, x: m.full_like(x, -1, dtype=np.uint16), U8),
    "full": (lambda m, x: m.full((3,), 300, np.int8) + x, X8),
    "asarray": (lambda m, x: m.asarray(300, np.int8) + x, X8),
    "array": (lambda m, x: m.array([1, [300][0], 2], np.int8) + x, X8),
    "array of numbers": (lambda m, x: m.array([np.int64(300), 1, 2], np.int8) + x, X8),
    "array of NaN": (lambda m, x: m.array([np.nan, 1, 2], np.int8) + x, X8),
    "add in a dtype": (lambda m, x: np.add(x, 300, dtype=np.int8), X8),
}


def _refuses(f: Callable[..., Any], *args: Any, match: str) -> None:
    with pytest.raises((OverflowError, ValueError), match=match):
        f(*args)


@pytest.mark.parametrize("name", REFUSED)
def test_no_room(name: str) -> None:
    f, x = REFUSED[name]
    numpys, ours = (lambda x: f(np, x)), (lambda x: f(fnp, x))
    _refuses(numpys, x, match="out of bounds|cannot convert float NaN")
    for function in (ours, fg.jit(ours), fg.jit(ours, engine="numpy"), lambda x: fg.vmap(ours)(np.stack([x, x]))):
        _refuses(function, x, match=r"Python (integer|float) .* out of bounds for u?int(8|16|64)|float NaN")


GIVEN: dict[str, Callable[[Any, Any], Any]] = {
    "insert": lambda x, n: np.insert(x, 1, n),
    "initial": lambda x, n: np.max(x, initial=n),
    "pad": lambda x, n: np.pad(x, 1, constant_values=n),
}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", GIVEN)
def test_a_number_given_to_a_program_has_room_or_is_refused(name: str, engine: str) -> None:
    f = GIVEN[name]
    staged = fg.jit(f, engine=engine)
    np.testing.assert_array_equal(staged(X8, 100), f(X8, 100))
    _refuses(staged, X8, 300, match="Python integer 300 out of bounds for int8")


SAME: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray]] = {
    "choose": (lambda m, x: m.choose(x % 2, [300, x]), X8),
    "choose unsigned": (lambda m, x: m.choose(x % 2, [x, -1]), U8),
    "linspace": (lambda m, x: m.linspace(x, 300, 3), X8),
    "linspace of halves": (lambda m, x: m.linspace(x, 3, 3), X8.astype(np.float16)),
    "insert NumPy's": (lambda m, x: m.insert(x, 1, np.int64(300)), X8),
    "initial beyond the array": (lambda m, x: m.sum(x, initial=300), X8),
    "pad": (lambda m, x: m.pad(x, ((1, 2),), constant_values=(4.5, np.int64(-7))), X8),
    "full_like of a fraction": (lambda m, x: m.full_like(x, 3.7) + m.full_like(x[0], -3.7), X8),
    "full_like of NaN": (lambda m, x: m.full_like(x, np.nan) + m.full_like(x[0], np.nan), np.arange(3)),
    "initial of booleans": (lambda m, x: m.max(x > 5, initial=5), X8),
    "add in a wider dtype": (lambda m, x: np.add(x, 300, dtype=np.int16), X8),
    "tolerance of halves": (lambda m, x: m.isclose(x * 2.0**-52, np.float16(0)), np.ones(2)),
    "tolerance of numbers": (lambda m, x: m.isclose(x, 1 + 1e-5), np.ones(2, np.float32)),
    "close to infinity": (lambda m, x: m.isclose(x * np.inf, np.inf), np.array([1.0, -1.0])),
}


@pytest.mark.parametrize("name", SAME)
def test_as_numpy(name: str) -> None:
    f, x = SAME[name]
    with np.errstate(invalid="ignore"):
        expected = f(np, x)
        results = fg.jit(lambda x: f(fnp, x))(x), fg.jit(lambda x: f(np, x), engine="numpy")(x)
    for got in results:
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


BASES = np.array([-3, -2, -1, 0, 1, 2, 5])


def test_negative_powers_of_integers() -> None:
    fail = "Integers to negative integer powers"
    powers: list[Callable[[Any], Any]] = [
        lambda n: n ** (n - 2),
        lambda n: 2 ** (n - 4),
        lambda n: np.power(n, -1),
        lambda n: n**-n,
    ]
    for f in powers:
        for function in (f, fg.jit(f), fg.jit(f, engine="numpy"), fg.jit(lambda n, f=f: fg.jit(f)(n) + 1)):
            _refuses(function, BASES, match=fail)
    _refuses(fnp.power, jnp.arange(3), jnp.arange(3) - 1, match=fail)
    power = fg.jit(lambda n, k: n**k)
    np.testing.assert_array_equal(power(BASES, abs(BASES)), BASES ** abs(BASES))
    np.testing.assert_allclose(power(BASES / 2 + 0.25, -2), (BASES / 2 + 0.25) ** -2)
    # A loop cannot hand its exponents out: as in PyTorch there is no fraction.
    in_a_loop = fg.jit(lambda n, k: fg.fori_loop(0, 1, lambda i, m: m**k, n))
    np.testing.assert_array_equal(in_a_loop(BASES, np.int64(-3)), [0, 0, -1, 0, 1, 0, 0])
