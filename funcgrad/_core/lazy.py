"""Modules that are imported when they are first used. Most programs never use them, and importing them takes time."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

# The modules that write reports of graphs, by the names of the graphs' methods and of the report functions.
REPORTS: dict[str, str] = {}
# Modules of NumPy's and SciPy's, and the room of ours that implements each. The room is loaded when one of the module's
# functions first meets a traced value. "primitives" is the room that declares the library's primitives.
implementing_rooms: dict[str, str] = {}


def load(name: str) -> Any:
    """Return a module by its name, and import it if needed."""
    return importlib.import_module(name)


@functools.cache
def is_since(name: str, version: str) -> bool:
    """Return whether a library, such as NumPy, is of a version, such as ``"2.5.0"``, or a later one."""
    return np.lib.NumpyVersion(load(name).__version__) >= version


class LazyModule:
    """Stands for a module by name. It keeps the attributes that were read.

    Importing ``scipy.special`` takes 150 ms and ``opt_einsum`` 10 ms; all of funcgrad takes 80 ms.
    """

    def __init__(self, name: str) -> None:
        self.module_name = name

    def __getattr__(self, attribute: str) -> Any:
        # Doctest asks all objects of a module for this attribute (`inspect.unwrap`). A module that is not installed
        # must not be imported then.
        if attribute == "__wrapped__":
            raise AttributeError(f"LazyModule of {self.module_name} has no attribute {attribute!r}")
        value = getattr(load(self.module_name), attribute)
        setattr(self, attribute, value)
        return value
