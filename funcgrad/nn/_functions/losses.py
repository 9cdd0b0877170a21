"""Losses, with reduction, class weights, ignored targets and label smoothing as in PyTorch."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, is_integer
from funcgrad._core.bind import NO_PARAMS, NUMPY_TYPES, bind, bind_one
from funcgrad._ops.contract.dense import inner_p
from funcgrad._ops.elementwise.arithmetic import div_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.softmax import log_softmax_p
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.numpy import add, divide, equal, multiply, negative, power, subtract, take
from funcgrad.numpy.extend import ALL_AXES, as_value, dtype_of, promote

Reduction = Literal["mean", "sum", "none"]


def mse_loss(x: Array, target: Array, reduction: Reduction = "mean") -> Array:
    """Compute the squared error, elementwise, and its mean or sum.

    Args:
        x: an array.
        target: an array of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or an array like ``x`` for the reduction ``"none"``.

    Raises:
        ValueError: the shapes differ (PyTorch warns and broadcasts), or ``reduction`` is unknown.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> float(nn.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0])))
        2.5
    """
    _check_reduction(reduction)
    x, target = inexact(x), inexact(target)
    if x.shape != target.shape:
        raise ValueError(
            f"mse_loss: x is {aval_of(x)} and target is {aval_of(target)}; needed the same shape, since broadcasting "
            "would compare every element with every other. Reshape one of them."
        )
    return _reduced(power(subtract(x, target), 2), reduction, math.prod(x.shape), 1)


def nll_loss(
    log_p: Array,
    target: Array,
    weight: Array = None,
    *,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Array:
    """Compute the negative log-likelihood of classes for given log-probabilities.

    Args:
        log_p: ``f32[classes]``, ``f32[batch, classes]`` or ``f32[batch, classes, ...]``.
        target: class indices ``i64[]``, ``i64[batch]`` or ``i64[batch, ...]``.
        weight: ``f32[classes]``, the weight of each class, dimensionless.
        ignore_index: targets of this value are ignored.
        reduction: ``"mean"`` (weighted by the weights of the targets), ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or an array like ``target`` for the reduction ``"none"``.

    Raises:
        IndexError: a target is no class index. Under ``jit`` the target is not checked, and the loss is undefined.
        TypeError: targets are not integers.
        ValueError: the shapes do not match, or ``reduction`` is unknown.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> log_p = np.log(np.array([[0.25, 0.75], [0.5, 0.5]]))
        >>> float(nn.nll_loss(log_p, np.array([0, 1])))
        1.0397207708399179

    Source: ``torch.nn.functional.nll_loss``.
    """
    _check_reduction(reduction)
    log_p = inexact(log_p)
    targets = _targets("nll_loss", log_p, target, weight, ignore_index)
    return _reduce_targets(targets.picked(log_p), targets, reduction)


def cross_entropy(
    logits: Array,
    target: Array,
    weight: Array = None,
    *,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Compute the cross entropy between softmax of logits and targets: class indices or class probabilities.

    Args:
        logits: ``f32[classes]``, ``f32[batch, classes]`` or ``f32[batch, classes, ...]``.
        target: class indices, shaped like ``logits`` without its class axis; or probabilities, shaped like ``logits``.
        weight: ``f32[classes]``, the weight of each class, dimensionless.
        ignore_index: targets with this class index are ignored.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``. The mean over class indices is weighted by the weights of the
            targets; the mean over probabilities divides by the number of samples, as in PyTorch.
        label_smoothing: the share of each target that is spread evenly over all classes, 0 to 1.

    Returns:
        A scalar, or an array shaped like ``logits`` without its class axis for the reduction ``"none"``.

    Raises:
        IndexError: a target is no class index. Under ``jit`` the target is not checked, and the loss is undefined.
        ValueError: the shapes do not match, or ``reduction`` or ``label_smoothing`` is out of range.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> float(nn.cross_entropy(np.array([[0.0, 0.0]]), np.array([1])))
        0.6931471805599453

    Source: ``torch.nn.functional.cross_entropy``; label smoothing: Szegedy et al., *Rethinking the inception
    architecture for computer vision* (2016), section 7.
    """
    _check_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    logits, target = inexact(logits), as_value(target)
    axis = _class_axis(logits)
    log_p = bind_one(log_softmax_p, logits, {"axes": (axis,)})
    if getattr(target, "shape", ()) == logits.shape and is_inexact(dtype_of(target)):
        return _probabilities_loss(log_p, target, weight, axis, reduction, label_smoothing)
    targets = _targets("cross_entropy", log_p, target, weight, ignore_index)
    picked = targets.picked(log_p)
    if label_smoothing:
        smooth = targets.kept(reduce_sum(_weighted(log_p, weight, axis), (axis,)))
        even = multiply(smooth, label_smoothing / log_p.shape[axis])
        picked = add(multiply(picked, 1 - label_smoothing), even)
    return _reduce_targets(picked, targets, reduction)


def _probabilities_loss(
    log_p: Array, target: Array, weight: Array, axis: int, reduction: Reduction, label_smoothing: float
) -> Array:
    classes = log_p.shape[axis]
    if label_smoothing:
        target = add(multiply(target, 1 - label_smoothing), label_smoothing / classes)
    log_p = _weighted(log_p, weight, axis)
    samples = math.prod(log_p.shape) // max(classes, 1)
    if reduction == "none":
        return negative(reduce_sum(multiply(log_p, target), (axis,)))
    if log_p.dtype != target.dtype:
        log_p, target = promote(log_p, target)
    if reduction == "mean" and not samples:
        # The mean of no elements is NaN, as in NumPy and PyTorch.
        return _reduced(multiply(log_p, target), reduction, 0, -1)
    return bind(inner_p, (log_p, target), {"scale": -1 / samples if reduction == "mean" else -1})


def _weighted(values: Array, weight: Array, axis: int) -> Array:
    """Return values times the weight of their class."""
    if weight is None:
        return values
    shape = (len(weight), *[1] * (len(values.shape) - 1 - axis))
    return multiply(values, reshape(cast(as_value(weight), values.dtype), shape))


class _Targets(NamedTuple):
    """Class indices that are safe to index with, and their weights."""

    indices: Any
    ignored: Any
    weight: Any | None
    axis: int

    def picked(self, log_p: Array) -> Array:
        """Return the log-probability of each target, times its weight; 0 if the target is ignored."""
        places = [_along(n, i, len(self.indices.shape)) for i, n in enumerate(self.indices.shape)]
        places.insert(self.axis, self.indices)
        picked = index_p(log_p, *places, index=Index((SLOT,) * len(places)))
        return self.kept(picked if self.weight is None else multiply(picked, self.weight))

    def kept(self, values: Array) -> Array:
        """Return values, with 0 for each ignored target."""
        return values if self.ignored is None else select(self.ignored, 0, values)


def _along(length: int, axis: int, ndim: int) -> np.ndarray:
    """Return the indices along one axis, shaped to broadcast with the targets."""
    return np.arange(length).reshape((-1,) + (1,) * (ndim - axis - 1))


def _targets(name: str, log_p: Array, target: Array, weight: Array, ignore_index: int) -> _Targets:
    target, axis = as_value(target), _class_axis(log_p)
    _check_targets(name, log_p, target, weight, axis)
    if type(target) in NUMPY_TYPES:
        target = np.asarray(target)
        ignored = _checked(target, ignore_index, log_p.shape[axis])
    else:
        ignored = equal(target, ignore_index)
    indices = target if ignored is None else select(ignored, 0, target)
    if weight is None:
        return _Targets(indices, ignored, None, axis)
    return _Targets(indices, ignored, take(cast(as_value(weight), log_p.dtype), indices), axis)


def _reduce_targets(picked: Array, targets: _Targets, reduction: Reduction) -> Array:
    """Reduce the losses of targets; the mean divides by the sum of the weights of the targets that are not ignored."""
    if reduction != "mean" or (targets.ignored is None and targets.weight is None):
        return _reduced(picked, reduction, math.prod(picked.shape), -1)
    axes = ALL_AXES[len(picked.shape)]
    total = reduce_sum(picked, axes)
    if targets.weight is not None:
        return divide(total, negative(reduce_sum(targets.kept(targets.weight), axes)))
    # The negative number of targets that are kept. Summing ones that are 0 for ignored targets takes two more calls.
    ignored = reduce_sum(cast(targets.ignored, picked.dtype), axes)
    return divide(total, subtract(ignored, float(math.prod(picked.shape))))


def _reduced(values: Array, reduction: Reduction, count: int, sign: int) -> Array:
    """Reduce elementwise losses. The sign is applied to the reduced number, which is cheaper."""
    if reduction != "none":
        values = reduce_sum(values, ALL_AXES[len(values.shape)])
    if reduction == "mean":
        return bind(div_p, (values, sign * count), NO_PARAMS)
    return values if sign == 1 else negative(values)


def _class_axis(x: Array) -> int:
    """Return the axis of the classes in PyTorch's layout: the second axis, or the only one."""
    if not x.shape:
        raise ValueError("cross_entropy: the input is a scalar; needed an axis of classes. Pass f32[classes] or more.")
    return 1 if len(x.shape) > 1 else 0


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _check_targets(name: str, log_p: Array, target: Array, weight: Array, axis: int) -> None:
    needed = log_p.shape[:axis] + log_p.shape[axis + 1 :]
    target_aval, aval = aval_of(target), aval_of(log_p)
    if not is_integer(target_aval.dtype) or target_aval.shape != needed:
        error = ValueError if target_aval.shape != needed else TypeError
        also = " or probabilities shaped like the input" if name == "cross_entropy" else ""
        raise error(
            f"{name}: the target is {target_aval} for an input {aval}; needed class indices of shape {list(needed)}"
            f"{also}. The classes are axis 1 of a batch."
        )
    if weight is not None and aval_of(as_value(weight)).shape != (log_p.shape[axis],):
        raise ValueError(
            f"{name}: weight is {aval_of(as_value(weight))}; needed one for each of {log_p.shape[axis]} classes. "
            "Pass an array of that length, or None."
        )


def _checked(target: np.ndarray, ignore_index: int, classes: int) -> np.ndarray | None:
    """Return a mask of the ignored targets, ``None`` if there are none; raise for a target that is no class index."""
    ignored = np.equal(target, ignore_index)
    outside = ~ignored & ((target < 0) | (target >= classes))
    if outside.any():
        raise IndexError(f"Target {target[outside].flat[0]} is out of bounds.")
    return ignored if ignored.any() else None
