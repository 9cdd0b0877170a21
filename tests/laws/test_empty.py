"""Arrays without elements: values, shapes and dtypes are NumPy's, and no derivative is NaN or anything but zero."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.scipy.special
from funcgrad.errors import (
    ConcretizationTypeError,
    NotDifferentiableError,
    TracerArrayConversionError,
    UnsupportedFunctionError,
)
from funcgrad.tree import leaves

SHAPES = [(0,), (0, 3), (2, 0, 3)]
CALLS: dict[str, Callable[..., Any]] = {
    "x": lambda f, x: f(x),
    "x, axis=0": lambda f, x: f(x, axis=0),
    "x, axis=-1": lambda f, x: f(x, axis=-1),
    "x, keepdims=True": lambda f, x: f(x, keepdims=True),
    "x, x": lambda f, x: f(x, x),
    "x, 1.0": lambda f, x: f(x, 1.0),
}
REFUSALS = ConcretizationTypeError, NotDifferentiableError, TracerArrayConversionError, UnsupportedFunctionError
# Functions with other answers, each with the reason.
OTHERS = {
    "array": "an array of objects, since NumPy has no hook for it",
    "asarray": "an array of objects, since NumPy has no hook for it",
    "empty": "its elements are any numbers",
    "histogram": "refused: bins without edges",
    "trim_zeros": "refused for more than one axis",
    "linalg.tensorsolve": "refused for a matrix that is not square",
}


def _names() -> list[str]:
    modules = {"": fnp, "linalg.": fnp.linalg, "fft.": fnp.fft}
    names = [f"{prefix}{name}" for prefix, module in modules.items() for name in module.__all__]
    return [f"numpy.{name}" for name in names if name not in OTHERS] + [
        f"special.{name}" for name in funcgrad.scipy.special.__all__
    ]


def _theirs(name: str) -> Any:
    """NumPy's or SciPy's function of this name; ``None`` if this release has none, or it is a type."""
    room, _, rest = name.partition(".")
    found: Any = {"numpy": np, "special": scipy.special}[room]
    for part in rest.split("."):
        found = getattr(found, part, None)
    return None if isinstance(found, type) or not callable(found) else found


def _floats(y: Any) -> list[Any]:
    return [each for each in leaves(y) if hasattr(each, "dtype") and each.dtype.kind in "fc"]


def _wrong(f: Callable[[Any], list[Any]], x: np.ndarray) -> str | None:
    """Return how a function and its derivatives differ at an empty array; ``None`` if NumPy refuses the call."""
    try:
        plain = f(x)
    except Exception:  # noqa: BLE001  (what NumPy does not answer may raise anything)
        return None
    try:
        ys, dots = fg.jvp(f, (x,), (x,))
        again, pull = fg.vjp(f, x)
    except REFUSALS:
        # It is refused in words, as for other arrays.
        return None
    (bar,) = pull([np.ones_like(y) for y in ys])
    if len(ys) != len(plain):
        return f"there are {len(ys)} results; needed {len(plain)}"
    for y, z, dot, expected in zip(ys, again, dots, plain, strict=True):
        kinds = [(np.shape(each), np.asarray(each).dtype) for each in (y, z, expected)]
        if len(set(kinds)) > 1 or not all(np.array_equal(each, expected, equal_nan=True) for each in (y, z)):
            return f"the value is {y}, {z}; needed {expected}"
        if np.shape(dot) != np.shape(expected) or np.any(dot != 0):
            return f"the tangent is {dot}; needed zeros"
    return None if bar.shape == x.shape else f"the cotangent has the shape {bar.shape}"


@pytest.mark.parametrize("part", range(4))
def test_derivatives_by_nothing_are_zero(part: int) -> None:
    wrong = []
    for name in _names()[part::4]:
        theirs = _theirs(name)
        for text, call in CALLS.items():
            for shape in SHAPES if theirs is not None else ():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = _wrong(lambda x, call=call, theirs=theirs: _floats(call(theirs, x)), np.zeros(shape))
                if found:
                    wrong.append(f"{name}({text}) of {shape}: {found}")
    assert not wrong, "\n".join(wrong)
