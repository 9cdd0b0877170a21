"""The rule of Rprop, as ``torch.optim.Rprop`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper
from funcgrad.numpy import maximum, minimum, where
from funcgrad.optim._rules.common import MAXIMIZE, lr, refuses_rows
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    agreement = d * slots["prev"]
    turned = agreement < 0
    # The product of the signs may be zero or NaN. PyTorch's sign of it is 0, so there is no change.
    factor = where(agreement > 0, hyper.etaplus, where(turned, hyper.etaminus, 1.0))
    # The learning rate may change until the first step.
    held = where(t == 1, hyper.lr, slots["step_size"])
    size = minimum(maximum(held * factor, hyper.step_size_min), hyper.step_size_max)
    d = where(turned, 0.0, d)
    return p - where(d > 0, size, where(d < 0, -size, 0.0)), {"prev": d, "step_size": size}


def _check(rows: Sequence[Any]) -> str | None:
    for row in rows:
        low, high = row.etaminus, row.etaplus
        if (low is not None and not 0 < low < 1) or (high is not None and not high > 1):
            return f"Invalid eta values: {low}, {high}"
    return None


RPROP = Rule(
    "rprop",
    hyperparameters=(
        lr(1e-2),
        Number(
            "etaminus",
            0.5,
            option=("etas", 0),
            about="the factor of the step size if the gradient changed its sign, less than 1.",
        ),
        Number("etaplus", 1.2, option=("etas", 1), about="the factor if the sign stayed, more than 1."),
        Number("step_size_min", 1e-6, option=("step_sizes", 0), about="the least step, in parameter units."),
        Number("step_size_max", 50, option=("step_sizes", 1), about="the greatest step, in parameter units."),
        MAXIMIZE,
    ),
    slots=(Slot("prev", "prev"), Slot("step_size", "step_size", begin=lambda hyper: hyper.lr)),
    step=_step,
    check=_check,
    counts=lambda hyper: True,
    sparse=refuses_rows("Rprop"),
    torch=PyTorch(arguments="lr, etas, step_sizes, *, capturable, foreach, maximize, differentiable", counted="step"),
    formula="""
d = -g if maximize else g
step_size = step_size * (etaplus if d * prev > 0 else etaminus if d * prev < 0 else 1), from lr
step_size = minimum(maximum(step_size, step_size_min), step_size_max)
d = 0 if d * prev < 0 else d
p = p - sign(d) * step_size
prev = d
""",
    source="Riedmiller and Braun, *A direct adaptive method for faster backpropagation learning: the RPROP algorithm* "
    "(1993), as in ``torch.optim.Rprop``: after a change of sign there is no step. The learning rate is the first "
    "step's size, and is not read afterwards. The sign of NaN is 0.",
)
