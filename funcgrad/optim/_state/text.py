"""States as short text: the shapes of what they hold, and never its memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer, is_engine_value, is_value
from funcgrad._engines import is_abstract
from funcgrad.optim._rules.rule import Choice, Rule
from funcgrad.optim._state.hyperparameters import Schedule
from funcgrad.optim._state.prefix import Place, Prefixes, of_vector
from funcgrad.tree import flatten, unflatten

# Of more arrays than this their number is shown, and how many elements there are.
_FEW = 8
# A float with as many characters is rounded.
_LONG = 10


def stored(x: Any) -> Any:
    """A scalar of NumPy's as an array of shape []: orbax gives back no others."""
    return np.array(x) if isinstance(x, np.generic) else x


def store(state: Any, *names: str) -> None:
    """Let fields of a frozen dataclass be such arrays."""
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


def word_of(x: Any) -> _Word:
    """A number that is known as it is, an array by its type."""
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
        # What a transform of somebody else's puts in the place of arrays; an array whose memory was given away.
        return _Word(type(x).__name__)


def _number(x: Any) -> str:
    text = str(x)
    return text if len(text) < _LONG or not isinstance(x, np.floating) else f"{x:.6g}"


def _is_shown(x: Any) -> bool:
    return isinstance(x, Shown)


def text_of(tree: Any) -> str:
    """A pytree with the types of its arrays in their places, or their number where there are many."""
    leaves, treedef = flatten(tree, _is_shown)
    if len(leaves) <= _FEW:
        return repr(unflatten(treedef, map(word_of, leaves)))
    counts: dict[str, int] = {}
    for x in leaves:
        dtype, size = str(word_of(x)).partition("[")[0], getattr(x, "size", 1)
        counts[dtype] = counts.get(dtype, 0) + size
    return f"<{len(leaves)} leaves: {', '.join(f'{size:,} of {dtype}' for dtype, size in counts.items())}>"


def shown(owner: Any, fields: Iterable[tuple[str, Any]]) -> str:
    """An object as the call that would make it, without fields that are ``None`` or hold nothing."""
    text = [f"{name}={text_of(value)}" for name, value in fields if flatten(value, _is_shown)[0]]
    return f"{type(owner).__name__}({', '.join(text)})"


def hyperparameters_shown(rule: Rule, prefixes: Prefixes, numbers: Any) -> list[tuple[str, Any]]:
    """Hyperparameters by name, as trees of what they are; numbers that are not known by their type."""
    known = type(numbers) is np.ndarray or (is_engine_value(numbers) and not is_abstract(numbers))
    values = of_vector(numbers) if known else None

    def word(kind: Any, entry: Any) -> Any:
        if isinstance(kind, Choice) or isinstance(entry, Schedule):
            return _Word(repr(entry.function if isinstance(entry, Schedule) else entry))
        if type(entry) is Place:
            return _Word("f64[]") if values is None else values[entry]
        return 0.0

    pairs = zip(rule.hyperparameters, prefixes.prefixes, strict=False)
    return [(kind.name, x.tree([word(kind, entry) for entry in x.entries])) for kind, x in pairs]


def terms_of(rule: Rule, prefixes: Prefixes) -> str:
    """Which hyperparameters are numbers, schedules, or turned off, and the values of choices: what is not data."""

    def word(kind: Any, entry: Any) -> _Word:
        if isinstance(kind, Choice):
            return _Word(repr(entry))
        return _Word("off" if entry is None else "a schedule" if isinstance(entry, Schedule) else "a number")

    pairs = zip(rule.hyperparameters, prefixes.prefixes, strict=False)  # A state of an earlier release has fewer.
    return ", ".join([f"{kind.name}: {x.tree([word(kind, entry) for entry in x.entries])!r}" for kind, x in pairs])
