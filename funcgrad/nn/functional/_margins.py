"""Losses with margins, of pairs, triplets and several classes, with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import OF_MEAN, refuse_integers
from funcgrad.nn.functional._linear import pairwise_distance
from funcgrad.nn.functional._losses import constant, floats_for, legacy, reduced, stepped
from funcgrad.nn.functional._smooth import logsigmoid
from funcgrad.numpy.extend import known_value


def soft_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``log(1 + exp(-t * x))`` for targets 1 and -1.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.soft_margin_loss(np.array([1000.0]), np.array([-1.0]))
        np.float64(1000.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    x = inexact(input)
    scores = fnp.negative(fnp.multiply(x, floats_for(target, x)))
    return reduced(fnp.logaddexp(zeros_like(scores), scores), reduction)


def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``x`` for targets 1 and ``max(0, margin - x)`` for targets -1.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.hinge_embedding_loss(np.array([3.0, 0.5]), np.array([1, -1]), reduction="none")
        array([3. , 0.5])
    """
    reduction = legacy(size_average, reduce, reduction)
    if reduction == "mean":
        refuse_integers(OF_MEAN, input)
    x, y = inexact(input), constant(target)
    other = fnp.where(fnp.not_equal(y, 1), stepped(fnp.subtract(margin, x)), 0)
    return reduced(fnp.add(other, fnp.where(fnp.not_equal(y, -1), x, 0)), reduction)


def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``max(0, -t * (x1 - x2) + margin)``: a target of 1 ranks the first input higher.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.margin_ranking_loss(np.array([1.0]), np.array([3.0]), np.array([1]))
        np.float64(2.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    x, y, t = inexact(input1), inexact(input2), constant(target)
    if not len(x.shape) == len(y.shape) == len(t.shape):
        shapes = [f"torch.Size({list(z.shape)})" for z in (x, y, t)]
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {shapes[0]}, input2: {shapes[1]}, target: {shapes[2]} "
        )
    signs = cast(fnp.negative(t), x.dtype)
    return reduced(stepped(fnp.add(fnp.multiply(signs, fnp.subtract(x, y)), margin)), reduction)


def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``1 - cos`` for targets 1 and ``max(0, cos - margin)`` for targets -1.

    Args:
        input1: ``f32[batch, width]``, or ``f32[width]``.
        input2: an array of the same shape.
        target: ``i64[batch]`` of 1 and -1.
        margin: the least cosine that costs something for targets -1.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or ``f32[batch]`` for the reduction ``"none"``.

    Raises:
        RuntimeError: the number of axes of the targets does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.cosine_embedding_loss(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]), np.array([1])).round(4)
        np.float64(0.4)
    """
    reduction = legacy(size_average, reduce, reduction)
    x, y, t = inexact(input1), inexact(input2), constant(target)
    if len(t.shape) not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(x.shape) != len(t.shape) + 1:
        raise RuntimeError(
            f"{len(t.shape)}D target tensor expects {len(t.shape) + 1}D input tensors, but found inputs with sizes "
            f"{list(x.shape)} and {list(y.shape)}."
        )
    products = [fnp.sum(fnp.multiply(a, b), axis=-1) for a, b in ((x, y), (x, x), (y, y))]
    norms = fnp.sqrt(fnp.multiply(fnp.add(products[1], 1e-12), fnp.add(products[2], 1e-12)))
    cosine = fnp.divide(products[0], norms)
    other = fnp.where(fnp.equal(t, -1), stepped(fnp.subtract(cosine, margin)), 0)
    return reduced(fnp.add(fnp.where(fnp.equal(t, 1), fnp.subtract(1, cosine), 0), other), reduction)


def multi_margin_loss(
    input: Array,
    target: Array,
    p: int = 1,
    margin: float = 1.0,
    weight: Array = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute the mean over other classes of ``max(0, margin - x[target] + x[i]) ** p``.

    Args:
        input: ``f32[batch, classes]``, or ``f32[classes]``.
        target: ``i64[batch]``: class indices.
        p: 1 or 2.
        margin: the difference above which a class costs nothing.
        weight: ``f32[classes]``, or ``None``.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or ``f32[batch]`` for the reduction ``"none"``.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or ``weight`` is no vector.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.multi_margin_loss(np.array([[1.0, 2.0]]), np.array([0]))
        np.float64(1.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    x, t = inexact(input), constant(target)
    columns = fnp.expand_dims(t, -1)
    own = fnp.take_along_axis(x, columns, -1)
    costs = stepped(fnp.add(fnp.subtract(margin, own), x))
    costs = costs if p == 1 else fnp.square(costs)
    if weight is not None:
        costs = fnp.multiply(costs, fnp.take(floats_for(weight, x), columns))
    others = fnp.not_equal(np.arange(x.shape[-1]), columns)
    return reduced(fnp.divide(fnp.sum(fnp.where(others, costs, 0), axis=-1), x.shape[-1]), reduction)


def multilabel_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute the sum over target and other classes of ``max(0, 1 - x[target] + x[other])``, divided by the classes.

    Args:
        input: ``f32[batch, classes]``, or ``f32[classes]``.
        target: ``i64`` of the same shape: class indices, of which those before the first -1 count.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or ``f32[batch]`` for the reduction ``"none"``.

    Raises:
        RuntimeError: the shapes differ.
        TypeError: the targets are traced.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.multilabel_margin_loss(np.array([1.0, 2.0]), np.array([0, -1]))
        np.float64(1.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    x, t = inexact(input), known_value(constant(target))
    if t is None:
        raise TypeError("multilabel_margin_loss: the targets are traced; needed known class indices. Close over them.")
    if tuple(t.shape) != tuple(x.shape):
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input of size: {list(x.shape)}")
    counts = np.cumprod(t >= 0, axis=-1).astype(bool)
    classes = np.arange(x.shape[-1])
    is_target = ((t[..., None] == classes) & counts[..., None]).any(axis=-2)
    own = fnp.take_along_axis(x, np.where(counts, t, 0), -1)
    costs = stepped(fnp.add(fnp.subtract(1, fnp.expand_dims(own, -1)), fnp.expand_dims(x, -2)))
    kept = counts[..., None] & ~is_target[..., None, :]
    return reduced(fnp.divide(fnp.sum(fnp.where(kept, costs, 0), axis=(-2, -1)), x.shape[-1]), reduction)


def multilabel_soft_margin_loss(
    input: Array,
    target: Array,
    weight: Array = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute the mean over classes of the binary cross entropy of ``sigmoid(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.multilabel_soft_margin_loss(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])).round(4)
        np.float64(0.6931)
    """
    reduction = legacy(size_average, reduce, reduction)
    x = inexact(input)
    t = floats_for(target, x)
    ones = fnp.multiply(t, logsigmoid(x))
    values = fnp.negative(fnp.add(ones, fnp.multiply(fnp.subtract(1, t), logsigmoid(fnp.negative(x)))))
    values = values if weight is None else fnp.multiply(values, floats_for(weight, x))
    return reduced(fnp.mean(values, axis=-1), reduction)


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)``.

    Args:
        anchor: ``f32[batch, width]``, or ``f32[width]``.
        positive: an array of the same number of axes.
        negative: an array of the same number of axes.
        margin: the difference above which a triplet costs nothing; positive.
        p: which norm.
        eps: added to differences, as in `pairwise_distance`.
        swap: use the distance of the negative to the positive where it is smaller.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or ``f32[batch]`` for the reduction ``"none"``.

    Raises:
        RuntimeError: the numbers of axes differ.
        ValueError: the margin is not positive.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.triplet_margin_loss(np.zeros((1, 2)), np.zeros((1, 2)), np.array([[3.0, 4.0]]))
        np.float64(0.0)

    Source: Balntas et al., *Learning shallow convolutional feature descriptors with triplet losses* (2016).
    """

    def distance(x: Array, y: Array) -> Array:
        return pairwise_distance(x, y, p, eps)

    reduction = legacy(size_average, reduce, reduction)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap, reduction=reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Array:
    """Compute `triplet_margin_loss` with a distance of one's own; that of `pairwise_distance` by default.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> x = np.zeros((1, 2))
        >>> F.triplet_margin_with_distance_loss(x, x, x, distance_function=lambda a, b: (a - b).sum(1))
        np.float64(1.0)
    """
    reduction = legacy(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ndims = [len(x.shape) for x in (anchor, positive, negative)]
    if len(set(ndims)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ndims[0]}D, positive {ndims[1]}D, and negative {ndims[2]}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = fnp.minimum(far, distance(positive, negative))
    return reduced(stepped(fnp.subtract(fnp.add(near, margin), far)), reduction)
