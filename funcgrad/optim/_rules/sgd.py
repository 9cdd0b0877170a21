"""The rule of SGD for one parameter of any kind; for NumPy arrays it is written down in ``blocks.py``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.arithmetic import add_p, mul_p, neg_p, sub_p
from funcgrad._ops.barrier import separate_p
from funcgrad._ops.cast import cast
from funcgrad._ops.copy import fresh

# From this many elements on a compiled step is bound by memory.
_SEPARATED = 1 << 16


class Hyper(NamedTuple):
    """The hyperparameters of one parameter: Python numbers where they are known, else 0-d values.

    A flag that is not known when the step is compiled has become numbers by which terms are multiplied: two scalars,
    where a select would read and write whole arrays, and compile five times as long.
    """

    lr: Any
    momentum: Any
    weight_decay: Any
    # Whether to look ahead; or the pair of what the gradient and the buffer are multiplied by in the direction.
    nesterov: Any
    # Whether to go uphill; or the sign of the gradient.
    maximize: Any

    def in_dtype(self, dtype: np.dtype) -> Hyper:
        """Those that are no Python numbers, which are weak, in the dtype of the parameter."""
        lr, momentum, weight_decay = [x if type(x) is float else cast(x, dtype) for x in self[:3]]
        nesterov, maximize = self[3:]
        if type(nesterov) is not bool:
            ahead = cast(nesterov, dtype)
            nesterov = ahead, add_p(mul_p(ahead, momentum), sub_p(1, ahead))
        if type(maximize) is not bool:
            maximize = sub_p(1, mul_p(cast(maximize, dtype), 2))
        return Hyper(lr, momentum, weight_decay, nesterov, maximize)

    @property
    def known(self) -> bool:
        """Whether all of them are Python numbers."""
        return all(type(x) in (float, bool) for x in self)


def step(p: Any, g: Any, buffer: Any, keep: Any, hyper: Hyper) -> tuple[Any, Any]:
    """One step on values of any kind: the new parameter and the new buffer.

    Args:
        p: the parameter.
        g: its gradient, of the same shape and dtype.
        buffer: its momentum buffer, or ``None`` where momentum is 0.
        keep: what the gradient is multiplied by when it enters the buffer; ``None`` at the first step, where the
            gradient is the buffer.
        hyper: the hyperparameters, in the dtype of ``p``.
    """
    d = _decayed(p, g, hyper)
    if buffer is None:
        return sub_p(p, mul_p(d, hyper.lr)), None
    if keep is None:
        # Not the gradient itself: the buffer is written to later.
        buffer = fresh(d, g)
    else:
        buffer = add_p(mul_p(buffer, hyper.momentum), d if _is(keep, 1.0) else mul_p(d, keep))
    if not hyper.known and aval_of(p).size >= _SEPARATED:
        # Both results would read p, g and the old buffer, and the second compute the first again.
        buffer, p, g = separate_p(buffer, p, g)
        d = _decayed(p, g, hyper)
    return sub_p(p, mul_p(_direction(d, buffer, hyper), hyper.lr)), buffer


def _decayed(p: Any, g: Any, hyper: Hyper) -> Any:
    if hyper.maximize is not False:
        g = neg_p(g) if hyper.maximize is True else mul_p(g, hyper.maximize)
    return g if _is(hyper.weight_decay, 0.0) else add_p(g, mul_p(p, hyper.weight_decay))


def _direction(d: Any, buffer: Any, hyper: Hyper) -> Any:
    if hyper.nesterov is False:
        return buffer
    if hyper.nesterov is True:
        return add_p(d, mul_p(buffer, hyper.momentum))
    of_gradient, of_buffer = hyper.nesterov
    return add_p(mul_p(d, of_gradient), mul_p(buffer, of_buffer))


def _is(value: Any, number: float) -> bool:
    """Whether a hyperparameter is known to be this number."""
    return type(value) is float and value == number
