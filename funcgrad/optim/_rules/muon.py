"""The rule of Muon, as ``torch.optim.Muon`` has it."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.numpy import maximum
from funcgrad.optim._rules.common import average, lr, refuses_rows
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Choice, Flag, Number, Rule, Slot

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    if p.dtype.kind == "c":
        raise RuntimeError("Muon does not support complex parameters")
    buffer = average(slots["momentum_buffer"], g, hyper.momentum)
    d = average(buffer, g, hyper.momentum) if hyper.nesterov else buffer
    rate = hyper.lr * _ratio(p.shape, hyper.adjust_lr_fn)
    if hyper.weight_decay is not None:
        p = p * (1 - hyper.lr * hyper.weight_decay)
    return p - rate * _orthogonalized(d, hyper), {"momentum_buffer": buffer}


def _orthogonalized(d: Array, hyper: Hyper) -> Array:
    """Return an approximation of the nearest orthogonal matrix, in float32, by iterations in bfloat16.

    Products are summed in float32 and then rounded, as processors with bfloat16 do.
    """
    a, b, c, least = [x.astype(np.float32) for x in (hyper.ns_a, hyper.ns_b, hyper.ns_c, hyper.eps)]
    tall = d.shape[0] > d.shape[1]
    x = _rounded(d.T if tall else d)
    x = _rounded(x / maximum(_rounded(root_of_squares_p((x * x).sum())), least))
    for _ in range(hyper.ns_steps):
        gram = _rounded(x @ x.T)
        x = _rounded(a * x + _rounded(b * gram + c * (gram @ gram)) @ x)
    return x.T if tall else x


def _rounded(x: ArrayLike) -> Array:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def _ratio(shape: tuple[int, ...], adjust: str | None) -> float:
    """Return the factor of the learning rate for a matrix of this shape."""
    rows, columns = shape
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns)) if columns else 1.0


def _refusal(groups: Sequence[Sequence[Any]]) -> str | None:
    shapes = [p.shape for group in groups for p in group if len(p.shape) != 2]
    if not shapes:
        return None
    return f"Muon only supports 2D parameters whereas we found a parameter with size: Size({list(shapes[0])})"


def _any(value: ScalarLike) -> bool:
    return True


MUON = Rule(
    "muon",
    hyperparameters=(
        lr(1e-3, "Learning rate should be >= 0 but is: {}"),
        Number(
            "weight_decay",
            0.1,
            "weight decay should be >= 0 but is: {}",
            optional=True,
            about="parameters shrink by ``lr * weight_decay`` of themselves in each step.",
        ),
        Number(
            "momentum",
            0.95,
            "momentum should be >= 0 but is: {}",
            about="the factor of the old average of the gradient in each step, dimensionless.",
        ),
        Flag("nesterov", True, about="look ahead along the average."),
        *[
            Number(
                f"ns_{letter}",
                value,
                valid=_any,
                option=("ns_coefficients", i),
                about=f"the factor of ``(x x')**{i} x`` in an iteration, dimensionless.",
            )
            for i, (letter, value) in enumerate(zip("abc", _COEFFICIENTS, strict=True))
        ],
        Number("eps", 1e-7, valid=_any, about="the least divisor for the norm."),
        Choice(
            "ns_steps",
            5,
            operator.index,
            "Number of steps must be less than 100 for computational efficiency",
            lambda value: value < 100,
            about="the number of iterations.",
        ),
        Choice(
            "adjust_lr_fn",
            None,
            message="Adjust learning rate function {} is not supported",
            valid=lambda value: value in {None, "original", "match_rms_adamw"},
            about='how the learning rate depends on the shape ``[A, B]``: ``None`` or ``"original"``, by ``sqrt(max(1, '
            'A / B))``; ``"match_rms_adamw"``, by ``0.2 * sqrt(max(A, B))``.',
        ),
    ),
    slots=(Slot("momentum_buffer", "momentum_buffer"),),
    step=_step,
    sparse=refuses_rows("Muon"),
    elementwise=False,
    refusal=_refusal,
    torch=PyTorch(arguments="lr, weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, adjust_lr_fn"),
    formula="""
momentum_buffer = momentum * momentum_buffer + (1 - momentum) * g
d = momentum * momentum_buffer + (1 - momentum) * g if nesterov else momentum_buffer
x = d / maximum(norm(d), eps), transposed where it has more rows than columns
x = a * x + (b * x x' + c * (x x')**2) x        ns_steps times, in bfloat16
p = p - lr * weight_decay * p
p = p - lr * sqrt(max(1, A / B)) * x            for p of shape [A, B]
""",
    source="Jordan, *Muon: An optimizer for hidden layers in neural networks* (2024); ``match_rms_adamw``: Liu et al., "
    "*Muon is Scalable for LLM Training* (2025), section 2.2; both as in ``torch.optim.Muon``. For matrices alone.",
)
