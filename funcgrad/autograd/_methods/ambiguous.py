"""Methods with different meanings in NumPy and PyTorch. They are refused unless the call says which one is meant.

Functions (``np.std(t)``) have NumPy's meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from funcgrad import numpy as fnp


def _refuse(self: Any, name: str, difference: str, remedy: str) -> NoReturn:
    raise TypeError(f"{name}: of a tensor {self.aval} nothing says which result is meant; {difference}. {remedy}")


def _extremum(name: str) -> Callable[..., Any]:
    function = getattr(fnp, name)

    def method(self: Any, *dim: Any, **options: Any) -> Any:
        if dim or "dim" in options:
            _refuse(
                self,
                name,
                "along an axis PyTorch's gives values and indices, NumPy's the values",
                f"Write t.{name}(axis=0) for the values, and t.arg{name}(dim=0) for the indices.",
            )
        return function(self, **options)

    method.__doc__ = f"Return the {name} of all elements, or along ``axis=``."
    return method


def _spread(name: str) -> Callable[..., Any]:
    function = getattr(fnp, name)

    def method(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False, **options: Any) -> Any:
        if correction is not None:
            options["ddof"] = correction
        if options.keys().isdisjoint(("ddof", "mean")) and "unbiased" in options:
            options["ddof"] = int(options.pop("unbiased"))
        if "ddof" not in options:
            _refuse(
                self,
                name,
                "NumPy's divides by the number of elements, PyTorch's by one less",
                f"Write t.{name}(correction=1) for PyTorch's, and np.{name}(t) or t.{name}(ddof=0) for NumPy's.",
            )
        axis = options.pop("axis", dim)
        return function(self, axis=axis, keepdims=options.pop("keepdims", keepdim), **options)

    method.__doc__ = f"Return the {name}; ``ddof=``, or ``correction=``, is to be given."
    return method


def repeat(self: Any, *repeats: Any, axis: Any = None) -> Any:
    """Repeat elements along ``axis=``, which must be given."""
    if axis is None or len(repeats) != 1:
        _refuse(
            self,
            "repeat",
            "NumPy's repeats each element, PyTorch's the whole",
            "Write np.repeat(t, n) or t.repeat(n, axis=0) for NumPy's, and np.tile(t, (n, m)) for PyTorch's.",
        )
    return fnp.repeat(self, repeats[0], axis)


def nonzero(self: Any) -> NoReturn:
    """Refuse: PyTorch's result has another layout than NumPy's."""
    _refuse(
        self,
        "nonzero",
        "NumPy's gives an array for each axis, PyTorch's a row for each element",
        "Write np.nonzero(t) for NumPy's, and np.argwhere(t) for PyTorch's.",
    )


METHODS: dict[str, Callable[..., Any]] = {
    "max": _extremum("max"),
    "min": _extremum("min"),
    "std": _spread("std"),
    "var": _spread("var"),
    "repeat": repeat,
    "nonzero": nonzero,
}
