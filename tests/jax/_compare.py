"""Comparison of a call of JAX's function, in 64-bit mode, with a call of ours."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import jax
import numpy as np


def modules(name: str) -> tuple[ModuleType, ModuleType]:
    """JAX's module and ours, for example of ``"numpy.linalg"``."""
    return importlib.import_module(f"jax.{name}"), importlib.import_module(f"funcgrad.jax.{name}")


def flat(y: Any) -> Iterator[Any]:
    """Yield the leaves of tuples, lists and dictionaries."""
    if isinstance(y, dict):
        for key in sorted(y):
            yield from flat(y[key])
    elif isinstance(y, tuple | list):
        for each in y:
            yield from flat(each)
    else:
        yield y


def check(call: Callable[[Any], Any], theirs: Any, ours: Any, *, dtypes: bool = True) -> None:
    """Assert that two modules give the same numbers to 1e-6, in the same dtypes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with jax.enable_x64(True):
            expected = [each if isinstance(each, str) else np.asarray(each) for each in flat(call(theirs))]
        found = list(flat(call(ours)))
    assert len(found) == len(expected)
    for each, y_of_jax in zip(found, expected, strict=True):
        if isinstance(y_of_jax, str) or y_of_jax.dtype.kind == "O":
            assert str(each) == str(y_of_jax)
            continue
        y = np.asarray(each)
        assert y.shape == y_of_jax.shape
        if dtypes:
            assert y.dtype == y_of_jax.dtype
        np.testing.assert_allclose(y, y_of_jax, rtol=1e-6, atol=1e-8)
