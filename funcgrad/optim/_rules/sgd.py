"""The rule of SGD, as ``torch.optim.SGD`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._types import Array, ArrayLike, Hyper, ScalarLike
from funcgrad.numpy import where
from funcgrad.optim._rules.common import DECAYED_ROWS, MAXIMIZE, lr
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import REQUIRED, Flag, Number, Rule, Slot

NESTEROV = "Nesterov momentum requires a momentum and zero dampening"


def _step(p: ArrayLike, g: Array, slots: dict[str, Any], hyper: Hyper, t: ArrayLike) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    if hyper.weight_decay is not None:
        d = d + hyper.weight_decay * p
    if hyper.momentum is None:
        return p - hyper.lr * d, {}
    buffer = _buffer(d, slots["buffer"], hyper, t)
    d = d + hyper.momentum * buffer if hyper.nesterov else buffer
    return p - hyper.lr * d, {"buffer": buffer}


def _buffer(d: Array, buffer: ScalarLike, hyper: Hyper, t: ArrayLike) -> Array:
    if type(t) is int:
        return d
    if hyper.dampening is None:
        # A buffer of zeros gives the same number as PyTorch's "the first step copies the gradient".
        return hyper.momentum * buffer + d
    return hyper.momentum * buffer + where(t == 1, 1.0, 1 - hyper.dampening) * d


def _check(rows: Sequence[Any]) -> str | None:
    """Refuse Nesterov's momentum without momentum or with dampening.

    Parameters with different values are one exception: some of those with ``nesterov`` may have no momentum, because
    they have no buffer to look ahead along. They may not all be without.
    """
    ahead = [row for row in rows if row.nesterov]
    still = [row.momentum is not None and row.momentum <= 0 for row in ahead]
    damped = [
        bool(row.dampening) and not (at_rest and len(rows) > 1) for row, at_rest in zip(ahead, still, strict=True)
    ]
    return NESTEROV if (ahead and all(still)) or any(damped) else None


SGD_RULE = Rule(
    "sgd",
    title="SGD",
    hyperparameters=(
        lr(REQUIRED),
        Number(
            "momentum",
            0,
            "Invalid momentum value: {}",
            optional=True,
            about="the share of the buffer that remains after each step, dimensionless. Without it there are no "
            "buffers.",
        ),
        Number(
            "dampening",
            0,
            valid=lambda value: True,
            optional=True,
            about="the share of the gradient that does not enter the buffer, dimensionless; not at the first step.",
        ),
        Number(
            "weight_decay",
            0,
            "Invalid weight_decay value: {}",
            optional=True,
            about="the factor of the penalty ``weight_decay / 2 * params**2``, in gradient units per parameter unit.",
        ),
        Flag("nesterov", about="look ahead along the buffer; needs momentum, and no dampening."),
        MAXIMIZE,
    ),
    slots=(Slot("buffer", "momentum_buffer", exists=lambda hyper: hyper.momentum is not None, attribute="buffers"),),
    step=_step,
    check=_check,
    counts=lambda hyper: hyper.momentum is not None and hyper.dampening is not None,
    begins=True,
    by_rows=lambda hyper: hyper.momentum is None and hyper.weight_decay is None,
    sparse=lambda hyper: None if hyper.weight_decay is None else DECAYED_ROWS,
    torch=PyTorch(
        "lr, momentum, dampening, weight_decay, nesterov, *, maximize, foreach, differentiable, fused",
        absent=(("fused", False),),
    ),
    formula="""
d = -g if maximize else g
d = d + weight_decay * p
buffer = d                                              the first time
buffer = momentum * buffer + (1 - dampening) * d        afterwards
d = d + momentum * buffer if nesterov else buffer       where momentum is not 0
p = p - lr * d
""",
    rows="Without momentum a step by `fg.sparse.Rows` changes only these rows: in place where XLA may reuse the "
    "parameter, in a copy on NumPy. With momentum it changes every row, as the same gradient in full does. With weight "
    "decay it is refused.",
    source="Sutskever, Martens, Dahl and Hinton, *On the importance of initialization and momentum in deep learning* "
    "(2013), equations 1 to 4, in the form of ``torch.optim.SGD``: the learning rate multiplies the buffer and is no "
    "part of it, and the first buffer is the gradient itself, undampened. Newer PyTorch has the default 0.001 for "
    "``lr``.",
)
