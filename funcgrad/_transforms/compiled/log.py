"""Messages of the logger ``funcgrad``: what was staged and compiled, how long it took, and why again.

They have the level debug; those about a step of a second and more have the level info.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from funcgrad._core.aval import Aval
from funcgrad._core.graph.line import Line
from funcgrad._core.tracebacks import PACKAGE
from funcgrad._core.words import shown
from funcgrad._transforms.base.arguments import argument_name, leaf_name, name_of
from funcgrad.tree import TreeDef

logger = logging.getLogger("funcgrad")

# A program is made for a key: the static values, the structure of the arguments, the types of the arrays, other leaves.
Key = tuple[Any, ...]


# Seconds. The logger reports a step at the level info if it takes at least this long.
_LONG = 1.0


def _level(took: float) -> int:
    return logging.INFO if took >= _LONG else logging.DEBUG


def staged(f: Callable[..., Any], positions: list[int], key: Key, before: Key | None, count: int, took: float) -> None:
    """Say that a function was staged, and why, if it was staged before."""
    level = _level(took)
    if not logger.isEnabledFor(level):
        return
    why = "" if before is None else f" Again, because {changed(f, positions, before, key)}."
    logger.log(level, "jit: staged %s in %s, %d equations,%s.%s", name_of(f), _time(took), count, _called(), why)


def compiled(f: Callable[..., Any], engine: str, took: float) -> None:
    """Say that a program was compiled. The time includes that of staging and of the first run."""
    logger.log(_level(took), "jit: staged, compiled and ran %s on %s in %s.", name_of(f), engine, _time(took))


def _time(took: float) -> str:
    return f"{1e3 * took:.1f} ms" if took < _LONG else f"{took:.1f} s"


def changed(f: Callable[..., Any], positions: list[int], before: Key, now: Key) -> str:
    """Return how the key of a call differs from that of the call staged before.

    Args:
        f: the function.
        positions: the positions of the arguments that are not static.
        before: the key of the earlier call: static values, structure, avals, the arrays without axes, and
            the leaves that are no arrays.
        now: the key of this call.
    """
    if before[0] != now[0]:
        return _changed_static(f, before[0], now[0])
    if before[1] != now[1]:
        return _changed_structure(f, positions, before[1], now[1])
    paths = now[1].accessors()
    for i, (was, aval) in enumerate(zip(before[2], now[2], strict=False)):
        if was != aval:
            # Leaves that are no arrays are not counted among the avals.
            where = leaf_name(f, positions, paths[i]) if len(paths) == len(now[2]) else f"array {i} of the arguments"
            return f"{where} was {_type(was)} and is {_type(aval)}"
    if before[3] != now[3]:
        return "a number of the arguments was an array without axes, or an array a number; the program writes to it"
    return "a leaf of the arguments that is no array has another value"


def _type(aval: Aval) -> str:
    return f"{aval}, a Python number" if aval.weak else str(aval)


def _changed_static(f: Callable[..., Any], before: Any, now: Any) -> str:
    absent: tuple[Any, Any] = (), ()
    for old, new in zip(before or absent, now or absent, strict=True):
        was = dict(old)
        for which, value in new:
            if which not in was or was[which] != value:
                where = argument_name(f, which) if isinstance(which, int) else f"argument {which} of {name_of(f)}"
                had = f"was {shown(was[which])}" if which in was else "was not passed"
                return f"the static {where} {had} and is {shown(value)}"
    return "other arguments are static"


def _changed_structure(f: Callable[..., Any], positions: list[int], before: TreeDef, now: TreeDef) -> str:
    (old, old_named), (new, new_named) = before.children(), now.children()
    if old.num_children != new.num_children or old_named.entries() != new_named.entries():
        return "other arguments were passed by position or by name"
    for k, (was, tree) in enumerate(zip(old.children(), new.children(), strict=True)):
        if was != tree:
            return f"{argument_name(f, positions[k])} had the structure {was} and has {tree}"
    for name, was, tree in zip(new_named.entries(), old_named.children(), new_named.children(), strict=True):
        if was != tree:
            return f"argument {name} of {name_of(f)} had the structure {was} and has {tree}"
    return "the structure of the arguments is another one"


def _called() -> str:
    """Return the user's line that calls, for messages."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(PACKAGE)
        or frame.f_globals.get("__name__", "").partition(".")[0] in ("jax", "jaxlib", "contextlib", "functools")
    ):
        frame = frame.f_back
    return f" called at {Line(frame.f_code.co_filename, frame.f_lineno)}"
