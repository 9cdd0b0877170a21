"""What Python sees of a traced number: the class and the attributes of the number that it stands for.

A program asks ``isinstance(x, float)``, ``np.isscalar(x)`` or ``hasattr(x, "__len__")`` to choose a branch, so the
answers have to be those of the plain call. ``type(x)`` is the tracer's: code in C, such as ``math.sin``, looks at it,
and would drop the derivative of a subclass of float in silence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import WeakComplex, WeakFloat
from funcgrad._core.bind import NUMPY_TYPES, Tracer
from funcgrad._core.trace.place import is_number, is_place

_CLASSES: dict[type, type] = {
    **{kind: kind for kind in NUMPY_TYPES if issubclass(kind, np.generic | int | float | complex)},
    WeakFloat: float,
    WeakComplex: complex,
}
_WEAK: dict[str, type] = {"i": int, "f": float, "c": complex}


def class_of(self: Tracer) -> type:
    """Return ``x.__class__``: that of the number if the tracer stands for one, else the tracer's own."""
    # ``numpy.polynomial`` has no hook: it takes anything that is no ndarray for one point, and the number is wrong.
    # JAX and xarray compute with NumPy's numbers themselves, and leave other objects to their operators.
    asking = sys._getframe(1).f_globals.get("__name__", "")
    if self.shape:
        return np.ndarray if asking.startswith("numpy.polynomial.") else type(self)
    return type(self) if asking.startswith(("jax.", "xarray.")) else _class_of_number(self) or type(self)


def _class_of_number(x: Tracer) -> type | None:
    """Return the class of the number that a tracer without axes stands for; ``None`` if it stands for an array."""
    bare: Any = x
    # A tensor's value may be a place, which is an array.
    while isinstance(bare, Tracer) and not is_place(bare) and bare._owner.concrete:
        bare = bare._value
    if is_place(bare):
        return None
    if not isinstance(bare, Tracer):
        return _CLASSES.get(type(bare))
    try:
        if not is_number(x):
            return None
    except TypeError:
        # The functions of a `cond` differ: one returned a number, and the other an array.
        return None
    aval = bare.aval
    return _WEAK.get(aval.dtype.kind) if aval.weak else aval.dtype.type


class _NoLengthError(AttributeError, TypeError):
    """A number has no length. `hasattr` looks for the first class, and ``len`` of a number raises the second."""


class Length:
    """The method ``__len__``, which arrays have and numbers do not.

    ``__iter__`` stays: without it, Python would go through ``x[0]``, whose `IndexError` means that there is no element.
    """

    def __init__(self, method: Callable[[Any], int]) -> None:
        self._method = method

    def __get__(self, x: Tracer | None, owner: Any = None) -> Any:
        if x is None:
            return self._method
        if not x.shape and (kind := _class_of_number(x)) is not None:
            raise _NoLengthError(f"object of type '{kind.__name__}' has no len()")
        return self._method.__get__(x, owner)
