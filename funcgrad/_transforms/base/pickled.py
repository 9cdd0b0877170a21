"""Functions made by transforms, as values that can be pickled by the transform and its arguments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Self, TypeVar, cast

from funcgrad._core.tracebacks import folded

F = TypeVar("F", bound=Callable[..., Any])


class Transformed(functools.partial):
    """A function that a transform made. Its pickle holds the transform and its arguments, and calls it again.

    A closure cannot be pickled. A ``partial`` is called without a Python frame, so tracebacks do not show it.
    """

    made_by: tuple[Callable[..., Any], tuple, dict[str, Any]]

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name, as a function, if the module has it under this name."""
        name = self.__dict__.get("__qualname__", "")
        if getattr(sys.modules.get(self.__dict__.get("__module__", "")), name, None) is self:
            return name
        return _again, self.made_by

    def __copy__(self) -> Self:
        """Return the function itself, which is its own copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"<function {self.__dict__.get('__name__', self.func)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else MethodType(self, instance)


def picklable(transform: F) -> F:
    """Wrap a transform so that the functions that it returns can be pickled."""

    @folded
    @functools.wraps(transform)
    def made(*args: Any, **kwargs: Any) -> Any:
        function = transform(*args, **kwargs)
        if type(function) is not FunctionType:
            return function
        result = Transformed(function)
        functools.update_wrapper(result, function)
        # ``__wrapped__`` is the user's function, as it is for the function that was made.
        result.__dict__["__wrapped__"] = function.__dict__.get("__wrapped__", function)
        result.made_by = made, args, kwargs
        return result

    return cast("F", made)


def _again(transform: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
    """Call a transform again with the pickled arguments."""
    return transform(*args, **options)
