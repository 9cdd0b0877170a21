"""The tables in which NumPy's protocols find our functions, and the decorator that fills them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from funcgrad._core.bind import active_trace
from funcgrad._core.lazy import implementing_rooms, load
from funcgrad._core.words import BARE, retell
from funcgrad._engines import NO_SCOPE, engine_scope, lasting
from funcgrad._public import origins
from funcgrad.errors import UnsupportedFunctionError

F = TypeVar("F", bound=Callable[..., Any])

functions: dict[Callable[..., Any], Callable[..., Any]] = {}
ufuncs: dict[np.ufunc, Callable[..., Any]] = {}
# The ufuncs that are one primitive each, with the dtype kinds that need no conversion.
direct_ufuncs: dict[np.ufunc, tuple[Any, str]] = {}
# Our functions for ``ufunc.method``, by ufunc and method name ("reduce", "accumulate", "outer").
ufunc_methods: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
# Our functions for the ufuncs of scipy.special, by name: importing that module takes 0.15 s, so we do not import it.
special_functions: dict[str, Callable[..., Any]] = {}
# Our functions for modules that NumPy imports late, by full name: importing numpy.polynomial takes 11 ms.
late_functions: dict[str, Callable[..., Any]] = {}


def implements(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function as our implementation of each given NumPy function or ufunc.

    Args:
        numpy_functions: functions of NumPy, or ufuncs of NumPy or SciPy. If one of them gets a traced array, the
            decorated function is called instead, with the same arguments.

    Returns:
        The decorator, which returns the function unchanged.

    Example:
        >>> import numpy as np
        >>> import scipy.special
        >>> import funcgrad as fg
        >>> @fg.extend.implements(scipy.special.pseudo_huber)
        ... def pseudo_huber(delta, r):
        ...     return delta**2 * (np.sqrt(1 + (r / delta) ** 2) - 1)
        >>> fg.grad(lambda r: scipy.special.pseudo_huber(1.0, r))(0.75).round(6)
        np.float64(0.6)
    """

    def register(function: F) -> F:
        for numpy_function in numpy_functions:
            if isinstance(numpy_function, np.ufunc):
                ufuncs[numpy_function] = function
                direct_ufuncs.pop(numpy_function, None)
            else:
                functions[numpy_function] = function
        return function

    return register


def in_numpys_mode(function: F) -> F:
    """Run a function that computes with operators in JAX's 64-bit mode on ``jax.Array`` s.

    Outside of this mode JAX's own operators would cut float64 to float32. (Primitives enter the mode by themselves.)
    """

    @functools.wraps(function)
    def in_mode(*args: Any, **kwargs: Any) -> Any:
        scope = engine_scope((*args, *kwargs.values()))
        try:
            with scope:
                y = function(*args, **kwargs)
        except BARE as error:
            retell(error, function, args, kwargs)
        if scope is NO_SCOPE or active_trace() is not None:
            return y
        given = (*args, *kwargs.values())
        return type(y)([lasting(part, given) for part in y]) if type(y) in (tuple, list) else lasting(y, given)

    return in_mode  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


def find_special(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return our function for a ufunc of ``scipy.special``, and enter it into the table of ufuncs."""
    name = ufunc.__name__
    # SciPy's Python functions call the ufuncs of the private module.
    modules = [sys.modules.get(f"scipy.special{part}") for part in ("", "._ufuncs")]
    if not any(getattr(module, name, None) is ufunc for module in modules):
        return None
    _load_room("scipy.special")
    function = special_functions.get(name)
    if function is not None:
        ufuncs[ufunc] = function
    return function


def find_late(function: Any) -> Callable[..., Any] | None:
    """Return our function for one in a module that NumPy imports late, and enter it into the table of functions."""
    module = str(getattr(function, "__module__", ""))
    _load_room(module)
    ours = late_functions.get(f"{module}.{getattr(function, '__name__', '')}")
    if ours is not None:
        functions[function] = ours
    return ours


def _load_room(module: str) -> None:
    """Load our room for a module of NumPy or SciPy, if there is one."""
    room = implementing_rooms.get(module)
    if room is not None:
        load(room)


# The alternative for a function that we lack. Functions with a similar name could mislead.
_ALTERNATIVES = {
    "copyto": "numpy.where, or fnp.at(x)[index].set(value)",
    "place": "numpy.where",
    "put": "fnp.at(x)[index].set(value)",
    "putmask": "numpy.where",
    "vectorize": "fg.vmap of the function",
}


def is_covered(function: Any) -> bool:
    """Return whether a function takes traced arrays: one of ours, or one of NumPy or SciPy that calls ours."""
    if isinstance(function, np.ufunc):
        return function in ufuncs or function in direct_ufuncs or find_special(function) is not None
    return function in functions or function in origins or find_late(function) is not None


def refuse(function: Any, module: str = "numpy") -> NoReturn:
    """Refuse a NumPy function that we lack, and name an alternative if there is one."""
    name = getattr(function, "__name__", str(function))
    instead = _ALTERNATIVES.get(name)
    remedy = f"Use {instead}" if instead else "Write it with functions of funcgrad.numpy (see dir(funcgrad.numpy))"
    raise UnsupportedFunctionError(
        f"{module}.{name}: it met a traced array, and funcgrad has no derivative rules for this function. {remedy}; or "
        "give it a rule of its own with fg.custom_vjp, around fg.call_numpy."
    )


def refuse_option(name: str, option: str, remedy: str) -> NoReturn:
    """Refuse an option that we lack, and say what to do instead."""
    raise UnsupportedFunctionError(f"numpy.{name}: the option {option} is not supported on traced arrays. {remedy}")
