"""Each of NumPy's functions that we have takes the arguments that NumPy's takes, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.numpy.extend import functions

# NumPy's arguments that ours lack, with the reason.
LACKING = {
    "array": ({"ndmax"}, "it bounds how deep lists are read, which matters for arrays of objects alone"),
}


def pairs() -> Iterator[Any]:
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        mirror: Any = getattr(fnp, prefix[:-1]) if prefix else fnp
        for name in sorted(set(module.__all__)):
            theirs, ours = getattr(module, name), getattr(mirror, name, None)
            if inspect.isfunction(inspect.unwrap(theirs)) and not isinstance(theirs, type) and ours is not None:
                yield pytest.param(name, theirs, functions.get(theirs, ours), id=f"{prefix}{name}")


def names(function: Any) -> tuple[set[str], bool]:
    parameters = inspect.signature(function).parameters.values()
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {each.name for each in parameters if each.kind in named}, open_ended


@pytest.mark.parametrize(("name", "theirs", "ours"), [*pairs()])
def test_arguments(name: str, theirs: Any, ours: Any) -> None:
    needed, _ = names(theirs)
    given, open_ended = names(ours)
    lacking = set() if open_ended else needed - given
    assert lacking == (LACKING[name][0] & needed if name in LACKING else set())


def test_a_lacking_argument_is_seen() -> None:
    assert names(np.sum)[0] - names(lambda a, axis=None: a)[0] >= {"dtype", "out", "keepdims"}
