"""The rule of NAdam, as ``torch.optim.NAdam`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper
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
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    mu = _momentum(hyper, t)
    next_mu = _momentum(hyper, t + 1)
    product = slots["mu_product"] * mu
    first = average(slots["exp_avg"], d, hyper.beta1)
    second = average(slots["exp_avg_sq"], d * d, hyper.beta2)
    root = root_of_squares_p(second / (1 - hyper.beta2**t)) + hyper.eps
    p = p - hyper.lr * (1 - mu) / (1 - product) * (d / root)
    p = p - hyper.lr * next_mu / (1 - product * next_mu) * (first / root)
    return p, {"exp_avg": first, "exp_avg_sq": second, "mu_product": product}


def _momentum(hyper: Hyper, t: ArrayLike) -> Array:
    return hyper.beta1 * (1 - 0.5 * 0.96 ** (t * hyper.momentum_decay))


NADAM = Rule(
    "nadam",
    title="NAdam",
    hyperparameters=(
        lr(2e-3),
        *betas(),
        eps(1e-8),
        weight_decay(),
        Number(
            "momentum_decay",
            4e-3,
            "Invalid momentum_decay value: {}",
            about="the rate at which the momentum grows from half of ``beta1`` to ``beta1``.",
        ),
        DECOUPLED,
        MAXIMIZE,
    ),
    slots=(
        Slot("exp_avg", "exp_avg"),
        Slot("exp_avg_sq", "exp_avg_sq"),
        Slot("mu_product", "mu_product", begin=1.0, scalar=True),
    ),
    step=_step,
    counts=lambda hyper: True,
    sparse=refuses_rows("NAdam"),
    torch=PyTorch(
        arguments="lr, betas, eps, weight_decay, momentum_decay, decoupled_weight_decay, *, foreach, maximize, "
        "capturable, differentiable",
        counted="step",
    ),
    formula=f"""
d = -g if maximize else g
d = d + weight_decay * p
{COUPLED}
mu = beta1 * (1 - 0.96**(t * momentum_decay) / 2), and next_mu the same of t + 1
mu_product = mu_product * mu, from 1
exp_avg = beta1 * exp_avg + (1 - beta1) * d
exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * d**2
m = (1 - mu) / (1 - mu_product) * d + next_mu / (1 - mu_product * next_mu) * exp_avg
p = p - lr * m / (sqrt(exp_avg_sq / (1 - beta2**t)) + eps)
""",
    source="Dozat, *Incorporating Nesterov Momentum into Adam* (2016), algorithm 2, as in ``torch.optim.NAdam``. "
    "``mu_product`` is kept in float64; PyTorch keeps it in its default dtype.",
)
