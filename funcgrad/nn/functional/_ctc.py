"""Connectionist temporal classification: the likelihood of label sequences without alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import shown
from funcgrad._transforms.control.loops import scan
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn.functional._losses import constant, legacy
from funcgrad.numpy.extend import known_value

# The logarithm of an impossible alignment. With -inf, derivatives would be NaN.
_IMPOSSIBLE = -1e30


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Array:
    """Compute the negative log-likelihood of label sequences, summed over all alignments with the steps.

    Args:
        log_probs: ``f32[steps, batch, classes]``, or ``f32[steps, classes]``.
        targets: ``i64[batch, labels]``, or all labels in a row, ``i64[sum of target_lengths]``; known numbers.
        input_lengths: the number of steps of each sequence; known numbers.
        target_lengths: the number of labels of each sequence; known numbers.
        blank: the class that stands for no label.
        reduction: ``"mean"`` (of losses divided by their numbers of labels), ``"sum"`` or ``"none"``.
        zero_infinity: whether sequences without a possible alignment cost nothing, rather than ``inf``.

    Returns:
        A scalar, or ``f32[batch]`` for the reduction ``"none"``. The derivative is that of the loss; PyTorch's is
        equal after the derivative of ``log_softmax``, with which it is meant to be used.

    Raises:
        RuntimeError: a length is larger than its array.
        TypeError: labels or lengths are traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> log_probs = np.log(np.full((3, 1, 2), 0.5))
        >>> F.ctc_loss(log_probs, np.array([[1]]), [3], [1], reduction="sum").round(4)
        np.float64(0.2877)

    Source: Graves et al., *Connectionist temporal classification* (2006), eq. 6 to 8.
    """
    legacy(None, None, reduction)
    x = inexact(log_probs)
    batched = len(x.shape) == 3
    x = x if batched else fnp.expand_dims(x, 1)
    steps, counts = _known("input_lengths", input_lengths), _known("target_lengths", target_lengths)
    labels = _labels(_known("targets", targets, flat=False), counts)
    if steps.size and steps.max() > x.shape[0]:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {x.shape[0]}, but got value {steps.max()} (while checking "
            "arguments for ctc_loss_allocate_outputs)"
        )
    losses = _losses(x, labels, steps, counts, blank)
    losses = fnp.where(fnp.greater(losses, -0.1 * _IMPOSSIBLE), 0.0 if zero_infinity else np.inf, losses)
    if reduction == "mean":
        return fnp.mean(fnp.divide(losses, np.maximum(counts, 1).astype(x.dtype)))
    if reduction == "sum":
        return fnp.sum(losses)
    return losses if batched else losses[0]


def _known(name: str, x: Array, *, flat: bool = True) -> np.ndarray:
    value = known_value(constant(x)) if hasattr(x, "dtype") else np.asarray(x)
    if value is None:
        raise TypeError(f"ctc_loss: {name} are {shown(x)}; needed known integers. Close over them.")
    return np.atleast_1d(value).astype(np.int64) if flat else value.astype(np.int64)


def _labels(targets: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the labels as rows of one length."""
    if targets.ndim == 2:
        return targets
    if counts.sum() > len(targets):
        raise RuntimeError(
            f"Expected target_lengths to sum to at most {len(targets)}, the number of targets, but got {counts.sum()}"
        )
    rows = np.zeros((len(counts), max(int(counts.max(initial=0)), 1)), np.int64)
    start = 0
    for row, count in zip(rows, counts, strict=True):
        row[:count] = targets[start : start + count]
        start += count
    return rows


def _losses(x: Array, labels: np.ndarray, steps: np.ndarray, counts: np.ndarray, blank: int) -> Array:
    """Return the loss of each sequence by the forward recursion over steps."""
    batch, places = labels.shape[0], 2 * labels.shape[1] + 1
    extended = np.full((batch, places), blank)
    extended[:, 1::2] = labels
    skips = np.zeros((batch, places), bool)
    skips[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    emitted = fnp.take_along_axis(x, np.broadcast_to(extended, (x.shape[0], batch, places)), axis=2)
    begins = np.arange(places) < 2
    first = fnp.where(begins, emitted[0], _IMPOSSIBLE)
    present = np.arange(1, x.shape[0])[:, None] < steps

    def step(alpha: Array, row: Array) -> Any:
        by_one, by_two = (_shifted(alpha, n) for n in (1, 2))
        terms = fnp.stack([alpha, by_one, fnp.where(skips, by_two, _IMPOSSIBLE)])
        largest = stop_gradient(fnp.max(terms, axis=0))
        total = fnp.log(fnp.sum(fnp.exp(fnp.subtract(terms, largest)), axis=0))
        new = fnp.add(fnp.add(total, largest), row[0])
        return fnp.where(fnp.expand_dims(row[1], 1), new, alpha), None

    alpha, _ = scan(step, first, (emitted[1:], present))
    last = fnp.take_along_axis(alpha, 2 * counts[:, None], axis=1)[:, 0]
    before = fnp.take_along_axis(alpha, np.maximum(2 * counts - 1, 0)[:, None], axis=1)[:, 0]
    both = fnp.logaddexp(last, fnp.where(counts > 0, before, _IMPOSSIBLE))
    return fnp.negative(both)


def _shifted(alpha: Array, n: int) -> Array:
    places = alpha.shape[1]
    return fnp.pad(alpha, [(0, 0), (n, 0)], constant_values=_IMPOSSIBLE)[:, :places]
