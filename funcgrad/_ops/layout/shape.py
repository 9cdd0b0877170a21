"""Reshape, transpose, flip: the same elements in another order. Each operation has an inverse of its own kind."""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive, View, ViewPrimitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.batching import batch_axes, moved_axes
from funcgrad._ops.layout.depends import moved, same
from funcgrad._types import Array, Value


def _reshape_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple, params: dict) -> Array:
    return reshape(operands[0], (size, *params["shape"]))


reshape_p = ViewPrimitive(
    "reshape",
    operands=("x",),
    numpy=lambda x, *, shape: np.asarray(x).reshape(shape),
    xla=lambda lax, x, *, shape: lax.reshape(x, shape),
    aval=lambda x, *, shape: x.with_shape(shape),
    derivative=Multilinear(("x",), [lambda y_bar, x_shape: reshape(y_bar, x_shape)]),
    batch=_reshape_batch,
    cost=lambda y, x, **_: 0,
    view=View(lambda x, part, shape: reshape(part, x.shape), may_copy=True),
    forms=Forms(basic=Basic.RESHAPE, depends=same),
)


def reshape(x: Value, shape: tuple[int, ...]) -> Value:
    """Return the elements in C order in another shape (all lengths given)."""
    return x if getattr(x, "shape", None) == shape else reshape_p(x, shape=shape)


def inverse_permutation(permutation: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse of a permutation."""
    inverse = [0] * len(permutation)
    for i, axis in enumerate(permutation):
        inverse[axis] = i
    return tuple(inverse)


def _transpose_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple, params: dict) -> Array:
    return transpose(operands[0], (0, *moved_axes(params["permutation"])))


transpose_p = ViewPrimitive(
    "transpose",
    operands=("x",),
    numpy=lambda x, *, permutation: x.transpose(permutation),
    xla=lambda lax, x, *, permutation: lax.transpose(x, permutation),
    aval=lambda x, *, permutation: x.with_shape(tuple([x.shape[i] for i in permutation])),
    derivative=Multilinear(("x",), [lambda y_bar, permutation: transpose(y_bar, inverse_permutation(permutation))]),
    batch=_transpose_batch,
    cost=lambda y, x, **_: 0,
    view=View(lambda x, part, permutation: transpose(part, inverse_permutation(permutation))),
    forms=Forms(basic=Basic.TRANSPOSE, depends=moved),
)


def transpose(x: Value, permutation: tuple[int, ...]) -> Value:
    """Return the array with its axes in another order."""
    return transpose_p(x, permutation=permutation)


flip_p = ViewPrimitive(
    "flip",
    operands=("x",),
    numpy=lambda x, *, axes: np.flip(x, axes),
    xla=lambda lax, x, *, axes: lax.rev(x, axes),
    aval=lambda x, *, axes: x,
    derivative=Multilinear(("x",), [lambda y_bar, axes: flip(y_bar, axes)]),
    batch=batch_axes("axes"),
    cost=lambda y, x, **_: 0,
    view=View(lambda x, part, axes: flip(part, axes)),
    forms=Forms(basic=Basic.FLIP, depends=moved),
)


def flip(x: Value, axes: tuple[int, ...]) -> Value:
    """Return the elements in reverse order along each of ``axes``."""
    return flip_p(x, axes=axes)


def expand_dims(x: Value, axes: tuple[int, ...]) -> Value:
    """Return the array with new axes of length 1 at these positions of the result."""
    shape = list(x.shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return reshape(x, tuple(shape))


def squeezed_shape(x: Aval, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without ``axes``."""
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)
