"""The options of a group: hyperparameters as PyTorch names them, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._core.words import shown
from funcgrad._types import ScalarLike
from funcgrad.autograd.extend import is_tensor
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import Choice, Number
from funcgrad.optim._torch.groups import required


def option_of(options: dict[str, Any], kind: Number | Choice) -> Any:
    """Return a hyperparameter from the options of a group."""
    if type(kind) is Number and kind.option is not None:
        name, place = kind.option
        try:
            return options[name][place]
        except (IndexError, KeyError, TypeError):
            raise HyperparameterError(
                f"{name}: {shown(options[name])} arrived; needed a tuple of numbers, of which there is none at "
                f"{place}. Write all of them: {name}=(first, second)."
            ) from None
    return options[kind.name]


def number_of(value: Any) -> ScalarLike:
    """Return the number in a tensor or array of one element; other values unchanged."""
    return value.item() if is_tensor(value) or isinstance(value, np.ndarray) else value


def check_option(kind: Number | Choice, value: Any) -> None:
    """Refuse a value out of range, in PyTorch's words."""
    if value is required:
        return
    if isinstance(kind, Choice):
        if kind.message is not None and not kind.valid(value):
            raise HyperparameterError(kind.message.format(value))
        return
    if kind.schedule and is_tensor(value) and value.size != 1:
        raise ValueError(f"Tensor {kind.name} must be 1-element")
    value = checked_number(kind, value)
    if kind.message is not None and not kind.valid(value):
        raise HyperparameterError(kind.message.format(value))


def checked_number(kind: Number, value: Any) -> ScalarLike:
    """Return the number of an option; refuse everything else."""
    number = number_of(value)
    if is_value(number) and aval_of(number).shape == ():
        return number
    if callable(number):
        raise TypeError(
            f"{kind.name} is a function; needed a number: PyTorch's optimizers take no schedules. Pass a number, and "
            "give the optimizer to lr_scheduler.LambdaLR(optimizer, factor); or use the functions, such as sgd_init."
        )
    if isinstance(number, dict | list | tuple):
        raise TypeError(
            f"{kind.name} is a {type(number).__name__}; needed a number. For several values make groups, "
            f"[{{'params': [w], '{kind.name}': 0.1}}, ...]; the functions, such as sgd_init, take trees of values."
        )
    raise TypeError(f"{kind.name} is {shown(number)}; needed a number. Pass {kind.name}=0.1, say.")
