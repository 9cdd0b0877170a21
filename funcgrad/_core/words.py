"""Errors that say nothing of the call: what Python raises inside of a function that was given something else."""

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

# Errors of the program at hand, and not of the numbers. An ``IndexError`` is NumPy's where it names an index.
BARE = AttributeError, KeyError, IndexError, ZeroDivisionError, RecursionError
_PYTHONS_OWN = ("list index", "tuple index", "string index", "list assignment", "invalid index to scalar")
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_LIBRARIES = (
    PACKAGE,
    *[os.path.dirname(str(each.__file__)) + os.sep for each in (np, optree)],
    *("numpy/", "<frozen", "<__array_function__", "<funcgrad"),
)


def retell(error: Exception, function: Callable[..., Any], args: tuple, options: dict) -> NoReturn:
    """Raise what an error of `BARE` means to the caller; itself where it says so, or comes from the user's code."""
    told = _in_our_words(error, function, args, options)
    if told is None:
        raise error
    raise told from error


def told(function: F) -> F:
    """A function of which such errors are told in our words; for those whose calls cost more than one more."""

    @functools.wraps(function)
    def door(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except BARE as error:
            retell(error, door, args, options)

    return door  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


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


def described(x: Any) -> str:
    """An argument as it stands in messages: of an array its type, of an option its value."""
    if isinstance(x, type):
        return f"the class {x.__name__}"
    if x is not None and not isinstance(x, bool | int | float | str) and is_value(x):
        return str(aval_of(x))
    return shown(x) if x is None or isinstance(x, bool | int | float | str) else f"a {type(x).__name__}"


def shown(x: Any) -> str:
    """A wrong value as it stands in messages: what is long, or cannot be printed, by its type."""
    try:
        text = repr(x)
    except Exception:  # noqa: BLE001  (whatever the user's class does wrong, the error at hand is another)
        text = ""
    return text if 0 < len(text) <= _ROOM else f"a {type(x).__name__}"


# What is longer is not shown.
_ROOM = 80
