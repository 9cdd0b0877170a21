"""The rule of averaged SGD, as ``torch.optim.ASGD`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.numpy import maximum, where
from funcgrad.optim._rules.common import MAXIMIZE, begun, lr, refuses_rows, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    mean, mu = slots["ax"], slots["mu"]
    # The learning rate may change until the first step.
    eta = where(t == 1, hyper.lr, slots["eta"])
    p = p * (1 - hyper.lambd * eta) - eta * d
    mean = where(mu == 1, p, mean + mu * (p - mean))
    eta = hyper.lr / (1 + hyper.lambd * hyper.lr * t) ** hyper.alpha
    return p, {"ax": mean, "eta": eta, "mu": 1 / maximum(1.0, t - hyper.t0)}


def _any(value: ScalarLike) -> bool:
    return True


ASGD = Rule(
    "asgd",
    title="ASGD",
    hyperparameters=(
        lr(1e-2),
        Number("lambd", 1e-4, valid=_any, about="the decay of parameters and learning rate per step."),
        Number("alpha", 0.75, valid=_any, about="the power by which the learning rate shrinks, dimensionless."),
        Number("t0", 1e6, valid=_any, about="the step after which the average begins."),
        weight_decay(),
        MAXIMIZE,
    ),
    slots=(
        Slot("eta", "eta", begin=lambda hyper: hyper.lr, scalar=True),
        Slot("mu", "mu", begin=1.0, scalar=True),
        Slot("ax", "ax"),
    ),
    step=_step,
    counts=lambda hyper: True,
    sparse=refuses_rows("ASGD"),
    torch=PyTorch("lr, lambd, alpha, t0, weight_decay, foreach, maximize, differentiable, capturable", counted="step"),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
p = (1 - lambd * eta) * p - eta * d
ax = ax + mu * (p - ax)
eta = lr / (1 + lambd * lr * t)**alpha, from lr
mu = 1 / maximum(1, t - t0), from 1
""",
    source="Polyak and Juditsky, *Acceleration of stochastic approximation by averaging* (1992), as in "
    "``torch.optim.ASGD``; the averages are ``state.ax``. ``eta`` and ``mu`` are kept in float64; PyTorch keeps them "
    "in its default dtype.",
)
