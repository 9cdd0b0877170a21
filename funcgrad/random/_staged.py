"""Warn if a staged function draws from ``numpy.random``: its numbers become constants of the program.

The check covers NumPy's global state, and the generators that a function, or one that it calls by name, has in its
closure, its globals and its defaults, and in the attributes and containers there. It does not search deeper.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad._core.tracebacks import caller_level
from funcgrad._types import ArrayLike
from funcgrad.errors import StagedRandomWarning

# The largest number of functions to search. A call into a large library could lead to many more.
_MOST = 200
# Modules whose globals hold no generators of the user's.
_LIBRARIES = ("funcgrad.", "numpy.", "jax.", "scipy.")
# Represents the state behind ``np.random.normal`` and the other functions of the module.
_GLOBAL = object()


class DrawCheck:
    """A context manager around the staging of ``f``. It warns at the end if ``f`` drew.

    Comparing the global state takes 0.2 ms. The bodies of loops (``is_body``) are staged at every call. So for these
    the state is compared only if a function names NumPy's ``random``, and not at all inside another check.
    """

    __slots__ = ("_before", "_name", "_sources", "_token", "_transform", "warned")

    def __init__(self, transform: str, name: str, f: Callable[..., Any], *, is_body: bool = False) -> None:
        self._transform = transform
        self._name = name
        found, named = ([], False) if is_body and _running.get() else _generators(f)
        self._sources = [_GLOBAL, *found] if named or not is_body else found
        # Whether a staging inside this one has warned already.
        self.warned = False

    def __enter__(self) -> None:
        self._before = [_position(source) for source in self._sources]
        self._token: Token = _running.set((*_running.get(), self))

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        _running.reset(self._token)
        if error is not None or self.warned:
            return
        drawn = next((s for s, was in zip(self._sources, self._before, strict=True) if _has_moved(s, was)), None)
        if drawn is None:
            return
        for outer in _running.get():
            outer.warned = True
        what = "NumPy's global state, np.random" if drawn is _GLOBAL else f"a numpy.random.{type(drawn).__name__}"
        warnings.warn(
            f"{self._transform}: {self._name} drew random numbers from {what}, while it was staged. They are "
            "constants of the program, the same in every run. Pass a key and draw from it: fg.random.normal(key, "
            "shape). Or pass the numbers as an argument.",
            StagedRandomWarning,
            stacklevel=caller_level(),
        )


_running: ContextVar[tuple[DrawCheck, ...]] = ContextVar("funcgrad_numpys_random", default=())


def _position(source: Any) -> Any:
    """Return the state of a source of random numbers, which changes with each draw."""
    if source is _GLOBAL:
        # NumPy imports the module when it is first used.
        random = sys.modules.get("numpy.random")
        return _comparable(random.get_state(legacy=False)) if random else None
    return _comparable(source.get_state(legacy=False) if hasattr(source, "get_state") else source.bit_generator.state)


def _has_moved(source: Any, was: Any) -> bool:
    now = _position(source)
    if was is None and now is not None:
        # The module was imported since. Its seed is random, so compare only the position in the state with a fresh one.
        fresh = np.random.RandomState().get_state(legacy=False)
        return now["state"]["pos"] != fresh["state"]["pos"]
    return now != was


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _comparable(value) for key, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _generators(f: Any) -> tuple[list[Any], bool]:
    """Return the ``numpy.random`` generators that a function refers to, and whether it names that module."""
    random = sys.modules.get("numpy.random")
    kinds = (random.Generator, random.RandomState) if random else ()
    found, seen, todo, named = [], set(), [f], False
    while todo and len(seen) < _MOST:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, kinds):
            found.append(value)
        elif not isinstance(value, _FUNCTIONS):
            todo.extend(each for each in _held_by(value) if isinstance(each, kinds))
        else:
            named = named or (isinstance(value, FunctionType) and _speaks_of(random, value))
            todo.extend(_named_by(value))
    return found, named


def _held_by(value: ArrayLike) -> Iterable[Any]:
    """Return the attributes of an object, or the elements of a container."""
    if isinstance(value, list | tuple):
        return value[:_MOST]
    if not isinstance(value, dict):
        value = {} if isinstance(value, ModuleType | type) else getattr(value, "__dict__", {})
    return itertools.islice(value.values(), _MOST)


def _speaks_of(random: Any, function: FunctionType) -> bool:
    names = function.__code__.co_names
    wanted = [id(np)] if "random" in names else []
    if random is not None:
        wanted.append(id(random))
    return any(id(function.__globals__.get(name)) in wanted for name in names)


# ``np.random.normal`` itself is a method of the global state.
_FUNCTIONS = (FunctionType, MethodType, BuiltinMethodType, functools.partial)


def _named_by(function: Any) -> Iterator[Any]:
    """Return the objects that a function names, or that a partial function or a method holds."""
    if isinstance(function, MethodType):
        yield from (function.__func__, function.__self__)
    elif isinstance(function, BuiltinMethodType):
        yield function.__self__
    elif isinstance(function, functools.partial):
        yield from (function.func, *function.args, *function.keywords.values())
    else:
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        yield from _contents(function)
        if not f"{function.__module__}.".startswith(_LIBRARIES):
            yield from (function.__globals__.get(name) for name in function.__code__.co_names)


def _contents(function: FunctionType) -> Iterator[Any]:
    """Return the values of a function's closure."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # A name that is not bound yet, or is deleted, has no value.
            yield cell.cell_contents
