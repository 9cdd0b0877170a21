"""The rules of Adam and AdamW, as ``torch.optim.Adam`` and ``torch.optim.AdamW`` have them."""

from __future__ import annotations

import dataclasses
from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.numpy import maximum, sqrt
from funcgrad.optim._rules.common import (
    COUPLED,
    DECOUPLED,
    MAXIMIZE,
    average,
    begun,
    betas,
    eps,
    lr,
    refuses_rows,
    weight_decay,
)
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Flag, Rule, Slot

_FORMULA = """
d = -g if maximize else g
{decay}
exp_avg = beta1 * exp_avg + (1 - beta1) * d
exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * d**2
max_exp_avg_sq = maximum(max_exp_avg_sq, exp_avg_sq)        where amsgrad, and in place of exp_avg_sq below
p = p - lr / (1 - beta1**t) * exp_avg / (sqrt(exp_avg_sq / (1 - beta2**t)) + eps)
"""


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    first = average(slots["exp_avg"], d, hyper.beta1)
    second = average(slots["exp_avg_sq"], d * d, hyper.beta2)
    new = {"exp_avg": first, "exp_avg_sq": second}
    if hyper.amsgrad:
        second = new["max_exp_avg_sq"] = maximum(slots["max_exp_avg_sq"], second)
    root = root_of_squares_p(second) / sqrt(1 - hyper.beta2**t) + hyper.eps
    return p - hyper.lr / (1 - hyper.beta1**t) * (first / root), new


def _check_options(options: dict[str, Any]) -> str | None:
    """Return PyTorch's refusal of tensors as hyperparameters, or ``None``."""
    given = options["betas"]
    tensors = [not issubclass(type(x), int | float) for x in given]
    if any(tensors) != all(tensors) or any(isinstance(x, int) for x in given):
        return "betas must be either both floats or both Tensors"
    if options.get("foreach") and not options.get("capturable"):
        named = {"lr": not issubclass(type(options["lr"]), int | float), "betas[0]": tensors[0], "betas[1]": tensors[1]}
        for name, tensor in named.items():
            if tensor:
                plural = "a Tensor is not supported for capturable=False and foreach=True"
                return f"{name} as {plural}"
    return None


def _adam(title: str, decay: float, decoupled: Flag, arguments: str, **others: Any) -> Rule:
    return Rule(
        title.lower(),
        title=title,
        hyperparameters=(
            lr(1e-3),
            *betas(),
            eps(1e-8),
            weight_decay(decay),
            Flag("amsgrad", about="divide by the greatest average of squares so far."),
            MAXIMIZE,
            decoupled,
        ),
        slots=(
            Slot("exp_avg", "exp_avg"),
            Slot("exp_avg_sq", "exp_avg_sq"),
            Slot("max_exp_avg_sq", "max_exp_avg_sq", exists=lambda hyper: hyper.amsgrad),
        ),
        step=_step,
        counts=lambda hyper: True,
        sparse=refuses_rows("Adam", ", please consider SparseAdam instead"),
        torch=PyTorch(arguments, counted="step", check_options=_check_options),
        **others,
    )


ADAM = _adam(
    "Adam",
    0.0,
    DECOUPLED,
    arguments="lr, betas, eps, weight_decay, amsgrad, *, foreach, maximize, capturable, differentiable, fused, "
    "decoupled_weight_decay",
    formula=_FORMULA.format(decay=f"d = d + weight_decay * p\n{COUPLED}"),
    source="Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2014), algorithm 1; ``amsgrad``: Reddi, Kale "
    "and Kumar, *On the Convergence of Adam and Beyond* (2018), algorithm 2; both as in ``torch.optim.Adam``.",
)
ADAMW = _adam(
    "AdamW",
    1e-2,
    dataclasses.replace(DECOUPLED, default=True, fixed=True),
    arguments="lr, betas, eps, weight_decay, amsgrad, *, maximize, foreach, capturable, differentiable, fused",
    formula=_FORMULA.format(decay="p = p - lr * weight_decay * p"),
    source="Loshchilov and Hutter, *Decoupled Weight Decay Regularization* (2017), algorithm 2, as in "
    "``torch.optim.AdamW``, where the learning rate multiplies the decay too.",
)
