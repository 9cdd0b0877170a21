"""Allowed errors: those of `funcgrad.errors`, and others that the library raises in its own words."""

from __future__ import annotations

import linecache
import os
import re
import traceback
from dataclasses import dataclass

import numpy as np

import funcgrad as fg
from funcgrad import errors

_PACKAGE = os.path.dirname(os.path.abspath(fg.__file__)) + os.sep
CHECKS_ON_JAX = "on jax"
_NO_METHOD = re.compile(r"argument \d of type (numpy\.\w+|float|int|complex|bool) which has no callable")
_OURS = tuple(getattr(errors, name) for name in errors.__all__)
# Errors without a message of our own. A library below may raise them for the user's mistake.
_RAW = (
    AttributeError,
    KeyError,
    AssertionError,
    IndexError,
    ZeroDivisionError,
    RecursionError,
    NameError,
    UnboundLocalError,
)


@dataclass(frozen=True)
class Refusal:
    """An allowed error, and the place where it was raised."""

    error: str
    place: str
    text: str


def judged(error: BaseException) -> tuple[Refusal, bool]:
    """Return the error and its place, and whether it is a finding."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_PACKAGE)]
    frame = frames[-1] if frames else None
    place = f"{os.path.relpath(frame.filename, _PACKAGE)}:{frame.name}" if frame else "outside"
    refusal = Refusal(type(error).__name__, place, str(error).split("\n")[0][:140])
    if isinstance(error, (*_OURS, np.linalg.LinAlgError)):
        return refusal, False
    return refusal, isinstance(error, _RAW) or not _own_words(error)


def _own_words(error: BaseException) -> bool:
    """Return whether the innermost frame belongs to this package and is at a ``raise``."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(_PACKAGE):
        return False
    first, end = last.lineno or 0, last.end_lineno or last.lineno or 0
    return any("raise" in linecache.getline(last.filename, n) for n in range(max(first - 3, 1), end + 1))


def is_anothers(error: BaseException, refusal: Refusal, check: str, objects: bool) -> bool:
    """Return whether NumPy, JAX or Python may raise an error that is not in our words."""
    if check == "eager":
        # funcgrad.numpy has functions where NumPy has ufuncs, without their attributes and options. Arrays of objects
        # may hold only numbers. A number that does not fit has NumPy's message.
        return refusal.place == "outside" or objects or refusal.error == "OverflowError"
    if CHECKS_ON_JAX in check:
        # A value without derivative is a plain array of JAX. Not all functions of NumPy take one, so an error is JAX's
        # if no frame of this package is between the program and the error.
        last = traceback.extract_tb(error.__traceback__)[-1]
        between = refusal.place.startswith("_transforms") and not last.filename.startswith(_PACKAGE)
        return "ArrayImpl" in refusal.text or between
    # A Python int under a trace is an integer array, for which NumPy refuses negative powers. NumPy's bools have no
    # negation.
    if _NO_METHOD.search(refusal.text):
        # Numbers in arrays of objects. NumPy computes with them only by methods.
        return True
    if "negative integer powers" in refusal.text or "to negative powers" in refusal.text:
        return True
    return refusal.error == "UFuncTypeError" and "BoolDType" in refusal.text
