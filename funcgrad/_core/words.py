"""Translation of bare Python errors into errors that name the function and its arguments."""

from __future__ import annotations

import functools
import os
import sysconfig
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np
import optree

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._core.tracebacks import PACKAGE

F = TypeVar("F", bound=Callable[..., Any])

# These errors come from the code, not from the numbers. An ``IndexError`` that names an index is NumPy's.
BARE = AttributeError, KeyError, IndexError, ZeroDivisionError, RecursionError
_PYTHONS_OWN = ("list index", "tuple index", "string index", "list assignment", "invalid index to scalar")
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_LIBRARIES = (
    PACKAGE,
    *[os.path.dirname(str(each.__file__)) + os.sep for each in (np, optree)],
    *("numpy/", "<frozen", "<__array_function__", "<funcgrad"),
)


def retell(error: Exception, function: Callable[..., Any], args: tuple, options: dict) -> NoReturn:
    """Raise an error of `BARE` in our words, or unchanged if its message is clear or the user's code raised it."""
    clear = _in_our_words(error, function, args, options)
    if clear is None:
        raise error
    raise clear from error


def in_our_words(function: F) -> F:
    """Wrap a function so that bare errors in it are explained; for functions that take longer than one more call."""

    @functools.wraps(function)
    def explained(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except BARE as error:
            retell(error, explained, args, options)

    return explained  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


def _in_our_words(error: Exception, function: Callable[..., Any], args: tuple, options: dict) -> TypeError | None:
    own = type(error) in BARE and (type(error) is not IndexError or str(error).startswith(_PYTHONS_OWN))
    entries = error.__traceback__
    if not own or not all(_is_librarys(frame) for frame, _ in traceback.walk_tb(entries and entries.tb_next)):
        return None
    module = function.__module__.removeprefix("funcgrad.").partition("._")[0]
    name = f"{module}.{function.__name__.rstrip('_')}"
    if type(error) is RecursionError:
        return TypeError(
            f"{name}: a list among the arguments is nested too deep, or holds itself; needed an array, or lists of as "
            "many levels as it has axes. Make it an array, or take the cycle out."
        )
    given = ", ".join([*map(described, args), *[f"{key}={described(x)}" for key, x in options.items()]])
    return TypeError(
        f"{name}: the arguments are {given}; needed others ({error}). See help(fg.{name}), and make what is no array "
        "one with np.asarray."
    )


def _is_librarys(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    return path.startswith(_LIBRARIES) or (path.startswith(_STANDARD) and "site-packages" not in path)


def described(x: object) -> str:
    """Describe an argument for messages: an array by its type, an option by its value."""
    if isinstance(x, type):
        return f"the class {x.__name__}"
    if x is not None and not issubclass(type(x), bool | int | float | str) and is_value(x):
        return str(aval_of(x))
    return shown(x) if x is None or issubclass(type(x), bool | int | float | str) else f"a {type(x).__name__}"


def shown(x: object) -> str:
    """Describe a wrong value for messages: by its type if the text would be long or cannot be printed."""
    try:
        text = repr(x)
    except Exception:  # noqa: BLE001  (whatever the user's class does wrong, the error at hand is another)
        text = ""
    return text if 0 < len(text) <= _ROOM else f"a {type(x).__name__}"


# Longer texts are not shown.
_ROOM = 80
