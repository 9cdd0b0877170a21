"""Every ufunc at special values, in every dtype, on every engine: value, dtype, and the sign of a zero, as NumPy's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.numpy._base.dispatch import ufuncs

LETTERS = "?bBhHiIqQefdFD"
ENGINES = ["eager", "numpy", "xla", pytest.param("numba", marks=pytest.mark.long)]


def _special(letter: str) -> np.ndarray:
    dtype = np.dtype(letter)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array(sorted({0, 1, 3, 7, limits.min, limits.max, *([-1, -2] if dtype.kind == "i" else [])}), dtype)
    limits = np.finfo(dtype)
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, float(limits.max), float(limits.tiny)]
    if dtype.kind == "f":
        return np.array(reals, dtype)
    parts = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)


def _loops(ufunc: np.ufunc, letter: str) -> bool:
    """Whether NumPy computes it for operands of this dtype."""
    x = np.ones(1, letter)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ufunc(*[x] * ufunc.nin)
    except TypeError:
        return False
    return True


def _functions(letter: str) -> list[np.ufunc]:
    known = [f for f in ufuncs if isinstance(f, np.ufunc) and f.nin in (1, 2) and f.signature is None and f.__name__]
    return sorted({f for f in known if _loops(f, letter)}, key=lambda f: f.__name__)


def _operands(letter: str) -> tuple[np.ndarray, np.ndarray]:
    values = _special(letter)
    if values.dtype.kind == "c":
        # All pairs would be thousands.
        return values, np.roll(values, 11)
    pairs = np.array(list(itertools.product(values, values)), values.dtype)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _call(f: np.ufunc, x: Any, y: Any) -> list[Any]:
    if f.__name__ in {"power", "float_power"} and np.dtype(x.dtype).kind in "iu":
        # NumPy raises for a negative exponent, a program cannot.
        y = np.abs(y) % 5
    if f.__name__ in {"left_shift", "right_shift"}:
        y = np.abs(y) % 5
    results = f(x) if f.nin == 1 else f(x, y)
    return list(results) if isinstance(results, tuple) else [results]


def differing(f: np.ufunc, letter: str, got: list[Any], x: np.ndarray, y: np.ndarray, engine: str) -> list[str]:
    """What is not as NumPy has it, in words."""
    found = []
    for i, (ours, numpys) in enumerate(zip(got, _call(f, x, y), strict=True)):
        ours = np.asarray(ours)
        if ours.dtype != numpys.dtype or ours.shape != numpys.shape:
            found.append(f"{ours.dtype}{ours.shape} for {numpys.dtype}{numpys.shape}")
            continue
        bad = ~_alike(ours, numpys)
        for k in np.flatnonzero(bad):
            operands = x[k] if f.nin == 1 else (x[k], y[k])
            found.append(f"{f.__name__}[{i}] of {operands!r}: {ours[k]!r} for {numpys[k]!r}")
    return found


def _alike(ours: np.ndarray, numpys: np.ndarray) -> np.ndarray:
    if ours.dtype.kind == "c":
        return _alike(ours.real, numpys.real) & _alike(ours.imag, numpys.imag)
    if ours.dtype.kind != "f":
        return ours == numpys
    near = np.isclose(ours, numpys, rtol=32 * float(np.finfo(ours.dtype).eps), atol=0, equal_nan=True)
    return near & ((numpys != 0) | (np.signbit(ours) == np.signbit(numpys)))


def _ran(functions: list[np.ufunc], engine: str, x: np.ndarray, y: np.ndarray) -> list[list[Any]]:
    def program(x: Any, y: Any) -> list[list[Any]]:
        return [_call(f, x, y) for f in functions]

    if engine != "eager":
        return fg.jit(program, engine=engine)(x, y)
    if x.dtype.kind not in "fc":
        pytest.skip("arrays of integers are plain where nothing is staged")
    return fg.jvp(program, (x, y), (x * 0, y * 0))[0]
