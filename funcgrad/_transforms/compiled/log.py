"""Messages of the logger ``funcgrad``: what was staged and compiled, how long it took, and why again.

They have the level debug; those about a step of a second and more have the level info.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.graph.line import Line
from funcgrad._core.tracebacks import PACKAGE
from funcgrad._core.words import shown
from funcgrad._transforms.base.arguments import StaticValues, argument_name, leaf_name, name_of
from funcgrad.tree import TreeDef
from funcgrad.tree.extend import static_key

logger = logging.getLogger("funcgrad")


class DescribedTypes(NamedTuple):
    """The call that a program is made for, without its leaves that are no arrays.

    Args:
        static: the static values.
        in_tree: the structure of the arguments.
        avals: the types of the arrays and numbers.
        arrays: the numbers of the arrays without axes, if the program tells them from numbers.
    """

    static: StaticValues | None
    in_tree: TreeDef
    avals: Sequence[Aval]
    arrays: Sequence[int]


# Seconds. The logger reports a step at the level info if it takes at least this long.
_LONG = 1.0
_OTHER_ORDER = "the arguments were passed by name in another order"


def _level(took: float) -> int:
    return logging.INFO if took >= _LONG else logging.DEBUG


def staged(
    f: Callable[..., Any],
    positions: list[int],
    now: DescribedTypes,
    before: DescribedTypes | None,
    count: int,
    took: float,
) -> None:
    """Say that a function was staged, and why, if it was staged before."""
    level = _level(took)
    if not logger.isEnabledFor(level):
        return
    why = "" if before is None else f" Again, because {changed(f, positions, before, now)}."
    logger.log(level, "jit: staged %s in %s, %d equations,%s.%s", name_of(f), _time(took), count, _called(), why)


def compiled(f: Callable[..., Any], engine: str, took: float) -> None:
    """Say that a program was compiled. The time includes that of staging and of the first run."""
    logger.log(_level(took), "jit: staged, compiled and ran %s on %s in %s.", name_of(f), engine, _time(took))


def _time(took: float) -> str:
    return f"{1e3 * took:.1f} ms" if took < _LONG else f"{took:.1f} s"


def changed(f: Callable[..., Any], positions: list[int], before: DescribedTypes, now: DescribedTypes) -> str:
    """Return how a call differs from that of the call staged before.

    Args:
        f: the function.
        positions: the positions of the arguments that are not static.
        before: the earlier call.
        now: this call.
    """
    if (before.static and before.static.key) != (now.static and now.static.key):
        return _changed_static(f, before.static, now.static)
    if static_key(before.in_tree) != static_key(now.in_tree):
        return _changed_structure(f, positions, before.in_tree, now.in_tree)
    paths = now.in_tree.accessors()
    for i, (was, aval) in enumerate(zip(before.avals, now.avals, strict=False)):
        if was != aval:
            # Leaves that are no arrays are not counted among the avals.
            where = leaf_name(f, positions, paths[i]) if len(paths) == len(now.avals) else f"array {i} of the arguments"
            return f"{where} was {_type(was)} and is {_type(aval)}"
    if before.arrays != now.arrays:
        return "a number of the arguments was an array without axes, or an array a number; the program writes to it"
    return "a leaf of the arguments that is no array has another value"


def _type(aval: Aval) -> str:
    return f"{aval}, a Python number" if aval.weak else str(aval)


def _changed_static(f: Callable[..., Any], before: StaticValues | None, now: StaticValues | None) -> str:
    was, values = before.values if before else {}, now.values if now else {}
    for which, value in values.items():
        if which not in was or static_key(was[which]) != static_key(value):
            where = argument_name(f, which) if isinstance(which, int) else f"argument {which} of {name_of(f)}"
            had = f"was {shown(was[which])}" if which in was else "was not passed"
            return f"the static {where} {had} and is {shown(value)}"
    return _OTHER_ORDER if was.keys() == values.keys() else "other arguments are static"


def _changed_structure(f: Callable[..., Any], positions: list[int], before: TreeDef, now: TreeDef) -> str:
    (old, old_named), (new, new_named) = before.children(), now.children()
    if old.num_children != new.num_children or old_named.entries() != new_named.entries():
        return "other arguments were passed by position or by name"
    for k, (was, tree) in enumerate(zip(old.children(), new.children(), strict=True)):
        if static_key(was) != static_key(tree):
            return f"{argument_name(f, positions[k])} {_structures(was, tree)}"
    for name, was, tree in zip(new_named.entries(), old_named.children(), new_named.children(), strict=True):
        if static_key(was) != static_key(tree):
            return f"argument {name} of {name_of(f)} {_structures(was, tree)}"
    return _OTHER_ORDER


def _structures(was: TreeDef, tree: TreeDef) -> str:
    if was == tree:
        return "has its keys in another order, or a static value of another type"
    return f"had the structure {was} and has {tree}"


def _called() -> str:
    """Return the user's line that calls, for messages."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(PACKAGE)
        or frame.f_globals.get("__name__", "").partition(".")[0] in ("jax", "jaxlib", "contextlib", "functools")
    ):
        frame = frame.f_back
    return f" called at {Line(frame.f_code.co_filename, frame.f_lineno)}"
