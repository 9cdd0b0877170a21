"""Affine and bilinear maps, and distances between vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array
from funcgrad.autograd.extend import c_type_name, is_tensor, pytorchs_error
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.linear import linear as affine
from funcgrad.nn._functions.refusals import check_dim, refuse_integers
from funcgrad.nn.functional._convolution import conv1d
from funcgrad.nn.functional._losses import cross_entropy
from funcgrad.nn.functional._normalization import vector_norm


def linear(input: Array, weight: Array, bias: Array = None) -> Any:
    """Compute ``x @ weight.T + bias``.

    Args:
        input: ``f32[..., in]``.
        weight: ``f32[out, in]``, or ``f32[in]``.
        bias: ``f32[out]``, or ``None``.

    Returns:
        ``f32[..., out]``.

    Raises:
        RuntimeError: the last axes of ``input`` and ``weight`` differ in length.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.linear(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]))
        array([3., 6.])
    """
    if issubclass(type(input), int | float | complex):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    x, weight = inexact(input), inexact(weight)
    if x.shape and len(weight.shape) in (1, 2) and x.shape[-1] != weight.shape[-1]:
        rows, out = math.prod(x.shape[:-1]), weight.shape[0]
        if len(weight.shape) == 1:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{x.shape[-1]}), vec ({out})")
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and {weight.shape[1]}x{out})"
        )
    return affine(x, weight, bias)


def bilinear(input1: Array, input2: Array, weight: Array, bias: Array = None) -> Any:
    """Compute ``x1 @ weight[k] @ x2 + bias[k]`` for each output ``k``.

    Args:
        input1: ``f32[..., in1]``.
        input2: ``f32[..., in2]``.
        weight: ``f32[out, in1, in2]``.
        bias: ``f32[out]``, or ``None``.

    Returns:
        ``f32[..., out]``.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.bilinear(np.array([1.0, 2.0]), np.array([3.0]), np.ones((1, 2, 1)))
        array([9.])
    """
    given = {"input1": input1, "input2": input2, "weight": weight}
    if all(map(is_tensor, given.values())) and not input1.dtype == input2.dtype == weight.dtype:
        got = ", ".join(f"{name}: {c_type_name(value.dtype)}" for name, value in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {got}")
    x, y, weight = inexact(input1), inexact(input2), inexact(weight)
    if len(x.shape) != len(y.shape):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(x.shape)} and {len(y.shape)}")
    for i, (m, n) in enumerate(zip(x.shape[:-1], y.shape[:-1], strict=True)):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {m} and {n}")
    for i, (z, name) in enumerate(((x, "input1"), (y, "input2"))):
        if z.shape[-1] != weight.shape[i + 1]:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {z.shape[-1]} but expected "
                f"{weight.shape[i + 1]}"
            )
    out = fnp.einsum("...i,kij,...j->...k", x, weight, y)
    return out if bias is None else fnp.add(out, bias)


def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Any:
    """Compute the cosine of the angle between vectors along an axis.

    Args:
        x1: an array.
        x2: an array that broadcasts with it.
        dim: the axis of the vectors.
        eps: the least norm of a vector.

    Returns:
        An array without that axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.cosine_similarity(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
        array([0.6])
    """
    refuse_integers("expected common dtype to be floating point, yet common dtype is {}", x1)
    try:
        x, y = fnp.broadcast_arrays(inexact(x1), inexact(x2))
    except ValueError as error:
        raise pytorchs_error(error, (x1, x2)) or error from None
    check_dim(x, dim)
    norms = [fnp.maximum(vector_norm(z, 2, dim), eps) for z in (x, y)]
    return fnp.sum(fnp.multiply(fnp.divide(x, norms[0]), fnp.divide(y, norms[1])), axis=dim)


def pairwise_distance(x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """Compute the norm of ``x1 - x2 + eps`` along the last axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.pairwise_distance(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]])).round(4)
        array([5.])
    """
    return vector_norm(fnp.add(fnp.subtract(inexact(x1), inexact(x2)), eps), p, -1, keepdim)


def pdist(input: Array, p: float = 2.0) -> Any:
    """Compute the distances between all pairs of rows, those above the diagonal of the matrix of distances.

    Args:
        input: ``f32[rows, width]``.
        p: which norm.

    Returns:
        ``f32[rows * (rows - 1) / 2]``.

    Raises:
        RuntimeError: the input is no matrix, or ``p`` is negative.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.pdist(np.array([[0.0], [1.0], [4.0]]))
        array([1., 4., 3.])
    """
    x = inexact(input)
    if len(x.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(x.shape)}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(x.shape[0], 1)
    return vector_norm(fnp.subtract(x[first], x[second]), p, -1, keepdims=False)


def linear_cross_entropy(
    input: Array,
    linear_weight: Array,
    target: Array,
    *,
    linear_bias: Array = None,
    weight: Array = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """Compute the cross entropy between the logits ``linear(input, linear_weight, linear_bias)`` and a target.

    Args:
        input: ``f32[batch, features]``, or ``f32[features]``.
        linear_weight: ``f32[classes, features]``, or ``f32[classes, *positions, features]``.
        target: the classes ``i64[batch, *positions]``, or their probabilities.
        linear_bias: ``f32[classes, *positions]``.
        weight: the weight of each class, dimensionless.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        ignore_index: a class that does not count; ``None`` is -100.
        label_smoothing: the share of a uniform distribution in the target, dimensionless.
        options: PyTorch's options of the order of computation; they change no result.

    Returns:
        The loss.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> float(F.linear_cross_entropy(np.ones((1, 2)), np.zeros((4, 2)), np.array([1])).round(4))
        1.3863

    Source: ``torch.nn.functional.linear_cross_entropy``.
    """
    del options
    shape = linear_weight.shape[:-1]
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, flat, bias)
    return cross_entropy(
        logits.reshape((*logits.shape[:-1], *shape)),
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def conv_tbc(input: Any, weight: Any, bias: Array, pad: int = 0) -> Any:
    """Compute the convolution of ``[steps, batch, channels]`` with ``[kernel, channels, out]``.

    Args:
        input: ``f32[steps, batch, channels]``.
        weight: ``f32[kernel, channels, out]``.
        bias: ``f32[out]``.
        pad: the number of zeros before the first and after the last step.

    Returns:
        ``f32[steps, batch, out]``.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv_tbc(np.ones((4, 1, 2)), np.ones((3, 2, 5)), np.zeros(5)).shape
        (2, 1, 5)

    Source: ``torch.nn.functional.conv_tbc``.
    """
    y = conv1d(fnp.transpose(input, (1, 2, 0)), fnp.transpose(weight, (2, 1, 0)), bias, 1, pad)
    return fnp.transpose(y, (2, 0, 1))
