"""Functions that leave calls with plain arguments to NumPy, whose function they stand for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad._core.bind import NUMPY_TYPES, is_foreign
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.guests import holds_tracer, is_object_array

F = TypeVar("F", bound=Callable[..., Any])


def beside_numpys(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function for what is traced or of another engine; all else goes to the first of NumPy's functions."""
    numpys = numpy_functions[0]

    def register(function: F) -> F:
        within = in_numpys_mode(function)

        @functools.wraps(function)
        def ours(*args: Any, **kwargs: Any) -> Any:
            if any(map(is_ours, args)) or any(map(is_ours, kwargs.values())):
                return within(*args, **kwargs)
            return numpys(*args, **kwargs)

        return implements(*numpy_functions)(ours)  # pyright: ignore[reportReturnType]  (wraps keeps the signature)

    return register


def is_ours(x: Any) -> bool:
    """Whether an argument is traced or of another engine, or a list in which something is."""
    kind = type(x)
    if kind in NUMPY_TYPES or kind is str or x is None:
        return is_object_array(x) and holds_tracer(x)
    if kind is list or kind is tuple:
        return any(map(is_ours, x))
    return holds_tracer(x) or is_foreign(x)
