"""Replace SciPy's functions inside ``fg.intercept()``: for traced values they call those of ``funcgrad.scipy``.

There is no list of functions: each public function of ``funcgrad.scipy.special`` replaces the one of that name in
``scipy.special``, and so on for every module here. Ufuncs are not replaced, because they find ours by NumPy's protocol.
A distribution is an object with methods in its classes, which call ours for traced arguments.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from funcgrad._core.lazy import load
from funcgrad.numpy.extend import StandIns, holds_tracer, is_intercepted
from funcgrad.scipy._classes import Asked, answering, standing

Call = Callable[..., Any]

_PACKAGE = "funcgrad.scipy"
# These functions call a user's function, whose closure may hold traced values; ours search it.
_CALLING = ("integrate", "optimize")
# Modules that contain modules.
_NESTED = ("signal.windows", "sparse.linalg", "spatial.distance")


def _is_ours(args: tuple, kwargs: dict[str, Any]) -> bool:
    return is_intercepted() and any(map(holds_tracer, (*args, *kwargs.values())))


def _stand_in(theirs: Call, ours: Call, is_ours: Asked = _is_ours) -> Call:
    # A ufunc takes ``out`` and the other options, and finds ours. SciPy decorates its ufuncs if SCIPY_ARRAY_API=1.
    within = getattr(theirs, "__wrapped__", None) if isinstance(theirs, FunctionType) else None
    ours = within if isinstance(within, np.ufunc) else ours

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs) if is_ours(args, kwargs) else theirs(*args, **kwargs)

    return call


def _calling(theirs: Call, ours: Call) -> Call:
    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Without traced values, our functions call SciPy's outside all transforms, and are not entered again.
        return ours(*args, **kwargs) if is_intercepted() else theirs(*args, **kwargs)

    return call


def _method(name: str, theirs: Call, objects: dict[Any, Any]) -> Call:
    @functools.wraps(theirs)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_ours(args, kwargs):
            ours = objects.get(_kind(self))
            if ours is not None:
                return getattr(ours, name)(*args, **kwargs)
        return theirs(self, *args, **kwargs)

    return call


def _frozen_method(name: str, theirs: Call, ours: Any) -> Call:
    """Return a method of SciPy's frozen object that calls ours with the object's parameters after the point."""

    @functools.wraps(theirs)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_ours(args, kwargs):
            return getattr(ours, name)(*args, *[getattr(self, each) for each in ours.frozen], **kwargs)
        return theirs(self, *args, **kwargs)

    return call


def _frozen_kind(ours: Any, theirs: Any) -> type | None:
    """Return the class of SciPy's frozen form of a multivariate distribution."""
    if not getattr(ours, "frozen", ()):
        return None
    kind = type(theirs)
    return getattr(sys.modules[kind.__module__], f"{kind.__name__.removesuffix('gen')}frozen", None)


def _layers(theirs: Any) -> Iterator[Call]:
    """Return a function and those that it decorates.

    If SCIPY_ARRAY_API=1, the public functions are decorated, and SciPy's own code calls the functions within.
    """
    yield theirs
    while isinstance(theirs := getattr(theirs, "__wrapped__", None), FunctionType):
        yield theirs


def _kind(theirs: Any) -> tuple[type, Any]:
    """Return the key of a distribution. A frozen one holds a copy of the distribution, so identity does not work."""
    return type(theirs), getattr(theirs, "name", None)


def _methods(ours: Any, theirs: type) -> Iterator[tuple[type, str]]:
    """Return the methods that both have, with the class of SciPy's that defines each."""
    for name in ("__call__", *[each for each in dir(type(ours)) if not each.startswith("_")]):
        owner = next((kind for kind in theirs.__mro__ if name in vars(kind)), None)
        if owner is not None and isinstance(vars(owner)[name], FunctionType):
            yield owner, name


class _Redirect:
    """The replaced attributes of SciPy's modules and classes, while any context is open."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        self.rooms: set[str] = set()
        self.functions = StandIns()
        self.objects: dict[Any, Any] = {}
        self.methods: dict[tuple[type, str], tuple[Call, Call]] = {}

    def enter(self) -> None:
        with self.lock:
            self.entered += 1
            for room in (*load(_PACKAGE).__all__, *_NESTED):
                # A module that is not imported has no callers.
                if f"scipy.{room}" in sys.modules and room not in self.rooms:
                    self._add(room)
            for (owner, name), (_, call) in self.methods.items():
                setattr(owner, name, call)
        self.functions.enter()

    def leave(self) -> None:
        self.functions.leave()
        with self.lock:
            self.entered -= 1
            if not self.entered:
                for (owner, name), (theirs, _) in self.methods.items():
                    setattr(owner, name, theirs)

    def _add(self, room: str) -> None:
        self.rooms.add(room)
        module, scipys = load(f"{_PACKAGE}.{room}"), sys.modules[f"scipy.{room}"]
        self._prepare(getattr(module, "PREPARED", {}), scipys)
        # A module may decide itself which calls are its own, and replace classes of SciPy's by functions.
        is_ours: Asked = getattr(module, "IS_OURS", _is_ours)
        made: dict[str, type] = getattr(module, "MADE", {})
        for name in module.__all__:
            ours, theirs = getattr(module, name), getattr(scipys, name, None)
            if theirs is None or isinstance(theirs, np.ufunc | ModuleType) or ours is theirs:
                continue
            if isinstance(theirs, type):
                if hasattr(ours, "from_scipy"):
                    self._add_class(name, theirs, ours)
                elif name in made:
                    self.functions.add(name, theirs, standing(theirs, ours, is_ours, made[name]))
                continue
            if isinstance(ours, FunctionType):
                for each in _layers(theirs):
                    call = _calling(each, ours) if room in _CALLING else _stand_in(each, ours, is_ours)
                    self.functions.add(name, each, call)
                continue
            self._add_object(ours, theirs)

    def _add_object(self, ours: Any, theirs: Any) -> None:
        """Replace the methods of a distribution."""
        self.objects[_kind(theirs)] = ours
        for owner, method in _methods(ours, type(theirs)):
            if (owner, method) not in self.methods:
                original = vars(owner)[method]
                self.methods[owner, method] = original, _method(method, original, self.objects)
        frozen = _frozen_kind(ours, theirs)
        for owner, method in _methods(ours, frozen) if frozen else ():
            original = vars(owner)[method]
            self.methods[owner, method] = original, _frozen_method(method, original, ours)

    def _prepare(self, changes: dict[str, Callable[[Call], Call]], scipys: ModuleType) -> None:
        """Replace functions that compute with traced values if their arguments are prepared."""
        for name, prepare in changes.items():
            theirs = getattr(scipys, name, None)
            # An older SciPy may lack the function.
            if theirs is not None:
                self.functions.add(name, theirs, _calling(theirs, prepare(theirs)))

    def _add_class(self, name: str, theirs: type, ours: type) -> None:
        self.functions.add(name, theirs, standing(theirs, ours, _is_ours))
        # A method may come from a base class in another module.
        for kind in theirs.__mro__:
            for owner, method, call in answering(kind, ours, _is_ours):
                if (owner, method) not in self.methods:
                    self.methods[owner, method] = vars(owner)[method], call


_REDIRECT = _Redirect()
enter, leave = _REDIRECT.enter, _REDIRECT.leave
