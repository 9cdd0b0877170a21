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
    # NumPy's own: the table has SciPy's ufuncs too, once they have met a traced value.
    numpys = [f for f in ufuncs if getattr(np, f.__name__, None) is f]
    known = [f for f in numpys if f.nin in (1, 2) and f.signature is None]
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


def _zeros(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x == 0) & (y == 0)


def _not_plain(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    parts = [part for z in (x, y) for part in (np.real(z), np.imag(z))]
    return np.logical_or.reduce([~np.isfinite(part) | (part == 0) for part in parts])


def _zero(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x == 0


def _always(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.ones(x.shape, bool)


def _not_finite(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ~np.isfinite(x)


_COMPLEX = "cos cosh divide exp exp2 float_power power reciprocal sin sinh tan tanh true_divide"
_WITH_CUTS = "arccos arccosh arcsin arcsinh arctan arctanh sqrt"
# Cases in which XLA differs from NumPy: the dtypes, the functions, the operands, and the reason.
EXCEPTIONS: list[tuple[str, str, Callable[[np.ndarray, np.ndarray], np.ndarray], str]] = [
    ("efd", "maximum minimum fmax fmin nextafter", _zeros, "which of two zeros it is depends on NumPy's loop too"),
    ("?bBhHiIqQ", "reciprocal", _zero, "C leaves open which integer an infinity becomes"),
    ("?bBe", "spacing", _always, "NumPy's in half precision has another sign, and other steps at powers of two"),
    ("FD", _COMPLEX, _not_plain, "XLA's functions follow other rules at zeros, infinities and NaN"),
    ("FD", _WITH_CUTS, _not_finite, "XLA's functions follow other rules at infinities and NaN"),
]


def _excused(f: np.ufunc, letter: str, x: np.ndarray, y: np.ndarray, engine: str) -> np.ndarray:
    excused = np.zeros(x.shape, bool)
    for letters, names, where, _ in EXCEPTIONS:
        if engine == "xla" and letter in letters and f.__name__ in names.split():
            excused |= where(x, y)
    return excused


def differing(f: np.ufunc, letter: str, got: list[Any], x: np.ndarray, y: np.ndarray, engine: str) -> list[str]:
    """Return the differences from NumPy in words."""
    found = []
    excused = _excused(f, letter, x, y if f.nin == 2 else x, engine)
    for i, (ours, numpys) in enumerate(zip(map(np.asarray, got), _call(f, x, y), strict=True)):
        if ours.dtype != numpys.dtype or ours.shape != numpys.shape:
            found.append(f"{f.__name__}[{i}]: {ours.dtype}{ours.shape} for {numpys.dtype}{numpys.shape}")
            continue
        for k in np.flatnonzero(~_alike(ours, numpys, engine) & ~excused):
            operands = x[k] if f.nin == 1 else (x[k], y[k])
            found.append(f"{f.__name__}[{i}] of {operands!r}: {ours[k]!r} for {numpys[k]!r}")
    return found


def _alike(ours: np.ndarray, numpys: np.ndarray, engine: str) -> np.ndarray:
    if ours.dtype.kind == "c":
        return _alike(np.real(ours), np.real(numpys), engine) & _alike(np.imag(ours), np.imag(numpys), engine)
    if ours.dtype.kind != "f":
        return ours == numpys
    limits = np.finfo(ours.dtype)
    # XLA's programs on a CPU have no subnormal numbers.
    least = 4 * float(limits.tiny) if engine == "xla" else 0.0
    # XLA computes the cube root of the greatest number by a logarithm near 700.
    digits = 1024 if engine == "xla" and ours.dtype.itemsize > 2 else 32
    near = np.isclose(ours, numpys, rtol=digits * float(limits.eps), atol=least, equal_nan=True)
    return near & ((numpys != 0) | (np.signbit(ours) == np.signbit(numpys)))


def _ran(functions: list[np.ufunc], engine: str, x: np.ndarray, y: np.ndarray) -> list[list[Any]]:
    def program(x: Any, y: Any) -> list[list[Any]]:
        return [_call(f, x, y) for f in functions]

    if engine != "eager":
        return fg.jit(program, engine=engine)(x, y)
    return fg.jvp(program, (x, y), (np.zeros_like(x), np.zeros_like(y)))[0]


def _cases() -> list[Any]:
    cases = [pytest.param("eager", letter, id=f"eager-{letter}") for letter in "efdFD"]
    for engine in ("numpy", "xla", "numba"):
        for letter in LETTERS:
            # A program of all ufuncs takes XLA and Numba ten seconds to compile.
            dear = engine == "numba" or (engine == "xla" and letter != "d")
            marks = [pytest.mark.long] if dear else []
            cases.append(pytest.param(engine, letter, id=f"{engine}-{letter}", marks=marks))
    return cases


@pytest.mark.parametrize(("engine", "letter"), _cases())
def test_ufuncs_at_special_values(engine: str, letter: str) -> None:
    # A function that follows its argument only by rounding has no derivative.
    functions = [f for f in _functions(letter) if engine != "eager" or f is not np.nextafter]
    assert len(functions) > 50
    x, y = _operands(letter)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = []
        for f, got in zip(functions, _ran(functions, engine, x, y), strict=True):
            found += differing(f, letter, got, x, y, engine)
    assert not found, "\n".join(found[:20])
