"""Hyperparameters as leaves of the state: what they are stored as, and what is refused.

A compiled step sees the types of its arguments, so a hyperparameter must have one type from the first step to the last:
a float64 scalar (or a bool) that is *not* weak, as a Python float would be, whether it comes from ``sgd_init``, from
``replace`` or out of the previous step. The rule casts it to the dtype of each parameter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_foreign, is_value
from funcgrad._engines import load_xla
from funcgrad._ops.cast import cast_p
from funcgrad._ops.fill import full_like_p
from funcgrad.errors import HyperparameterError
from funcgrad.tree import register_dataclass

NUMBERS = ("lr", "momentum", "dampening", "weight_decay")
FLAGS = ("nesterov", "maximize")
HYPERPARAMETERS = (*NUMBERS, *FLAGS)

_MESSAGES = {
    "lr": "Invalid learning rate: {}",
    "momentum": "Invalid momentum value: {}",
    "weight_decay": "Invalid weight_decay value: {}",
}
NESTEROV = "Nesterov momentum requires a momentum and zero dampening"
_HOST_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)


@register_dataclass(meta_fields=("function",), when_made=True)
@dataclasses.dataclass(frozen=True)
class Schedule:
    """A learning rate as a function of the number of steps taken: part of the structure, not a leaf."""

    function: Callable[[Any], Any]

    def __repr__(self) -> str:
        return f"Schedule({getattr(self.function, '__name__', self.function)})"


def is_host(value: Any) -> bool:
    """Whether Python has the number: it is no tracer, and not on a device."""
    return isinstance(value, _HOST_TYPES)


def as_leaf(name: str, value: Any, path: str = "") -> Any:
    """A hyperparameter, or the part of it at a key path, as the state stores it."""
    if isinstance(value, Schedule):
        return value
    if callable(value) and not is_value(value):
        return _schedule(name, value, path)
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    dtype = np.dtype(bool if name in FLAGS else float)
    if is_host(value):
        return np.asarray(value, dtype)[()]
    if not is_value(value) or aval_of(value).shape != () or aval_of(value).dtype.kind not in "biufV":
        arrived = aval_of(value) if is_value(value) else f"a {type(value).__name__}"
        raise TypeError(
            f"sgd: {name}{path} is {arrived}; needed a real number or an array of shape []. Pass a number, or a "
            "tree of numbers that is a prefix of the parameters."
        )
    return strong(value, dtype)


def _schedule(name: str, function: Callable[..., Any], path: str) -> Schedule:
    if name != "lr":
        raise TypeError(
            f"sgd: {name}{path} is a function; only lr may be a schedule. Pass a number, and change it with "
            "state.replace."
        )
    return Schedule(function)


def strong(value: Any, dtype: np.dtype) -> Any:
    """A traced or device value in a dtype of its own, where Python's numbers would have a weak one."""
    aval = aval_of(value)
    return value if aval.dtype == dtype and not aval.weak else cast_p(value, dtype=dtype)


def in_place_of(old: Any, new: Any) -> Any:
    """``new`` with the dtype, engine and device of ``old``, so that what was compiled for one takes the other."""
    if isinstance(old, Schedule) or isinstance(new, Schedule) or is_host(old):
        return new
    return full_like_p(old, value=new.item()) if isinstance(new, np.generic) else strong(new, aval_of(old).dtype)


def number(value: Any) -> Any:
    """The value as a Python number; ``None`` while it is traced, and for a schedule."""
    if is_host(value):
        return value
    if is_value(value) and is_foreign(value) and not load_xla().is_jax_tracer(value):
        return value.item()
    return None


def check_ranges(values: Mapping[str, Any], path: str = "") -> None:
    """Refuse numbers out of range, in PyTorch's words; NaN is out of every range."""
    for name, message in _MESSAGES.items():
        value = number(values.get(name))
        if value is not None and not value >= 0:
            raise HyperparameterError(message.format(value) + (f" at {name}{path}" if path else ""))


def check_nesterov(values: Mapping[str, Any]) -> None:
    """Refuse Nesterov's momentum without momentum or with dampening, in PyTorch's words."""
    nesterov, momentum, dampening = (number(values[name]) for name in ("nesterov", "momentum", "dampening"))
    if nesterov and ((momentum is not None and momentum <= 0) or dampening):
        raise HyperparameterError(NESTEROV)
