"""Hyperparameters and functions that the rules of the Adam family and similar rules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.optim._rules.rule import Flag, Number


def lr(default: Any, message: str = "Invalid learning rate: {}", valid: Callable[[Any], bool] | None = None) -> Number:
    """Describe the learning rate of a rule."""
    about = (
        "learning rate, zero or positive, in parameter units per unit of the direction: a number, an array of shape "
        "``[]``, or a function of the number of steps already taken (0 at the first step). A function is static: it is "
        "compared by identity, so pass the same one each time."
    )
    return Number("lr", default, message, valid or (lambda value: value >= 0), schedule=True, about=about)


def beta(index: int, default: float, about: str) -> Number:
    """Describe one of the ``betas`` of a rule."""
    message = f"Invalid beta parameter at index {index}: {{}}"
    return Number(
        f"beta{index + 1}", default, message, lambda value: 0 <= value < 1, option=("betas", index), about=about
    )


def betas(first: float = 0.9, second: float = 0.999, of: str = "square of the gradient") -> tuple[Number, Number]:
    """Return the two factors of moving averages, ``beta1`` and ``beta2``."""
    return (
        beta(0, first, "the factor of the old average of the gradient in each step, dimensionless."),
        beta(1, second, f"the factor of the old average of the {of} in each step, dimensionless."),
    )


def eps(default: float, about: str = "the number added to the root, in gradient units.") -> Number:
    """Return the number that keeps denominators away from zero."""
    return Number("eps", default, "Invalid epsilon value: {}", about=about)


def weight_decay(default: float = 0.0) -> Number:
    """Return weight decay, which the Python number 0 turns off."""
    about = (
        "the factor of the penalty ``weight_decay / 2 * params**2``, in gradient units per parameter unit; if it is "
        "decoupled, a step multiplies parameters by ``1 - lr * weight_decay`` instead."
    )
    return Number("weight_decay", default, "Invalid weight_decay value: {}", optional=True, about=about)


MAXIMIZE = Flag("maximize", about="maximize the loss instead of minimizing it.")
DECOUPLED = Flag("decoupled_weight_decay", about="shrink the parameters themselves, and leave the gradient unchanged.")


# The line of a formula that describes decoupled weight decay.
COUPLED = "p = p - lr * weight_decay * p        where decoupled_weight_decay, in its place"


def begun(p: ArrayLike, g: Array, hyper: Hyper) -> tuple[Any, Any]:
    """Return the parameter and the direction of a step, after ``maximize`` and weight decay."""
    d = -g if hyper.maximize else g
    if hyper.weight_decay is None:
        return p, d
    if getattr(hyper, "decoupled_weight_decay", False):
        return p * (1 - hyper.lr * hyper.weight_decay), d
    return p, d + hyper.weight_decay * p


def average(held: ScalarLike, new: ScalarLike, kept: ScalarLike) -> Array:
    """Return the moving average, with ``kept`` as the factor of the old value."""
    return kept * held + (1 - kept) * new


# The reason why weight decay refuses a row-sparse gradient, in PyTorch's words and ours.
DECAYED_ROWS = (
    "weight_decay option is not compatible with sparse gradients. It would decay the rows that are there and not the "
    "others. Set weight_decay to 0 there, or pass g.todense()."
)


def refuses_rows(name: str, instead: str = "") -> Callable[[Any], str]:
    """Return PyTorch's refusal of a sparse gradient."""
    return lambda hyper: f"{name} does not support sparse gradients{instead}. Pass g.todense()."
