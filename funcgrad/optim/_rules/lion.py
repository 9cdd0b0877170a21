"""The rule of Lion, as its paper has it."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.numpy import sign
from funcgrad.optim._rules.common import MAXIMIZE, average, beta, lr, refuses_rows, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    held = slots["exp_avg"]
    if hyper.weight_decay is not None:
        p = p * (1 - hyper.lr * hyper.weight_decay)
    return p - hyper.lr * sign(average(held, d, hyper.beta1)), {"exp_avg": average(held, d, hyper.beta2)}


LION = Rule(
    "lion",
    hyperparameters=(
        lr(1e-4),
        beta(0, 0.9, "the part that the moving average has in the direction, dimensionless."),
        beta(1, 0.99, "the factor of the old average of the gradient in each step, dimensionless."),
        weight_decay(),
        MAXIMIZE,
    ),
    slots=(Slot("exp_avg", "exp_avg"),),
    step=_step,
    sparse=refuses_rows("Lion"),
    torch=PyTorch(arguments="lr, betas, weight_decay, *, foreach, maximize, differentiable"),
    formula="""
d = -g if maximize else g
p = p - lr * weight_decay * p
p = p - lr * sign(beta1 * exp_avg + (1 - beta1) * d)
exp_avg = beta2 * exp_avg + (1 - beta2) * d
""",
    source="Chen et al., *Symbolic Discovery of Optimization Algorithms* (2023), algorithm 2, where weight decay is "
    "decoupled.",
)
