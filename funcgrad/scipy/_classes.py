"""Replace SciPy's classes inside ``fg.intercept()``, so that they accept traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from funcgrad._types import ArrayLike

Call = Callable[..., Any]
# Tells whether a call with these arguments is ours to handle.
Asked = Callable[[tuple, dict[str, Any]], bool]

# The methods that accept traced values on objects that SciPy made from plain numbers.
_METHODS = ("__call__", "integrate")


def standing(theirs: type, ours: Call, is_ours: Asked, kind: type | None = None) -> type:
    """Return a subclass that replaces a class of SciPy's.

    It constructs ours or SciPy's, and behaves like SciPy's otherwise.

    Args:
        theirs: SciPy's class.
        ours: our class, or a function that makes an object.
        is_ours: whether a call is ours to handle.
        kind: the class of what ``ours`` makes; ``ours`` itself by default.
    """
    made: Any = kind or ours

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is not stand:
            # A user's subclass of SciPy's class is constructed as usual.
            return type.__call__(cls, *args, **kwargs)
        return ours(*args, **kwargs) if is_ours(args, kwargs) else theirs(*args, **kwargs)

    def has_instance(cls: Any, x: ArrayLike) -> bool:
        return theirs in type(x).__mro__ or isinstance(x, made) if cls is stand else type.__instancecheck__(cls, x)

    def has_subclass(cls: Any, kind: type) -> bool:
        # An abstract class asks its subclasses, of which the stand-in is one.
        return theirs in kind.__mro__ if cls is stand else type.__subclasscheck__(cls, kind)

    names = {"__call__": make, "__instancecheck__": has_instance, "__subclasscheck__": has_subclass}
    metaclass = type("Standing", (type(theirs),), names)
    stand: Any = metaclass(theirs.__name__, (theirs,), {"__module__": theirs.__module__, "__doc__": theirs.__doc__})
    return stand


def answering(theirs: type, ours: Any, is_ours: Asked) -> Iterator[tuple[type, str, Call]]:
    """Yield the replaced methods of SciPy's objects: the class that defines each, its name, and our function."""
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
