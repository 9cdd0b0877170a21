"""The rule of SparseAdam, as ``torch.optim.SparseAdam`` has it: Adam for gradients in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.numpy import sqrt
from funcgrad.optim._rules.common import MAXIMIZE, average, betas, lr
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Number, Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    first = average(slots["exp_avg"], d, hyper.beta1)
    second = average(slots["exp_avg_sq"], d * d, hyper.beta2)
    rate = hyper.lr * sqrt(1 - hyper.beta2**t) / (1 - hyper.beta1**t)
    return p - rate * (first / (root_of_squares_p(second) + hyper.eps)), {"exp_avg": first, "exp_avg_sq": second}


def _refusal(groups: Sequence[Sequence[Any]]) -> str | None:
    found = [[i, k] for i, group in enumerate(groups) for k, p in enumerate(group) if p.dtype.kind == "c"]
    return f"Complex params at indices {found}: SparseAdam does not support complex parameters" if found else None


def _positive(value: ScalarLike) -> bool:
    return value > 0


SPARSE_ADAM = Rule(
    "sparse_adam",
    hyperparameters=(
        lr(1e-3, valid=_positive),
        *betas(),
        Number("eps", 1e-8, "Invalid epsilon value: {}", _positive, about="the number added to the root."),
        MAXIMIZE,
    ),
    slots=(Slot("exp_avg", "exp_avg"), Slot("exp_avg_sq", "exp_avg_sq")),
    step=_step,
    counts=lambda hyper: True,
    masked=True,
    dense="SparseAdam does not support dense gradients, please consider Adam instead.",
    refusal=_refusal,
    torch=PyTorch(arguments="lr, betas, eps, maximize", counted="step", counted_in_tensors=False),
    formula="""
d = -g if maximize else g, in the rows of g; the others of p, exp_avg and exp_avg_sq stay as they are
exp_avg = beta1 * exp_avg + (1 - beta1) * d
exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * d**2
p = p - lr * sqrt(1 - beta2**t) / (1 - beta1**t) * exp_avg / (sqrt(exp_avg_sq) + eps)
""",
    source="Kingma and Ba, *Adam: A Method for Stochastic Optimization* (2014), in the rows that a gradient has, as in "
    "``torch.optim.SparseAdam``: ``t`` counts the steps of the whole parameter.",
)
