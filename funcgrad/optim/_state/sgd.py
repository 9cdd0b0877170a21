"""The state of SGD: the names by which users read it."""

from __future__ import annotations

from typing import Any

from funcgrad._public import published_as
from funcgrad.optim._rules.sgd import SGD_RULE
from funcgrad.optim._state.state import STATIC, Hyperparameter, SlotTree, State
from funcgrad.tree import register_dataclass


@register_dataclass(meta_fields=STATIC, when_made=True)
@published_as("funcgrad")
class SGDState(State):
    """What SGD carries from step to step: a pytree whose structure stays the same from the first step to the last.

    Each hyperparameter is one value, or a pytree of them that is a prefix of the parameters. Numbers are data, and
    travel as one small vector. The flags are structure, and so are a momentum, dampening or weight decay that were
    given as the Python number 0: a program for this state has no such term.

    Attributes:
        lr: learning rate, parameter units per gradient unit: f64[], or a schedule of the step count.
        momentum: f64[], dimensionless; the Python number 0 where it is turned off.
        dampening: f64[], dimensionless; the Python number 0 where it is turned off.
        weight_decay: f64[], gradient units per parameter unit; the Python number 0 where it is turned off.
        nesterov: bool.
        maximize: bool.
        step: i32[], how many steps were taken.
        buffers: a pytree like the parameters: the momentum buffers, ``None`` where momentum is off. A packed
            one, ``buffers.packed``, with ``foreach=True``.
        started: bool[number of damped buffers], whether each has had its first step; ``None`` without momentum, and
            without dampening, where adding to a buffer of zeros is the same as beginning one.
        masters: a pytree like the parameters: copies in ``master_dtype``, ``None`` where a parameter needs none.
        foreach: static; see `sgd_init`.
        differentiable: static; see `sgd_init`.
        master_dtype: static; see `sgd_init`.
    """

    rule = SGD_RULE

    lr = Hyperparameter()
    momentum = Hyperparameter()
    dampening = Hyperparameter()
    weight_decay = Hyperparameter()
    nesterov = Hyperparameter()
    maximize = Hyperparameter()
    buffers = SlotTree("buffer")

    @property
    def started(self) -> Any:
        """Whether each buffer that dampening acts on has had its first step."""
        return None if self.taken is None else self.taken > 0
