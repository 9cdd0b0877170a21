"""The affine map and the scaled inner product, which dense layers and their losses use, as one operation each.

The tape would otherwise record several products and sums. In a step of a small network half of the time is the cost of
operations beyond NumPy's own time. In a large one, adding the bias in place saves an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear, PerOperand
from funcgrad._ops.contract.dot import dot_general, dot_general_p
from funcgrad._ops.contract.layouts import affine_layout
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, sum_to_shape
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Lax, Value

_NO_BATCH = ((), ())
_BLAS = frozenset("fdFD")


def _affine_numpy(x: Array, weight: Array, bias: Array) -> Array:
    y = x.dot(weight.T)
    y += bias
    return y


def _affine_expanded(x: Value, weight: Value, bias: Value) -> Any:
    return bind(
        add_p, (bind(dot_general_p, (x, weight), {"contract": ((1,), (1,)), "batch": _NO_BATCH}), bias), NO_PARAMS
    )


def _affine_xla(lax: Lax, x: Array, weight: Array, bias: Array) -> Array:
    y = lax.dot_general(x, weight, (((1,), (1,)), _NO_BATCH))
    return lax.add(y, lax.broadcast_in_dim(bias, y.shape, (1,)))


def _affine_batch(_: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """Batch the product by its own rule; a batched bias gets an axis of length 1 for the rows."""
    x, weight, bias = operands
    y: Any = None
    contraction = {"contract": ((1,), (1,)), "batch": _NO_BATCH}
    if any(batched[:2]):
        assert dot_general_p.batch is not None
        y = dot_general_p.batch(dot_general_p, size, (x, weight), batched[:2], contraction)
    else:
        y = bind(dot_general_p, (x, weight), contraction)
    return bind(add_p, (y, reshape(bias, (size, 1, bias.shape[1])) if batched[2] else bias), NO_PARAMS)


# Bare matrices use NumPy directly: the general contraction costs twice as much as a small product.
def _affine_x_bar(y_bar: Value, weight: Value) -> Value:
    if type(y_bar) is type(weight) is np.ndarray:
        return y_bar.dot(weight)
    return dot_general(y_bar, weight, ((1,), (0,)))


def _affine_weight_bar(y_bar: Value, x: Value) -> Value:
    if type(y_bar) is type(x) is np.ndarray:
        return y_bar.T.dot(x)
    return dot_general(y_bar, x, ((0,), (0,)))


affine_p = Primitive(
    "affine",
    operands=("x", "weight", "bias"),
    numpy=_affine_numpy,
    xla=_affine_xla,
    aval=lambda x, weight, bias: Aval((x.shape[0], weight.shape[0]), x.dtype),
    derivative=PerOperand(
        ("x", "weight", "bias"),
        [
            _affine_x_bar,
            _affine_weight_bar,
            lambda y_bar, bias_shape: sum_to_shape(y_bar, bias_shape),
        ],
        [
            lambda x_dot, weight: dot_general(x_dot, weight, ((1,), (1,))),
            lambda weight_dot, x: dot_general(x, weight_dot, ((1,), (1,))),
            lambda bias_dot, y_aval: broadcast_to(bias_dot, y_aval.shape),
        ],
    ),
    batch=_affine_batch,
    cost=lambda y, x, weight, bias: 2 * y.size * x.shape[1] + y.size,
    forms=Forms(expand=_affine_expanded, new_memory=True, layout=affine_layout),
)
"""``x @ weight.T + bias`` of matrices of one dtype and a vector."""


def _inner_numpy(a: Array, b: Array, *, scale: float) -> Array:
    if a.dtype.char in _BLAS:
        return np.dot(a.reshape(-1), b.reshape(-1)) * scale
    return np.add.reduce(a * b, None, dtype=a.dtype) * scale


def _inner_xla(lax: Lax, a: Array, b: Array, *, scale: float) -> Array:
    total = lax.reduce_sum(lax.mul(a, b), tuple(range(a.ndim)))
    return lax.mul(total, lax.full_like(total, scale))


def _scaled(other: Value, y_bar: Value, scale: float) -> Value:
    if type(other) is np.ndarray and isinstance(y_bar, np.inexact):
        return other * (y_bar * scale)
    return mul_p(other, mul_p(y_bar, scale))


def _inner_batch(_: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    products = bind(mul_p, operands, NO_PARAMS)
    return mul_p(reduce_sum(products, tuple(range(1, len(products.shape)))), params["scale"])


inner_p = Primitive(
    "inner",
    operands=("a", "b"),
    numpy=_inner_numpy,
    xla=_inner_xla,
    aval=lambda a, b, *, scale: Aval((), a.dtype),
    derivative=Multilinear(
        ("a", "b"),
        [lambda y_bar, b, scale: _scaled(b, y_bar, scale), lambda y_bar, a, scale: _scaled(a, y_bar, scale)],
    ),
    batch=_inner_batch,
    cost=lambda y, a, b, **_: 2 * a.size,
    forms=Forms(layout=lambda a, b, *, scale: []),
)
"""``scale * sum(a * b)`` over all elements of two arrays of one shape and dtype."""
