"""Short text for states: the shapes of their arrays instead of the numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer, is_engine_value, is_value
from funcgrad._engines import is_abstract
from funcgrad._types import ArrayLike, PyTree, ScalarLike
from funcgrad.optim._rules.rule import Choice, Rule
from funcgrad.optim._state.hyperparameters import Schedule
from funcgrad.optim._state.prefix import NumberIndex, Prefixes, of_vector
from funcgrad.tree import flatten, unflatten

# For more arrays than this, the text shows only how many arrays and elements there are.
_FEW = 8
# A float with this many characters is rounded.
_LONG = 10


def stored(x: ArrayLike) -> Any:
    """Return a NumPy scalar as an array of shape [], because orbax does not restore scalars."""
    return np.array(x) if issubclass(type(x), np.generic) else x


def store(state: Any, *names: str) -> None:
    """Convert the scalars in fields of a frozen dataclass to such arrays."""
    for name in names:
        object.__setattr__(state, name, stored(getattr(state, name)))


class _Word:
    """Text that shows itself without quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Shown:
    """A dataclass whose ``repr`` is short."""

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]  (every subclass is a dataclass)
        return shown(self, [(x.name, getattr(self, x.name)) for x in fields])


def word_of(x: ArrayLike) -> _Word:
    """Return a known number as it is, and an array by its type."""
    if isinstance(x, _Word):
        return x
    if isinstance(x, Shown):
        return _Word(repr(x))
    try:
        if not is_value(x):
            return _Word(repr(x))
        aval = aval_of(x)
        if aval.shape == () and not isinstance(x, Tracer) and not is_abstract(x):
            return _Word(_number(np.asarray(x)[()]))
        return _Word(str(aval))
    except (AttributeError, TypeError, RuntimeError):
        # The value is an object of another library's transform, or an array whose memory was donated.
        return _Word(type(x).__name__)


def _number(x: ArrayLike) -> str:
    text = str(x)
    return text if len(text) < _LONG or not issubclass(type(x), np.floating) else f"{x:.6g}"


def _is_shown(x: ArrayLike) -> bool:
    return isinstance(x, Shown)


def text_of(tree: PyTree) -> str:
    """Return a pytree with the types of its arrays, or their number if there are many."""
    leaves, treedef = flatten(tree, _is_shown)
    if len(leaves) <= _FEW:
        return repr(unflatten(treedef, map(word_of, leaves)))
    counts: dict[str, int] = {}
    for x in leaves:
        dtype, size = str(word_of(x)).partition("[")[0], getattr(x, "size", 1)
        counts[dtype] = counts.get(dtype, 0) + size
    return f"<{len(leaves)} leaves: {', '.join(f'{size:,} of {dtype}' for dtype, size in counts.items())}>"


def shown(owner: Any, fields: Iterable[tuple[str, Any]]) -> str:
    """Return an object as the call that would make it, without fields that are ``None`` or empty."""
    text = [f"{name}={text_of(value)}" for name, value in fields if flatten(value, _is_shown)[0]]
    return f"{type(owner).__name__}({', '.join(text)})"


def hyperparameters_shown(rule: Rule, prefixes: Prefixes, numbers: ScalarLike) -> list[tuple[str, Any]]:
    """Return hyperparameters by name, as trees of their values; unknown numbers are shown by their type."""
    known = type(numbers) is np.ndarray or (is_engine_value(numbers) and not is_abstract(numbers))
    values = of_vector(numbers) if known else None

    def word(kind: Any, entry: Any) -> Any:
        if isinstance(kind, Choice) or isinstance(entry, Schedule):
            return _Word(repr(entry.function if isinstance(entry, Schedule) else entry))
        if type(entry) is NumberIndex:
            return _Word("f64[]") if values is None else values[entry]
        return 0.0

    pairs = zip(rule.hyperparameters, prefixes.prefixes, strict=False)
    return [(kind.name, x.tree([word(kind, entry) for entry in x.entries])) for kind, x in pairs]


def terms_of(rule: Rule, prefixes: Prefixes) -> str:
    """Describe the structure: which hyperparameters are numbers, schedules or turned off, and the values of choices."""

    def word(kind: Any, entry: Any) -> _Word:
        if isinstance(kind, Choice):
            return _Word(repr(entry))
        return _Word("off" if entry is None else "a schedule" if isinstance(entry, Schedule) else "a number")

    pairs = zip(rule.hyperparameters, prefixes.prefixes, strict=False)  # A state of an earlier release has fewer.
    return ", ".join([f"{kind.name}: {x.tree([word(kind, entry) for entry in x.entries])!r}" for kind, x in pairs])
