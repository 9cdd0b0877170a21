"""Polynomials by their coefficients: ``numpy.polyval`` and the functions beside it."""

from __future__ import annotations

from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._ops.layout.shape import reshape
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import in_numpys_mode, late_functions
from funcgrad.numpy._layout.shape import as_array


@in_numpys_mode
def polyval2d(x: Any, y: Any, c: Any) -> Any:
    """``numpy.polynomial.polynomial.polyval2d``: it has a hook, unlike the functions beside it."""
    x, y = as_array(as_value(x)), as_array(as_value(y))
    if x.shape != y.shape:
        raise ValueError(f"polyval2d: x, y are incompatible: {aval_of(x)} and {aval_of(y)}; needed one shape.")
    return _series(y, _series(x, _table(c), tensor=True), tensor=False)


@in_numpys_mode
def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    """``numpy.polynomial.polynomial.polygrid2d``: it has a hook, unlike the functions beside it."""
    return _series(as_array(as_value(y)), _series(as_array(as_value(x)), _table(c), tensor=True), tensor=True)


def _table(c: Any) -> Any:
    """Coefficients of at least one power."""
    c = as_array(as_value(c))
    return c if c.shape else reshape(c, (1,))


def _series(x: Any, c: Any, *, tensor: bool) -> Any:
    """Horner's rule with coefficients from the lowest power on, along the first axis of ``c``."""
    if not c.shape:
        c = reshape(c, (1,))
    if tensor:
        c = reshape(c, (*c.shape, *(1,) * len(x.shape)))
    y = c[-1] + x * 0
    for i in range(2, c.shape[0] + 1):
        y = c[-i] + y * x
    return y


for _function in (polyval2d, polygrid2d):
    late_functions[f"numpy.polynomial.polynomial.{_function.__name__}"] = _function
