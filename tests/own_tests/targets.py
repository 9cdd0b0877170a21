"""The public functions whose calls are recorded, each with the function that is called on traced values."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import funcgrad as fg
import funcgrad.scipy
from tests.laws._coverage_calls import NO_ARRAYS
from tests.laws._coverage_rows import MODULES, functions
from tests.own_tests.rewrite import OPERATORS

# Modules within the modules of funcgrad.scipy.
_NESTED = ("signal.windows", "sparse.linalg", "spatial.distance")
# They return memory, bytes and text, or change an array's own memory: a traced array refuses them by design.
_ABOUT_MEMORY = {
    *("byteswap", "dump", "dumps", "getfield", "setfield", "setflags", "tobytes", "tofile", "to_device", "view"),
    *("resize", "tolist", "item"),
}
_METHODS = {
    name
    for name in dir(np.ndarray)
    if hasattr(fg.Tracer, name) and not name.startswith("_") and name not in _ABOUT_MEMORY
}
_UFUNC_METHODS = {"accumulate", "at", "outer", "reduce", "reduceat"}
# Random numbers, numerical searches and tables of a distribution.
_DRAWN = {"rvs", "fit", "expect"}


class Target(NamedTuple):
    """A function of NumPy's or SciPy's, and the one that is compared with it."""

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]

    @property
    def by_elements(self) -> bool:
        """Whether each element of the result is a function of the elements in its place."""
        return isinstance(self.theirs, np.ufunc) or self.theirs in OPERATORS - {operator.matmul, operator.getitem}

    @property
    def takes_numbers(self) -> bool:
        """Whether Python numbers among its arguments stand for values, and not for options."""
        return self.by_elements or self.name.startswith("scipy.stats.")


def _numpys() -> dict[int, Target]:
    found = {}
    for module in MODULES:
        if module != "numpy.random":
            for name, f in functions(module):
                if name not in NO_ARRAYS:
                    found[id(f)] = Target(f"{module}.{name}", f, f)
    return found


def _scipys() -> dict[int, Target]:
    found = {}
    for room in (*funcgrad.scipy.__all__, *_NESTED):
        ours, theirs = (importlib.import_module(f"{package}.{room}") for package in ("funcgrad.scipy", "scipy"))
        for name in ours.__all__:
            f, g = getattr(theirs, name, None), getattr(ours, name)
            if isinstance(f, FunctionType | np.ufunc) and not isinstance(g, ModuleType | type) and f is not g:
                found[id(f)] = Target(f"scipy.{room}.{name}", f, g)
    return found


_TABLE = {**{id(f): Target(f"operator.{f.__name__}", f, f) for f in OPERATORS}, **_numpys(), **_scipys()}


def target_of(f: Any, args: tuple[Any, ...]) -> tuple[Target, tuple[Any, ...]] | None:
    """The target that a call in a test module means, and its arguments; a method's object is the first of them."""
    target = _TABLE.get(id(f))
    if target is not None:
        return target, args
    if type(f) is BuiltinMethodType:
        owner, name = f.__self__, f.__name__
        if isinstance(owner, np.ufunc) and name in _UFUNC_METHODS:
            known = _TABLE.get(id(owner))
            return known and (Target(f"{known.name}.{name}", f, getattr(known.ours, name, f)), args)
        if type(owner) is np.ndarray and name in _METHODS:
            return Target(f"ndarray.{name}", _method(name), _method(name)), (owner, *args)
        return None
    return _distribution(f, args) if type(f) is MethodType else None


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


def _distribution(f: MethodType, args: tuple[Any, ...]) -> tuple[Target, tuple[Any, ...]] | None:
    """A method of one of SciPy's distributions, which may hold its parameters."""
    owner: Any = f.__self__
    name = f.__name__
    dist = getattr(owner, "dist", owner)
    ours = getattr(funcgrad.scipy.stats, getattr(dist, "name", None) or "", None)
    if name.startswith("_") or name in _DRAWN or not hasattr(ours, name):
        return None
    if getattr(scipy.stats, dist.name, None) is not dist and dist is owner:
        return None
    title = f"scipy.stats.{dist.name}.{name}"
    if dist is owner:
        return Target(title, f, getattr(ours, name)), args
    if owner.kwds:
        return None
    return Target(title, getattr(dist, name), getattr(ours, name)), (*args, *owner.args)
