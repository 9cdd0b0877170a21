"""The names of ``numpy`` that ``funcgrad.numpy`` does not write out: types, constants, windows, files, printing."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad.numpy._base.dispatch import functions
from funcgrad.numpy._base.plain import shortcut

# SciPy asks a namespace for this extension if SCIPY_ARRAY_API=1. It is no public name here.
_special = LazyModule("funcgrad.scipy.special._array_api")
# Code asks Array API namespaces about themselves by these functions. NumPy 2.0 lacks some.
array_api = {name: vars(np)[name] for name in ("__array_api_version__", "__array_namespace_info__") if name in vars(np)}


@functools.cache
def of_numpys(name: str) -> Any:
    """Return the value of a public name of NumPy's: our function for its makers of arrays, else NumPy's object.

    Raises:
        AttributeError: NumPy has no such name either.
    """
    if name == "special":
        return _special
    if name not in np.__all__:
        raise AttributeError(f"module 'funcgrad.numpy' has no attribute {name!r}, and numpy has no public one.")
    found = getattr(np, name)
    # For traced arguments NumPy's protocols call our functions, except where an array is made.
    ours = functions.get(found) if callable(found) and not hasattr(found, "_implementation") else None
    return found if ours is None else functools.update_wrapper(shortcut(ours, found), found)
