"""The rule of Adagrad, as ``torch.optim.Adagrad`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.optim._rules.common import DECAYED_ROWS, MAXIMIZE, begun, eps, lr, weight_decay
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    total = slots["sum"] + d * d
    rate = hyper.lr if hyper.lr_decay is None else hyper.lr / (1 + (t - 1) * hyper.lr_decay)
    return p - rate * (d / (root_of_squares_p(total) + hyper.eps)), {"sum": total}


ADAGRAD = Rule(
    "adagrad",
    hyperparameters=(
        lr(1e-2),
        Number(
            "lr_decay",
            0.0,
            "Invalid lr_decay value: {}",
            optional=True,
            about="the decay of the learning rate per step.",
        ),
        weight_decay(),
        Number(
            "initial_accumulator_value",
            0.0,
            "Invalid initial_accumulator_value value: {}",
            about="the first value of the sum of squares, in squared gradient units.",
        ),
        eps(1e-10),
        MAXIMIZE,
    ),
    slots=(Slot("sum", "sum", begin=lambda hyper: hyper.initial_accumulator_value),),
    step=_step,
    counts=lambda hyper: hyper.lr_decay is not None,
    masked=True,
    sparse=lambda hyper: None if hyper.weight_decay is None else DECAYED_ROWS,
    torch=PyTorch(
        arguments="lr, lr_decay, weight_decay, initial_accumulator_value, eps, foreach, *, maximize, "
        "differentiable, fused",
        counted="step",
        eager=True,
    ),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
sum = sum + d**2, from initial_accumulator_value
p = p - lr / (1 + (t - 1) * lr_decay) * d / (sqrt(sum) + eps)
""",
    source="Duchi, Hazan and Singer, *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization* "
    "(2011), figure 1, as in ``torch.optim.Adagrad``. A row-sparse gradient changes only its own rows.",
)
