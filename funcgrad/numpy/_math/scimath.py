"""``numpy.emath``: functions whose results become complex where a real number has a complex result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import ArrayLike
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements


def _widened(x: ArrayLike, is_outside: Callable[[Any], Any], complex_dtype: bool = True) -> Any:
    """Return a value with a complex dtype (or as floats) if one of its numbers is real and outside the domain.

    Which dtype it has depends on the numbers, so they have to be known, or followed by ``fg.jit(f, paths=n)``.
    """
    x = strong(as_value(x))
    if x.dtype.kind == "c" or not bool(np.any(is_outside(x))):
        return x
    if not complex_dtype:
        return x * 1.0
    return x.astype(np.complex64 if x.dtype.char in "fbhBH" else np.complex128)


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_beyond_one(x: Any) -> Any:
    return abs(x) > 1


def _of_one(numpys: Callable[..., Any], function: Any, is_outside: Callable[[Any], Any]) -> None:
    implements(numpys)(lambda x: function(_widened(x, is_outside)))


for _numpys, _function in (
    (np.emath.sqrt, np.sqrt),
    (np.emath.log, np.log),
    (np.emath.log2, np.log2),
    (np.emath.log10, np.log10),
):
    _of_one(_numpys, _function, _is_negative)
for _numpys, _function in (
    (np.emath.arccos, np.arccos),
    (np.emath.arcsin, np.arcsin),
    (np.emath.arctanh, np.arctanh),
):
    _of_one(_numpys, _function, _is_beyond_one)


@implements(np.emath.logn)
def _logn(n: ArrayLike, x: ArrayLike) -> Any:
    return np.log(_widened(x, _is_negative)) / np.log(_widened(n, _is_negative))


@implements(np.emath.power)
def _power(x: ArrayLike, p: ArrayLike) -> Any:
    return np.power(_widened(x, _is_negative), _widened(p, _is_negative, complex_dtype=False))
