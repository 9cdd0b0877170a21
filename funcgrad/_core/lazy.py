"""Modules that are imported when they are first used: most programs never use them, and all would wait for them."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module by name; what is asked of it is remembered.

    ``scipy.special`` costs 150 ms and ``opt_einsum`` 10, where all of funcgrad costs 80.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
