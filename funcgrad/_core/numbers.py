"""Python's numbers: when they are weak, when they become arrays, and which dtype an engine gets them in.

A Python number is weak in a ufunc or operator that also takes arrays. Everywhere else it is an array of its own dtype.
The functions that users call decide which case holds. In a primitive, a weak number has the dtype of the arrays among
the operands, which have one common dtype by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import FLOAT64, Aval, WeakComplex, WeakFloat, aval_of
from funcgrad._types import Value

PYTHON_NUMBERS = frozenset({int, float, complex})
_WEAK_NUMBERS = frozenset({*PYTHON_NUMBERS, WeakFloat, WeakComplex})
_WITHOUT_DTYPE = _WEAK_NUMBERS | {bool}
_DIFFERENTIATED: dict[type, Any] = {float: WeakFloat, complex: WeakComplex}
_PLAIN: dict[type, Any] = {WeakFloat: np.float64, WeakComplex: np.complex128}
_WEAK_RESULTS: dict[type, Any] = {np.float64: WeakFloat, np.complex128: WeakComplex}


def array_of(x: Value) -> Any:
    """Return a Python number as NumPy's array of it, and anything else unchanged."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def differentiated(x: Value) -> Any:
    """Wrap a Python float that a transform differentiates.

    Rules divide by values, and Python's division by zero raises.
    """
    make = _DIFFERENTIATED.get(type(x))
    return x if make is None else make(x)


def plain(x: Value) -> Any:
    """Unwrap a result of a transform: a Python float that was differentiated becomes NumPy's number."""
    make = _PLAIN.get(type(x))
    return x if make is None else make(x)


def keep_weak(y: Value, operands: tuple) -> Any:
    """Mark an operator's result as weak if all operands are Python's numbers and one is differentiated."""
    kinds = set(map(type, operands))
    return _WEAK_RESULTS[type(y)](y) if kinds <= _WEAK_NUMBERS and not kinds <= PYTHON_NUMBERS else y


def weak_where(ys: Sequence[Any], avals: Iterable[Aval]) -> list[Any]:
    """Mark those results of a program as weak whose avals are weak. A program computes them as NumPy's numbers."""
    return [
        _WEAK_RESULTS[type(y)](y) if aval.weak and type(y) in _WEAK_RESULTS else y
        for y, aval in zip(ys, avals, strict=True)
    ]


def number_of(y: Value) -> Any:
    """Return a result without derivative as the user gets it: a weak number as Python's number.

    NumPy would promote a `WeakFloat` as ``np.float64``, because only our own functions know that it is weak.
    """
    return y.item() if type(y) in _PLAIN else y


def has_number(operands: tuple) -> bool:
    """Return whether a Python number or bool is among the operands."""
    return not _WITHOUT_DTYPE.isdisjoint(map(type, operands))


def typed(operands: tuple) -> tuple:
    """Return the operands of an elementwise primitive, with Python's numbers in the dtype of the arrays.

    Bool conditions do not decide the dtype if there are other arrays.
    """
    if not has_number(operands):
        return operands
    if any(type(x) is bool for x in operands):
        operands = tuple([np.bool_(x) if type(x) is bool else x for x in operands])
    if not any(type(x) in _WEAK_NUMBERS for x in operands):
        return operands
    dtypes = {x.dtype for x in operands if type(x) not in _WEAK_NUMBERS}
    values = {dtype for dtype in dtypes if dtype.kind != "b"} or dtypes
    assert len(values) == 1, "the arrays beside a Python number have several dtypes, or there are none"
    (dtype,) = values
    return tuple([_number(x, dtype) if type(x) in _WEAK_NUMBERS else x for x in operands])


def is_weak(x: Value) -> bool:
    """Return whether a value is promoted as a Python number is."""
    return type(x) in _WEAK_NUMBERS or aval_of(x).weak


_RANKS = "biufc"


def _number(x: Value, dtype: np.dtype) -> Any:
    if type(x) is float and dtype is FLOAT64:
        return np.float64(x)
    own = aval_of(x).dtype.kind
    # Zero is zero in every dtype. Any other number would lose a part, which the caller should have checked.
    fits = x == 0 or dtype.kind == "V" or _RANKS.index(own) <= _RANKS.index(dtype.kind)
    assert fits, f"a Python {type(x).__name__} beside {dtype.name}"
    # Two integer dtypes may have the same width. JAX knows only the one that NumPy makes from the name.
    return np.asarray(x, np.dtype(dtype.str) if dtype.char in "qQ" else dtype)[()]


def refuse_number(x: Value, dtype: np.dtype) -> NoReturn:
    """Refuse a Python number, or a result of Python numbers alone, that the dtype of the array cannot hold."""
    kind = "float" if issubclass(type(x), float) else "integer"
    raise OverflowError(
        f"Python {kind} {x} out of bounds for {dtype.name}, the dtype of the array beside it. It is not wrapped, as "
        "NumPy does not; cast the array to a wider dtype first."
    )


def refuse_exponent(exponent: int) -> NoReturn:
    """Refuse a negative power of integers, as NumPy does."""
    raise ValueError(
        f"Integers to negative integer powers are not allowed: an exponent is {exponent}, needed 0 or more, since the "
        "result would be an integer too. Make the base a float with .astype(float)."
    )


def require_room(x: Value, dtype: np.dtype) -> None:
    """Refuse a Python number that an integer dtype cannot hold, including NaN. NumPy refuses it when it stores it."""
    bounds = np.iinfo(dtype)
    # The fraction is cut off before the bounds are checked.
    if not bounds.min - 1 < x < bounds.max + 1:
        refuse_number(x, dtype)
