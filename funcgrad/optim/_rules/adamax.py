"""The rule of Adamax, as ``torch.optim.Adamax`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.numpy import absolute, maximum
from funcgrad.optim._rules.common import MAXIMIZE, average, begun, betas, eps, lr, refuses_rows, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    first = average(slots["exp_avg"], d, hyper.beta1)
    norm = maximum(hyper.beta2 * slots["exp_inf"], absolute(d) + hyper.eps)
    return p - hyper.lr / (1 - hyper.beta1**t) * (first / norm), {"exp_avg": first, "exp_inf": norm}


ADAMAX = Rule(
    "adamax",
    hyperparameters=(
        lr(2e-3),
        *betas(of="infinity norm"),
        eps(1e-8, "the number added to the norm, in gradient units."),
        weight_decay(),
        MAXIMIZE,
    ),
    slots=(Slot("exp_avg", "exp_avg"), Slot("exp_inf", "exp_inf")),
    step=_step,
    counts=lambda hyper: True,
    sparse=refuses_rows("Adamax"),
    torch=PyTorch(
        arguments="lr, betas, eps, weight_decay, foreach, *, maximize, differentiable, capturable", counted="step"
    ),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
exp_avg = beta1 * exp_avg + (1 - beta1) * d
exp_inf = maximum(beta2 * exp_inf, abs(d) + eps)
p = p - lr / (1 - beta1**t) * exp_avg / exp_inf
""",
    source="Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2014), algorithm 2, as in "
    "``torch.optim.Adamax``, where ``eps`` is added.",
)
