"""Python's numbers: where they are weak, where they become NumPy's, and the dtype in which an engine gets them.

A Python number is weak beside arrays in a ufunc and with an operator; everywhere else it is an array of its own dtype.
The functions that users call decide which. To primitives a weak number is no value of its own: beside arrays, which
have one dtype by then, it is a number of that dtype.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import WeakComplex, WeakFloat, aval_of

PYTHON_NUMBERS = frozenset({int, float, complex})
_WEAK_NUMBERS = frozenset({*PYTHON_NUMBERS, WeakFloat, WeakComplex})
_WITHOUT_DTYPE = _WEAK_NUMBERS | {bool}
_DIFFERENTIATED: dict[type, Any] = {float: WeakFloat, complex: WeakComplex}
_PLAIN: dict[type, Any] = {WeakFloat: np.float64, WeakComplex: np.complex128}
_WEAK_RESULTS: dict[type, Any] = {np.float64: WeakFloat, np.complex128: WeakComplex}


def array_of(x: Any) -> Any:
    """A Python number as the array that NumPy makes of it; anything else as it is."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def differentiated(x: Any) -> Any:
    """A Python float as a transform takes it in: rules divide by values, and Python's division by zero raises."""
    make = _DIFFERENTIATED.get(type(x))
    return x if make is None else make(x)


def plain(x: Any) -> Any:
    """A value as a transform hands it out: NumPy's number for a Python float that was differentiated."""
    make = _PLAIN.get(type(x))
    return x if make is None else make(x)


def keep_weak(y: Any, operands: tuple) -> Any:
    """The result of an operator of Python's: of Python's numbers alone, one of which is differentiated, it is weak."""
    kinds = set(map(type, operands))
    return _WEAK_RESULTS[type(y)](y) if kinds <= _WEAK_NUMBERS and not kinds <= PYTHON_NUMBERS else y


def typed(operands: tuple) -> tuple:
    """The operands of an elementwise primitive with Python's numbers in the dtype of the arrays beside them.

    Conditions, of dtype bool, say nothing of the dtype of numbers where there are other arrays.
    """
    if _WITHOUT_DTYPE.isdisjoint(map(type, operands)):
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


def is_weak(x: Any) -> bool:
    """Whether a value promotes as a Python number does."""
    return type(x) in _WEAK_NUMBERS or aval_of(x).weak


_RANKS = "biufc"


def _number(x: Any, dtype: np.dtype) -> Any:
    own = aval_of(x).dtype.kind
    # A zero is zero in every dtype; anything else would lose a part that the function above should have seen.
    fits = x == 0 or dtype.kind == "V" or _RANKS.index(own) <= _RANKS.index(dtype.kind)
    assert fits, f"a Python {type(x).__name__} beside {dtype.name}"
    # Of two integer dtypes of one width JAX knows the one that NumPy makes of their name.
    return np.asarray(x, np.dtype(dtype.str) if dtype.char in "qQ" else dtype)[()]


def refuse_number(x: Any, dtype: np.dtype) -> NoReturn:
    """Refuse a Python number, or what was computed of such alone, beside an array that has no room for it."""
    kind = "float" if isinstance(x, float) else "integer"
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


def require_room(x: Any, dtype: np.dtype) -> None:
    """Refuse a number of Python's that an integer dtype has no room for, NaN too; NumPy does where it puts it there."""
    bounds = np.iinfo(dtype)
    # A fraction is cut off before the number is looked at.
    if not bounds.min - 1 < x < bounds.max + 1:
        refuse_number(x, dtype)
