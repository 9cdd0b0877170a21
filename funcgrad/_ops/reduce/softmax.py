"""The logarithm of the softmax as one operation. Its parts would be seven operations on the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.arithmetic import log_p, mul_p, sub_p
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.layout.batching import batch_axes
from funcgrad._ops.layout.broadcast import reduce_sum, reduce_sum_p
from funcgrad._ops.reduce.reduce import reduce_max_p
from funcgrad._types import Array, Lax, Value


def _log_softmax_numpy(x: Array, *, axes: tuple[int, ...]) -> Array:
    if not x.size:
        return x.copy()
    # The greatest element cancels; without the subtraction the exponential would overflow.
    shifted = x - np.maximum.reduce(x, axes, keepdims=True)
    shifted -= np.log(np.add.reduce(np.exp(shifted), axes, keepdims=True))
    return shifted


def _log_softmax_expanded(x: Value, *, axes: tuple[int, ...]) -> Any:
    shifted = sub_p(x, reduce_max_p(x, axes=axes, keepdims=True))
    return sub_p(shifted, log_p(reduce_sum_p(exp_p(shifted), axes=axes, keepdims=True)))


def _log_softmax_xla(lax: Lax, x: Array, *, axes: tuple[int, ...]) -> Array:
    kept = tuple(i for i in range(x.ndim) if i not in axes)

    def spread(y: Value) -> Value:
        return lax.broadcast_in_dim(y, x.shape, kept)

    shifted = lax.sub(x, spread(lax.stop_gradient(lax.reduce_max(x, axes))))
    return lax.sub(shifted, spread(lax.log(lax.reduce_sum(lax.exp(shifted), axes))))


def _log_softmax_bar(y_bar: Value, y: Value, axes: tuple[int, ...]) -> Value:
    if type(y_bar) is type(y) is np.ndarray:
        x_bar = np.exp(y)
        x_bar *= np.add.reduce(y_bar, axes, keepdims=True)
        return np.subtract(y_bar, x_bar, out=x_bar)
    return sub_p(y_bar, mul_p(bind(exp_p, (y,), NO_PARAMS), reduce_sum(y_bar, axes, keepdims=True)))


def _log_softmax_push(x_dot: Value, y: Value, axes: tuple[int, ...]) -> Any:
    softmax = bind(exp_p, (y,), NO_PARAMS)
    return sub_p(x_dot, reduce_sum(mul_p(softmax, x_dot), axes, keepdims=True))


log_softmax_p = Primitive(
    "log_softmax",
    operands=("x",),
    numpy=_log_softmax_numpy,
    xla=_log_softmax_xla,
    aval=lambda x, *, axes: Aval(x.shape, x.dtype),
    derivative=PerOperand(("x",), [_log_softmax_bar], [_log_softmax_push]),
    batch=batch_axes("axes"),
    cost=lambda y, x, **_: 25 * x.size,
    forms=Forms(expand=_log_softmax_expanded, new_memory=True),
)
