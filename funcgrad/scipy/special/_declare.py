"""Helpers of our functions: SciPy's dtypes of computation, and registration for SciPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import result_dtype
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, dtype_of, kind_of, special_functions

scipy_special = LazyModule("scipy.special")

_DOUBLE = np.dtype(float)


@lru_cache(maxsize=1024)
def scipys_dtype(name: str, kinds: tuple[Any, ...]) -> np.dtype:
    """Call SciPy to find its result dtype: float16 and Python numbers use other loops in each function."""
    values = [np.ones(1, kind) if isinstance(kind, np.dtype) else kind(1) for kind in kinds]
    function = getattr(scipy_special, name)
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(1, *values) if name == "polygamma" else function(*values)).dtype
        except TypeError:
            # The floating-point types of ml_dtypes.
            return np.dtype(float)


def real(name: str, *values: ArrayLike, called: str = "") -> tuple:
    """Return operands in SciPy's dtype for ``name``; ``called`` is our function's name, if it differs."""
    values = tuple([as_value(x) for x in values])
    # SciPy computes doubles in doubles. This is the most frequent case.
    if all(getattr(x, "dtype", None) is _DOUBLE for x in values):
        return values
    if result_dtype(*values).kind == "c":
        raise UnsupportedFunctionError(
            f"scipy.special.{called or name}: an operand is complex; funcgrad has this function for real numbers. "
            "Pass the real part, or give the complex function a rule of its own with fg.custom_vjp."
        )
    dtype = scipys_dtype(name, tuple([kind_of(x) for x in values]))
    return tuple([cast(x, dtype) for x in values])


def of_ufunc(name: str, primitive: Primitive, of_complex: Primitive | None = None) -> Callable[..., Any]:
    """Make our function for a ufunc of ``scipy.special``, which then calls it for tracers.

    Args:
        name: of the ufunc.
        primitive: the function of real numbers.
        of_complex: the function of one complex number; without it, complex numbers are refused.
    """

    def function(*xs: ArrayLike) -> Any:
        if len(xs) != len(primitive.operands):
            raise TypeError(
                f"scipy.special.{name}: {len(xs)} arguments were given. It takes {len(primitive.operands)}: "
                f"{', '.join(primitive.operands)}, by position."
            )
        if of_complex is not None and dtype_of(xs[0]).kind == "c":
            return bind(of_complex, (as_value(xs[0]),), NO_PARAMS)
        return bind(primitive, real(name, *xs), NO_PARAMS)

    return found_by(name, function)


def found_by(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function for the ufunc of ``scipy.special`` with this name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``scipy.special.{name}`` for real arrays of either engine and tracers."
    special_functions[name] = function
    return function
