"""The rule of SGD, as ``torch.optim.SGD`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.numpy import where
from funcgrad.optim._rules.common import DECAYED_ROWS
from funcgrad.optim._rules.rule import Flag, Number, Rule, Slot

NESTEROV = "Nesterov momentum requires a momentum and zero dampening"


def _step(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    if hyper.weight_decay is not None:
        d = d + hyper.weight_decay * p
    if hyper.momentum is None:
        return p - hyper.lr * d, {}
    buffer = _buffer(d, slots["buffer"], hyper, t)
    d = d + hyper.momentum * buffer if hyper.nesterov else buffer
    return p - hyper.lr * d, {"buffer": buffer}


def _buffer(d: Any, buffer: Any, hyper: Any, t: Any) -> Any:
    if type(t) is int:
        return d
    if hyper.dampening is None:
        # One that has not begun is zero, and to add to it is to begin it.
        return hyper.momentum * buffer + d
    return hyper.momentum * buffer + where(t == 1, 1.0, 1 - hyper.dampening) * d


def _check(rows: Sequence[Any]) -> str | None:
    """Refuse Nesterov's momentum without momentum or with dampening.

    Where the values differ between parameters, those without momentum may be among those with ``nesterov``: they have
    nothing to look ahead along. Not all of them may.
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
        Number("lr", message="Invalid learning rate: {}", schedule=True),
        Number("momentum", 0.0, "Invalid momentum value: {}", optional=True),
        Number("dampening", 0.0, valid=lambda value: True, optional=True),
        Number("weight_decay", 0.0, "Invalid weight_decay value: {}", optional=True),
        Flag("nesterov"),
        Flag("maximize"),
    ),
    slots=(Slot("buffer", "momentum_buffer", exists=lambda hyper: hyper.momentum is not None),),
    step=_step,
    check=_check,
    counts=lambda hyper: hyper.momentum is not None and hyper.dampening is not None,
    begins=True,
    by_rows=lambda hyper: hyper.momentum is None and hyper.weight_decay is None,
    sparse=lambda hyper: None if hyper.weight_decay is None else DECAYED_ROWS,
)
