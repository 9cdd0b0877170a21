"""SciPy's classes inside of ``fg.intercept()``: traced values make ours of them, and theirs answer as ours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

Call = Callable[..., Any]
# Whether arguments are ours to answer for.
Asked = Callable[[tuple, dict[str, Any]], bool]

# What is asked of objects that SciPy made of plain numbers.
_METHODS = ("__call__", "integrate")


def standing(theirs: type, ours: type, is_ours: Asked) -> type:
    """What stands in the places of a class of SciPy's: a subclass, so that it has and is all else that theirs is."""

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is not stand:
            # A user's class that is derived of it.
            return type.__call__(cls, *args, **kwargs)
        return ours(*args, **kwargs) if is_ours(args, kwargs) else theirs(*args, **kwargs)

    def has_instance(cls: Any, x: Any) -> bool:
        return isinstance(x, theirs | ours) if cls is stand else type.__instancecheck__(cls, x)

    def has_subclass(cls: Any, kind: type) -> bool:
        return issubclass(kind, theirs) if cls is stand else type.__subclasscheck__(cls, kind)

    names = {"__call__": make, "__instancecheck__": has_instance, "__subclasscheck__": has_subclass}
    metaclass = type("Standing", (type(theirs),), names)
    stand: Any = metaclass(theirs.__name__, (theirs,), {"__module__": theirs.__module__, "__doc__": theirs.__doc__})
    return stand


def answering(theirs: type, ours: Any, is_ours: Asked) -> Iterator[tuple[type, str, Call]]:
    """The methods by which objects of SciPy's answer for traced values: the class that has each, its name, and ours."""
    for name in _METHODS:
        if hasattr(ours, name) and isinstance(vars(theirs).get(name), FunctionType):
            yield theirs, name, _answer(name, vars(theirs)[name], ours, is_ours)


def _answer(name: str, method: Call, ours: Any, is_ours: Asked) -> Call:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_ours(args, kwargs):
            found = ours.from_scipy(self)
            if found is not None:
                return getattr(found, name)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return call
