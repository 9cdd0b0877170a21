"""Values that the step of a rule reads and returns: slots by name, and parameters and slots of their earlier types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import is_value
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array
from funcgrad.errors import RuleError


class Slots(dict[str, Any]):
    """The slots that a step reads. A name that is not a slot raises an error of this library."""

    def __init__(self, asked: str, slots: Iterable[tuple[str, Any]]) -> None:
        super().__init__(slots)
        self._asked = asked

    def __missing__(self, name: str) -> NoReturn:
        raise RuleError(
            f"{self._asked}: the step reads slot {name!r}. With these hyperparameters the rule has {_listed(self)}. "
            "Declare it with Slot(...) in the rule's slots, or read it only where it exists."
        )


def results_of(asked: str, made: Any, slots: Mapping[str, Aval], p: Aval) -> list[Any]:
    """Return the new parameter and slots that a step returned, in order.

    Args:
        asked: the function that runs the step, for messages.
        made: what the step returned.
        slots: the names and types of the slots.
        p: the type of the parameter.

    Raises:
        RuleError: the step returned something else than a parameter and its slots, or another shape or dtype.
    """
    if not isinstance(made, tuple | list) or len(made) != 2 or not isinstance(made[1], Mapping):
        parts = f" of {', '.join([type(x).__name__ for x in made])}" if isinstance(made, tuple | list) else ""
        raise RuleError(
            f"{asked}: the step returned a {type(made).__name__}{parts}; needed the new parameter and a dict of the "
            "new slots. Return (p, {...}), and (p, {}) where there are no slots."
        )
    new_p, new = made
    if set(new) != set(slots):
        faults = [f"without {name!r}" for name in slots if name not in new]
        faults += [f"with {name!r}" for name in new if name not in slots]
        raise RuleError(
            f"{asked}: the step returned slots {' and '.join(faults)}. With these hyperparameters the rule has "
            f"{_listed(slots)}. Return each of them, and no other."
        )
    return [_typed(asked, "p", new_p, p), *[_typed(asked, f"slot {name!r}", new[name], slots[name]) for name in slots]]


def _typed(asked: str, what: str, x: Array, needed: Aval) -> Array:
    """Return a result with the needed type; a Python number becomes an array."""
    arrived = aval_of(x) if is_value(x) else None
    if arrived is not None and arrived.shape == needed.shape:
        if arrived.dtype == needed.dtype:
            return x
        if arrived.weak and arrived.dtype.kind in "if":
            return cast(x, needed.dtype)
    raise RuleError(
        f"{asked}: the step returned for {what} {f'a {type(x).__name__}' if arrived is None else arrived}; needed "
        f"{needed}, the type that it was given. Return it in this shape and dtype."
    )


def _listed(slots: Iterable[str]) -> str:
    return ", ".join(map(repr, slots)) or "no slots"
