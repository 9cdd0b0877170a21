"""Hyperparameters one by one: structure, data, and refusals.

A flag is structure. So is a term that the Python number 0 turns off: the program does not contain it. A schedule is
structure too. Every other number is data: a float64 that is *not* weak, unlike a Python float, so that a compiled step
sees the same type from the first step to the last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_real
from funcgrad._core.bind import Tracer, is_engine_value, is_value
from funcgrad._core.words import shown
from funcgrad._engines import is_abstract, place_beside
from funcgrad._engines.xla.record import jax_functions
from funcgrad._ops.elementwise.cast import cast_p
from funcgrad._ops.program.jax_function import apply
from funcgrad._transforms.base.stage import stage_flat
from funcgrad._types import ScalarLike
from funcgrad.errors import HyperparameterError, UnsupportedFunctionError
from funcgrad.optim._rules.rule import Choice, Flag, Number, Rule
from funcgrad.tree import register_dataclass

FLOAT64, INT32 = np.dtype(np.float64), np.dtype(np.int32)
_HOST_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)
_PYTHON_TYPES = frozenset({bool, int, float})


@register_dataclass(meta_fields=("function",), when_made=True)
@dataclasses.dataclass(frozen=True)
class Schedule:
    """A learning rate as a function of the number of steps taken: part of the structure, not a leaf."""

    function: Callable[[Any], Any]

    def value(self, step: ScalarLike) -> Any:
        """Return the learning rate after this number of steps. Functions of JAX or optax run as under `from_jax`.

        A JAX function refuses a traced count, because JAX does not know our tracers. A NumPy function cannot read a
        count that JAX traces, so it is staged.
        """
        try:
            return self.function(step)
        except UnsupportedFunctionError:
            if not isinstance(step, Tracer):
                raise
        except TypeError:
            if not is_abstract(step):
                raise
            return stage_flat(lambda count: [self.function(count)], [aval_of(step)], "schedule").evaluate(step)[0]
        name = getattr(self.function, "__name__", "schedule")
        called = jax_functions.JaxFunction(lambda count: [self.function(count)], (aval_of(step),), name)
        return apply(called, [step])[0]

    def __repr__(self) -> str:
        return f"Schedule({getattr(self.function, '__name__', self.function)})"


def is_host(value: ScalarLike) -> bool:
    """Return whether Python has the number: it is no tracer, and not on a device."""
    return issubclass(type(value), _HOST_TYPES)


def is_function(value: ScalarLike) -> bool:
    """Return whether a value may be a schedule. Some array types are callable for Python, but are not schedules."""
    return callable(value) and not is_value(value)


def with_lr(rule: Rule, given: Mapping[str, Any], asked: str) -> dict[str, Any]:
    """Return the hyperparameters with ``learning_rate`` renamed to ``lr``."""
    found = dict(given)
    if "learning_rate" in given and "lr" in rule.names:
        if "lr" in given:
            raise TypeError(f"{asked}: lr and learning_rate are given; needed one of them. They are the same.")
        found["lr"] = found.pop("learning_rate")
    return found


def by_name(rule: Rule, given: Mapping[str, Any], asked: str) -> dict[str, Any]:
    """Return hyperparameters by the rule's names: ``learning_rate`` becomes ``lr``, and PyTorch's tuples are split."""
    found = with_lr(rule, given, asked)
    for name, parts in rule.options.items():
        if name not in found:
            continue
        values = found.pop(name)
        if not isinstance(values, tuple | list) or len(values) != len(parts):
            raise TypeError(
                f"{asked}: {name} is {values!r}; needed a tuple of {len(parts)}. For trees of values give "
                f"{' and '.join(parts)} by themselves."
            )
        twice = [part for part in parts if part in found]
        if twice:
            raise TypeError(f"{asked}: {name} and {twice[0]} are given; needed one of them. {twice[0]} is in {name}.")
        found.update(zip(parts, values, strict=True))
    return found


def as_entry(rule: str, kind: Number | Choice, given: Any, path: str = "") -> Any:
    """Return the entry of a hyperparameter or of its part at a key path: a flag, ``None``, a schedule, or a number."""
    value: Any = given[()] if isinstance(given, np.ndarray) and given.shape == () else given
    if isinstance(kind, Flag):
        return _flag(rule, kind, value, path)
    if isinstance(kind, Choice):
        return kind.convert(value)
    if isinstance(value, Schedule) or is_function(value):
        return _schedule(rule, kind, value, path)
    if kind.optional and type(value) in _PYTHON_TYPES and value == 0:
        return None
    return as_number(rule, kind, value, path)


def as_number(rule: str, kind: Number | Choice, value: ScalarLike, path: str = "") -> ScalarLike:
    """Return the number of a hyperparameter: a Python float if it is known, else a float64 of shape []."""
    if is_host(value):
        return float(value)
    if not is_value(value) or aval_of(value).shape != () or not is_real(aval_of(value).dtype):
        arrived = aval_of(value) if is_value(value) else f"a {type(value).__name__}"
        raise TypeError(
            f"{rule}: {kind.name}{path} is {arrived}; needed a real number or an array of shape []. Pass a number, or "
            "a tree of numbers that is a prefix of the parameters."
        )
    known = number(value)
    return cast_p(value, dtype=FLOAT64) if known is None else float(known)


def as_count(value: Any, like: Any, asked: str) -> Any:
    """Return a number of steps in the dtype of a state's count, i32[], and beside it if that is on a device."""
    aval = aval_of(value) if is_value(value) and not isinstance(value, bool) else None
    known = None if aval is None else number(value)
    if aval is None or aval.shape != () or aval.dtype.kind not in "iu" or (known is not None and known < 0):
        arrived = shown(value) if aval is None or known is not None else str(aval)
        raise TypeError(
            f"{asked}: step is {arrived}; needed a number of steps, an integer of at least 0. Pass step=1000, say."
        )
    return cast_p(value, dtype=INT32) if known is None else place_beside(np.array(known, INT32), like)


def _flag(rule: str, kind: Flag, value: ScalarLike, path: str) -> bool:
    known = number(value)
    if known is None:
        arrived = aval_of(value) if is_value(value) else f"a {type(value).__name__}"
        raise TypeError(
            f"{rule}: {kind.name}{path} is {arrived}, of which the value is not known; needed True or False, because "
            "flags are part of the structure. Pass a Python bool; to choose when it runs, compile one step for each."
        )
    return bool(known)


def _schedule(rule: str, kind: Number, value: ScalarLike, path: str) -> Schedule:
    if not kind.schedule:
        raise TypeError(
            f"{rule}: {kind.name}{path} is a function; only lr may be a schedule. Pass a number, and change it with "
            "state.replace."
        )
    return value if isinstance(value, Schedule) else Schedule(value)


def number(value: ScalarLike) -> Any:
    """Return the value as a Python number; ``None`` if it is traced or a schedule."""
    if is_host(value):
        return value
    if is_value(value) and is_engine_value(value) and not is_abstract(value):
        return value.item()
    return None


def check_range(kind: Number | Choice, value: ScalarLike, path: str = "") -> None:
    """Refuse a number out of range, in PyTorch's words. NaN is out of every range."""
    known = number(value) if type(kind) is Number else value
    there = type(kind) is not Number or known is not None
    if there and kind.message is not None and not kind.valid(known):
        raise HyperparameterError(kind.message.format(known) + (f" at {kind.name}{path}" if path else ""))
