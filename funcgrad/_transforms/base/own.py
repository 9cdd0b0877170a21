"""A transform never changes the caller's arrays: a function gets arrays of its own, or read-only ones.

A function may write to the values that a transform traces: the caller's arrays stay as they are (``place.py``). The
arrays among its other arguments would be the caller's own. A function that is called without any trace gets copies. A
function that is differentiated gets read-only views, because its data may be large, and it reads them alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Trace, Tracer, active_trace
from funcgrad._core.trace.kept import same_bits
from funcgrad._core.trace.place import is_place, own
from funcgrad._types import Value
from funcgrad.numpy.extend import argument_value
from funcgrad.tree import flatten, unflatten

_NDARRAY = np.ndarray
_READ_ONLY = (
    "Arguments that a transform does not differentiate are read-only inside the function, because a transform never "
    "changes the arrays of its caller. Write into a copy: y = y.copy(), or y = fnp.copy(y) of funcgrad.numpy, which "
    "takes traced values, too. Return it if the caller needs its numbers."
)


def call_with_own(f: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Call a function with arrays of its own in place of its arguments, and return its result.

    An argument that it returns without a write to it comes back as the object that it was.
    """
    given, in_tree = flatten((args, kwargs))
    trace = active_trace()
    mine = [own(x, trace) for x in given]
    handed = {id(y): (y, x) for y, x in zip(mine, given, strict=True) if y is not x}
    if not handed:
        return f(*args, **kwargs)
    args, kwargs = unflatten(in_tree, mine)
    out = f(*args, **kwargs)
    found, out_tree = flatten(out)
    results = [_returned(y, *handed.get(id(y), (None, None))) for y in found]
    return out if all(map(operator.is_, results, found)) else unflatten(out_tree, results)


def _returned(y: Value, mine: Value, given: Value) -> Any:
    """Return a leaf of the result. ``mine`` and ``given`` are the argument that it may be."""
    if y is mine and y is not None and (same_bits(y, given) if type(y) is _NDARRAY else not _was_written(y)):
        return given
    return argument_value(y) if is_place(y) else y


def _was_written(x: Value) -> bool:
    return is_place(x) and x._memory.version > 0


def with_read_only(
    trace: Trace | None, args: Sequence[Any], kwargs: dict[str, Any], numbers: Sequence[int]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with read-only views of the arrays in those that are not in ``numbers``.

    The errors of writes to them say so where they leave the trace.
    """
    count = len(args)
    chosen = {number % count for number in numbers if -count <= number < count}
    shown = [x if i in chosen else _shown(x) for i, x in enumerate(args)]
    if trace is not None and trace.note is None:
        trace.note = _READ_ONLY, "read-only"
    return shown, {name: _shown(x) for name, x in kwargs.items()}


def _shown(x: Any) -> Any:
    if isinstance(x, _NDARRAY):
        return _view(x)
    if issubclass(type(x), Tracer | str | float | int | np.generic) or x is None:
        return x
    found, treedef = flatten(x)
    views = [_view(leaf) if isinstance(leaf, _NDARRAY) else leaf for leaf in found]
    # A container without arrays stays the caller's own.
    return x if all(y is leaf for y, leaf in zip(views, found, strict=True)) else unflatten(treedef, views)


def _view(x: np.ndarray) -> np.ndarray:
    if not x.flags.writeable:
        return x
    view = x.view()
    view.setflags(write=False)
    return view
