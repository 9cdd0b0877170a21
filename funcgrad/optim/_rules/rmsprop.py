"""The rule of RMSprop, as ``torch.optim.RMSprop`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.optim._rules.common import MAXIMIZE, average, begun, eps, lr, refuses_rows, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Flag, Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    squares = average(slots["square_avg"], d * d, hyper.alpha)
    new = {"square_avg": squares}
    if hyper.centered:
        mean = new["grad_avg"] = average(slots["grad_avg"], d, hyper.alpha)
        squares = squares - mean * mean
    d = d / (root_of_squares_p(squares) + hyper.eps)
    if hyper.momentum is not None:
        d = new["momentum_buffer"] = hyper.momentum * slots["momentum_buffer"] + d
    return p - hyper.lr * d, new


RMSPROP = Rule(
    "rmsprop",
    title="RMSprop",
    hyperparameters=(
        lr(1e-2),
        Number(
            "alpha",
            0.99,
            "Invalid alpha value: {}",
            about="the factor of the old averages in each step, dimensionless.",
        ),
        eps(1e-8),
        weight_decay(),
        Number(
            "momentum",
            0.0,
            "Invalid momentum value: {}",
            optional=True,
            about="the factor of the old buffer in each step, dimensionless. Without it there are no buffers.",
        ),
        Flag("centered", about="divide by the root of the variance, and not of the mean square."),
        MAXIMIZE,
    ),
    slots=(
        Slot("square_avg", "square_avg"),
        Slot("momentum_buffer", "momentum_buffer", exists=lambda hyper: hyper.momentum is not None),
        Slot("grad_avg", "grad_avg", exists=lambda hyper: hyper.centered),
    ),
    step=_step,
    sparse=refuses_rows("RMSprop"),
    torch=PyTorch(
        arguments="lr, alpha, eps, weight_decay, momentum, centered, capturable, foreach, maximize, differentiable",
        counted="step",
    ),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
square_avg = alpha * square_avg + (1 - alpha) * d**2
grad_avg = alpha * grad_avg + (1 - alpha) * d                       where centered, and then
v = square_avg - grad_avg**2 if centered else square_avg
momentum_buffer = momentum * momentum_buffer + d / (sqrt(v) + eps)
p = p - lr * momentum_buffer                                        without momentum p - lr * d / (sqrt(v) + eps)
""",
    source="Tieleman and Hinton, *Lecture 6.5: RMSProp* (2012); ``centered``: Graves, *Generating Sequences With "
    "Recurrent Neural Networks* (2013), equations 38 to 45; both as in ``torch.optim.RMSprop``, which adds ``eps`` to "
    "the root.",
)
