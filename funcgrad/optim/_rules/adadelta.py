"""The rule of Adadelta, as ``torch.optim.Adadelta`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.numpy import sqrt
from funcgrad.optim._rules.common import MAXIMIZE, average, begun, eps, lr, refuses_rows, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    squares = average(slots["square_avg"], d * d, hyper.rho)
    delta = sqrt(slots["acc_delta"] + hyper.eps) / sqrt(squares + hyper.eps) * d
    steps = average(slots["acc_delta"], delta * delta, hyper.rho)
    return p - hyper.lr * delta, {"square_avg": squares, "acc_delta": steps}


ADADELTA = Rule(
    "adadelta",
    hyperparameters=(
        lr(1.0),
        Number(
            "rho",
            0.9,
            "Invalid rho value: {}",
            lambda value: 0 <= value <= 1,
            about="the factor of the old averages of squares in each step, dimensionless.",
        ),
        eps(1e-6, "the number added to both averages under their roots."),
        weight_decay(),
        MAXIMIZE,
    ),
    slots=(Slot("square_avg", "square_avg"), Slot("acc_delta", "acc_delta")),
    step=_step,
    sparse=refuses_rows("Adadelta"),
    torch=PyTorch(
        arguments="lr, rho, eps, weight_decay, foreach, *, capturable, maximize, differentiable", counted="step"
    ),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
square_avg = rho * square_avg + (1 - rho) * d**2
delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * d
acc_delta = rho * acc_delta + (1 - rho) * delta**2
p = p - lr * delta
""",
    source="Zeiler, *ADADELTA: An Adaptive Learning Rate Method* (2012), algorithm 1, as in ``torch.optim.Adadelta``, "
    "which has a learning rate.",
)
