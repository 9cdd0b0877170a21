"""Arguments and results as their leaves: which of them are traced, copies, and text."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, EllipsisType, FunctionType
from typing import Any

import numpy as np

# Larger arrays take too long to copy for each call of a suite.
LARGEST = 20_000
_CODES = "?bBhHiIlLqQefdFD"
# Other leaves that a call may have: they are given to both functions as they are.
_PLAIN = (
    *(type(None), str, bytes, bool, int, float, complex, type, np.dtype, EllipsisType),
    *(FunctionType, BuiltinFunctionType, np.ufunc, np.bool, np.integer),
)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tuples, lists and dictionaries with other leaves."""
    if isinstance(tree, tuple):
        items = [mapped(function, each) for each in tree]
        return tuple(items) if type(tree) is tuple or not hasattr(tree, "_fields") else type(tree)(*items)
    if isinstance(tree, list):
        return [mapped(function, each) for each in tree]
    if isinstance(tree, dict):
        return {key: mapped(function, each) for key, each in tree.items()}
    if isinstance(tree, slice):
        return slice(*[mapped(function, each) for each in (tree.start, tree.stop, tree.step)])
    return function(tree)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def is_number(x: Any) -> bool:
    """Whether a leaf becomes traced: an array of numbers, or a NumPy number that has a derivative."""
    if type(x) is np.ndarray:
        return x.dtype.char in _CODES and x.dtype.isnative
    return isinstance(x, np.inexact) and x.dtype.char in _CODES


def is_suited(tree: Any) -> bool:
    """Whether all leaves of arguments can be copied and compared, and one may become traced."""
    found = leaves(tree)
    if not any(is_number(x) or type(x) in (float, complex) for x in found):
        return False
    return all(getattr(x, "size", 1) <= LARGEST if is_number(x) else isinstance(x, _PLAIN) for x in found)


def as_array(x: Any) -> Any:
    """An argument that is a list of numbers, a float among them, as the array of them; all else as it is."""
    if not isinstance(x, list):
        return x
    kinds = set(map(type, leaves(x)))
    if not kinds <= {bool, int, float, complex} or not kinds & {float, complex}:
        return x
    try:
        return np.array(x)
    except ValueError:
        # Its rows are of different lengths.
        return x


def shares_memory(tree: Any) -> bool:
    """Whether two arrays of a tree overlap."""
    arrays = list({id(x): x for x in leaves(tree) if type(x) is np.ndarray}.values())
    return any(np.may_share_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i])


def copied(tree: Any) -> Any:
    """The tree with copies of its arrays; one array in two places stays one."""
    made: dict[int, np.ndarray] = {}

    def copy(x: Any) -> Any:
        if type(x) is not np.ndarray:
            return x
        if id(x) not in made:
            made[id(x)] = x.copy(order="K")
        return made[id(x)]

    return mapped(copy, tree)


def signature(tree: Any) -> str:
    """A text that calls share which have the same structure, dtypes and shapes, and the same other arguments."""

    def short(x: Any) -> str:
        if is_number(x):
            return f"{type(x).__name__}{getattr(x, 'dtype', '')}{getattr(x, 'shape', '')}"
        return repr(x)[:60]

    return repr(mapped(short, tree))


def described(tree: Any) -> str:
    """The arguments as they are typed, shortened."""
    with np.printoptions(precision=17, threshold=12, linewidth=10_000):
        return ", ".join(map(_text, tree[0])) + "".join([f", {key}={_text(x)}" for key, x in tree[1].items()])


def _text(x: Any) -> str:
    text = " ".join((repr(x) if not callable(x) else getattr(x, "__name__", repr(x))).split())
    return text if len(text) < 160 else f"{text[:160]}..."
