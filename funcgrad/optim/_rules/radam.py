"""The rule of RAdam, as ``torch.optim.RAdam`` has it."""

from __future__ import annotations

from typing import Any

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.numpy import sqrt, where
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
from funcgrad.optim._rules.rule import Rule, Slot


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    p, d = begun(p, g, hyper)
    first = average(slots["exp_avg"], d, hyper.beta1)
    second = average(slots["exp_avg_sq"], d * d, hyper.beta2)
    rectified, factor = _rectification(hyper.beta2, t)
    adaptive = factor * sqrt(1 - hyper.beta2**t) / (root_of_squares_p(second) + hyper.eps)
    p = p - hyper.lr / (1 - hyper.beta1**t) * (first * where(rectified, adaptive, 1.0))
    return p, {"exp_avg": first, "exp_avg_sq": second}


def _rectification(beta2: ScalarLike, t: ArrayLike) -> tuple[Any, Any]:
    """Return whether the variance is known well enough to divide by it at this step, and the rectification factor."""
    greatest = 2 / (1 - beta2) - 1
    length = greatest - 2 * t * beta2**t / (1 - beta2**t)
    rectified = length > 5.0
    # These numbers make the radicand positive when the root is not used.
    most, length = where(rectified, greatest, 6.0), where(rectified, length, 6.0)
    return rectified, sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))


RADAM = Rule(
    "radam",
    title="RAdam",
    hyperparameters=(lr(1e-3), *betas(), eps(1e-8), weight_decay(), DECOUPLED, MAXIMIZE),
    slots=(Slot("exp_avg", "exp_avg"), Slot("exp_avg_sq", "exp_avg_sq")),
    step=_step,
    counts=lambda hyper: True,
    sparse=refuses_rows("RAdam"),
    torch=PyTorch(
        arguments="lr, betas, eps, weight_decay, decoupled_weight_decay, *, foreach, maximize, "
        "capturable, differentiable",
        counted="step",
    ),
    formula=f"""
d = -g if maximize else g
d = d + weight_decay * p
{COUPLED}
exp_avg = beta1 * exp_avg + (1 - beta1) * d
exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * d**2
most = 2 / (1 - beta2) - 1
length = most - 2 * t * beta2**t / (1 - beta2**t)
r = sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
a = r * sqrt(1 - beta2**t) / (sqrt(exp_avg_sq) + eps) if length > 5 else 1
p = p - lr / (1 - beta1**t) * exp_avg * a
""",
    source="Liu et al., *On the Variance of the Adaptive Learning Rate and Beyond* (2019), algorithm 2, as in "
    "``torch.optim.RAdam``, which adds ``eps`` to the root. A compiled step contains both cases and chooses between "
    "them.",
)
