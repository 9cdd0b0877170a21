"""Permutations, choices and categories."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.random import bits as ops
from funcgrad._ops.reduce.sort import argsort, searchsorted
from funcgrad._types import Array, ArrayLike, Key
from funcgrad.numpy.extend import as_value, normalize_axis
from funcgrad.random._continuous import gumbel
from funcgrad.random._keys import FLOATS, Shape, as_key, as_shape, parameter_shape
from funcgrad.random._uniform import randint

_WORD = np.dtype(np.uint32)
_INDEX = np.dtype(np.int64)


def permutation(key: Key, x: ArrayLike, axis: int = 0, independent: bool = False) -> Array:
    """Return the elements of an array along an axis, or the numbers below an integer, in random order.

    Args:
        key: ``uint32[2]``.
        x: an array, which has a derivative; or an integer.
        axis: the axis to shuffle along.
        independent: whether each vector along the axis gets its own order.

    Returns:
        The result of ``jax.random.permutation``.

    Raises:
        TypeError: ``key`` is no key, or ``x`` is neither an array nor a known integer.
        numpy.exceptions.AxisError: there is no such axis.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.permutation(fg.random.key(0), 5)
        array([0, 1, 4, 3, 2])
    """
    key, x = as_key("permutation", key), as_value(x)
    if not np.ndim(x):
        normalize_axis(axis, 1)
        return _order(key, (_count("permutation", x),), 0)
    axis = normalize_axis(axis, x.ndim)
    if not independent:
        return fnp.take(x, _order(key, (x.shape[axis],), 0), axis)
    return fnp.take_along_axis(x, _order(key, x.shape, axis), axis)


def _count(name: str, x: ArrayLike) -> int:
    try:
        return operator.index(x)
    except TypeError:
        raise TypeError(
            f"random.{name}: {aval_of(x)} has no order; needed an array with axes, or an integer that is known when "
            "the function is traced. Pass the integer as a static argument."
        ) from None


def _order(key: Key, shape: tuple[int, ...], axis: int) -> Array:
    """Return random indices along an axis. They are sorted by random words, repeatedly, so that ties hardly matter."""
    size = max(1, math.prod(shape))
    order = None
    for _ in range(math.ceil(3 * math.log(size) / math.log(2**32 - 1))):
        key, drawn = ops.split(key, (2,))
        places = argsort(ops.bits(drawn, shape, _WORD), axis)
        order = places if order is None else fnp.take_along_axis(order, places, axis)
    return np.zeros(shape, _INDEX) if order is None else order


def choice(  # noqa: PLR0917  (jax.random's signature)
    key: Key,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike = None,
    axis: int = 0,
    mode: Literal["low", "high"] | None = None,
) -> Array:
    """Pick random elements of an array along an axis, or of the numbers below an integer.

    Args:
        key: ``uint32[2]``.
        a: an array, which has a derivative; or an integer.
        shape: the shape of the picked elements.
        replace: whether an element may be picked twice.
        p: the elements' probabilities, a vector; equal by default. It has no derivative.
        axis: the axis to pick along.
        mode: as for `gumbel`; only used with ``p`` and without replacement.

    Returns:
        The elements that ``jax.random.choice`` picks: the shape of ``a`` with ``shape`` in place of the axis.

    Raises:
        TypeError: ``key`` is no key, or ``a`` is neither an array nor a known integer.
        ValueError: there are fewer elements than asked for, or ``p`` is not a vector with one number per element.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.random.choice(fg.random.key(0), 10, (4,), replace=False)
        array([0, 1, 8, 5])
        >>> fg.random.choice(fg.random.key(0), np.array([0.5, 1.5]), (3,), p=np.array([0.9, 0.1]))
        array([0.5, 0.5, 0.5])
    """
    key, shape, a = as_key("choice", key), as_shape("choice", shape), as_value(a)
    single = not np.ndim(a)
    axis = normalize_axis(axis, 1 if single else a.ndim)
    count = _count("choice", a) if single else a.shape[axis]
    wanted = math.prod(shape)
    if count <= 0 < wanted or (not replace and wanted > count):
        raise ValueError(
            f"random.choice: {wanted} elements were asked for, and there are {max(count, 0)}; needed at least as many "
            "elements, or one with replace=True. Ask for fewer."
        )
    order = _picked(key, count, shape, replace, p, mode)
    order = reshape(order, shape)
    return order if single else fnp.take(a, order, axis)


def _picked(key: Key, count: int, shape: tuple[int, ...], replace: bool, p: ArrayLike, mode: Any) -> Array:
    """Return the indices of the picked elements."""
    wanted = math.prod(shape)
    if p is None:
        return randint(key, shape, 0, count) if replace else _order(key, (count,), 0)[:wanted]
    p = as_value(p)
    p = p if aval_of(p).dtype in FLOATS else cast(p, np.dtype(float))
    if aval_of(p).shape != (count,):
        raise ValueError(
            f"random.choice: p is {aval_of(p)}; needed a vector of {count} probabilities. Omit it if all elements are "
            "equally likely."
        )
    if not replace:
        return argsort(-(gumbel(key, (count,), p.dtype, mode) + fnp.log(p)), 0)[:wanted]
    if not wanted:
        return np.zeros(shape, _INDEX)
    sums = fnp.cumsum(p)
    return searchsorted(sums, sums[-1] * (1 - ops.unit(key, shape, p.dtype)))


def categorical(
    key: Key,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: Literal["low", "high"] | None = None,
) -> Array:
    """Draw categories with probabilities proportional to ``exp(logits)``: the argmax of logits plus Gumbel noise.

    Args:
        key: ``uint32[2]``.
        logits: of the categories along an axis; the other axes are batch axes.
        axis: the axis of the categories.
        shape: a shape to which the batch shape broadcasts; the batch shape by default.
        replace: whether a category may be drawn twice along the leading axes of ``shape``.
        mode: as for `gumbel`.

    Returns:
        The draws of ``jax.random.categorical``, ``int64[*shape]``.

    Raises:
        TypeError: ``key`` is no key, or the logits are not floating-point.
        ValueError: the batch does not broadcast to the shape, or there are fewer categories than asked for.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.random.categorical(fg.random.key(0), np.log([0.1, 0.2, 0.7]), shape=(6,))
        array([2, 2, 2, 1, 1, 2])
    """
    key, logits = as_key("categorical", key), as_value(logits)
    aval = aval_of(logits)
    if aval.dtype not in FLOATS or not aval.shape:
        raise TypeError(
            f"random.categorical: the logits are {aval}; needed a floating-point array with an axis of categories. "
            "Pass the logarithms of the probabilities."
        )
    axis = normalize_axis(axis, len(aval.shape)) - len(aval.shape)
    batch = tuple(np.delete(aval.shape, axis).tolist())
    shape = parameter_shape("categorical", shape, batch)
    leading = shape[: len(shape) - len(batch)]
    if not replace:
        return _without_replacement(key, logits, axis, leading, shape, mode)
    trailing = list(shape[len(leading) :])
    trailing.insert(axis % len(aval.shape), aval.shape[axis])
    return fnp.argmax(gumbel(key, (*leading, *trailing), aval.dtype, mode) + logits, axis=axis)


def _without_replacement(
    key: Key, logits: ArrayLike, axis: int, leading: Sequence[int], shape: tuple[int, ...], mode: Any
) -> Array:
    wanted, count = math.prod(leading), logits.shape[axis]
    if wanted > count:
        raise ValueError(
            f"random.categorical: {wanted} of {count} categories were asked for without replacement; needed at most "
            "as many as there are. Ask for fewer, or pass replace=True."
        )
    noisy = fnp.moveaxis(logits + gumbel(key, logits.shape, logits.dtype, mode), axis, -1)
    order = argsort(-noisy, noisy.ndim - 1)[..., :wanted]
    return reshape(fnp.moveaxis(order, -1, 0), shape)
