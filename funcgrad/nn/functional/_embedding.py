"""Embeddings and one-hot vectors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_integer
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array
from funcgrad.autograd import no_grad
from funcgrad.autograd.extend import is_tensor, type_name
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.embedding import embedding as rows_of
from funcgrad.numpy.extend import as_value, known_value


def embedding(
    input: Array,
    weight: Array,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """Look up rows of a table.

    Args:
        input: ``i64[...]``: the indices of the rows.
        weight: ``f32[rows, width]``.
        padding_idx: the index of a row that gets no gradient.
        max_norm: scale the rows that are used, in place, to at most this norm.
        norm_type: which norm.
        scale_grad_by_freq: divide the gradient of a row by the number of its uses in this call.
        sparse: return the gradient by the table as rows; it applies to `funcgrad.grad`.

    Returns:
        ``f32[..., width]``.

    Raises:
        IndexError: an index is out of bounds. Compiled functions do not check it.
        RuntimeError: the indices are not integers.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.embedding(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[3., 4.],
               [1., 2.]])
    """
    ids, weight = indices("embedding", input), inexact(weight)
    check_within(ids, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, ids, max_norm, norm_type)
    y = rows_of(weight, ids, sparse_grad=sparse)
    if padding_idx is not None:
        padding_idx = check_padding(padding_idx, weight.shape[0])
        is_padding = fnp.expand_dims(fnp.equal(ids, padding_idx), -1)
        y = fnp.where(is_padding, stop_gradient(y), y)
    if scale_grad_by_freq:
        counts = fnp.zeros(weight.shape[0], y.dtype)
        flat = fnp.reshape(ids, (-1,))
        one_each = cast(fnp.equal(fnp.expand_dims(flat, 1), fnp.arange(weight.shape[0])), y.dtype)
        counts = fnp.take(fnp.sum(one_each, axis=0), ids)
        share = fnp.expand_dims(fnp.divide(1, counts), -1)
        y = fnp.add(fnp.multiply(y, share), stop_gradient(fnp.multiply(y, fnp.subtract(1, share))))
    return y


def indices(name: str, x: Array) -> Array:
    """Return integers without history, as a plain array where they are known."""
    x = x._value if is_tensor(x) else as_value(x)
    x = x if hasattr(x, "dtype") else np.asarray(x)
    if not is_integer(x.dtype):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_name(x.dtype)}Tensor instead (while checking arguments for {name})"
        )
    return x


def check_within(ids: Array, rows: int) -> None:
    """Refuse indices out of bounds where their numbers are known."""
    known = known_value(ids)
    if known is not None and known.size and not (known.min() >= 0 and known.max() < rows):
        raise IndexError("index out of range in self")


def check_padding(padding_idx: int, rows: int) -> int:
    """Return the index of the padding, counted from 0."""
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def _renormalize(weight: Array, ids: Array, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are used to at most a norm, in place."""
    held = weight._value if is_tensor(weight) else weight
    if type(held) is not np.ndarray or known_value(ids) is None:
        raise TypeError(
            f"embedding: max_norm is {shown(max_norm)} with a table that cannot be written to here; needed a tensor or "
            "a NumPy array outside of transforms, whose rows are scaled in place. Scale the rows before the call, and "
            "leave max_norm out."
        )
    used = np.unique(np.asarray(known_value(ids)))
    norms = np.linalg.norm(held[used], ord=norm_type, axis=1)
    factors = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(held.dtype)
    with no_grad():
        weight[used] = held[used] * factors[:, None]


def embedding_bag(
    input: Array,
    weight: Array,
    offsets: Array = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Array = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Array:
    """Look up rows of a table, and take the sum, mean or maximum of each bag of rows.

    Args:
        input: ``i64[bags, n]``; or ``i64[n]`` with ``offsets``.
        weight: ``f32[rows, width]``.
        offsets: ``i64[bags]``: where each bag begins; known numbers.
        max_norm: scale the rows that are used, in place, to at most this norm.
        norm_type: which norm.
        scale_grad_by_freq: divide the gradient of a row by the number of its uses in this call.
        mode: ``"mean"``, ``"sum"`` or ``"max"``.
        sparse: return the gradient by the table as rows; it applies to `funcgrad.grad`.
        per_sample_weights: a weight for each index, with ``mode="sum"``.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: the index of rows that are left out.

    Returns:
        ``f32[bags, width]``.

    Raises:
        ValueError, RuntimeError: arguments do not go together; the texts are PyTorch's.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.embedding_bag(np.array([[0, 1]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[2., 3.]])

    Source: ``torch.nn.functional.embedding_bag``.
    """
    ids, weight = indices("embedding_bag", input), inexact(weight)
    bags = _bags(ids, offsets, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                f"(got mode='{mode}'). Please open a feature request on GitHub."
            )
        if tuple(per_sample_weights.shape) != tuple(ids.shape):
            raise ValueError(
                f"embedding_bag: If per_sample_weights (torch.Size({list(per_sample_weights.shape)})) is not None, "
                f"then it must have the same shape as the input (torch.Size({list(ids.shape)}))"
            )
    flat = fnp.reshape(ids, (-1,))
    _check_ids(flat, weight.shape[0])
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = fnp.multiply(rows, fnp.reshape(per_sample_weights, (-1, 1)))
    kept = None if padding_idx is None else fnp.not_equal(flat, check_padding(padding_idx, weight.shape[0]))
    return _pooled(rows, kept, bags, mode)


def _check_ids(ids: Any, rows: int) -> None:
    known = known_value(ids)
    if known is None:
        return
    outside = np.flatnonzero((known < 0) | (known >= rows))
    if outside.size:
        at = outside[0]
        raise RuntimeError(f"Index {at} of input takes value {known[at]} which is not in the valid range [0, {rows})")


def _bags(ids: Any, offsets: Any, include_last: bool) -> list[tuple[int, int]]:
    """Return where each bag begins and ends among the flat indices."""
    if len(ids.shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, width = ids.shape
        return [(i * width, (i + 1) * width) for i in range(count)]
    if len(ids.shape) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(ids.shape)}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    known = known_value(indices("embedding_bag", offsets))
    if known is None:
        raise TypeError("embedding_bag: offsets are traced; needed known numbers, which make shapes. Close over them.")
    if known.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if known.size and known[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {known[0]}"
        )
    if known.size and known[-1] > ids.shape[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {ids.shape[0]} but got offsets[-1] of {known[-1]}"
        )
    ends = [*known.tolist()] if include_last else [*known.tolist(), ids.shape[0]]
    return list(itertools.pairwise(ends))


def _pooled(rows: Array, kept: Any, bags: list[tuple[int, int]], mode: str) -> Array:
    owner = np.repeat(np.arange(len(bags)), [end - begin for begin, end in bags])
    rows = rows[: len(owner)]
    member = owner[None, :] == np.arange(len(bags))[:, None]
    if kept is not None:
        member = fnp.logical_and(member, kept[: len(owner)])
    if mode == "max":
        spread = fnp.where(fnp.expand_dims(member, 2), fnp.expand_dims(rows, 0), -np.inf)
        is_empty = fnp.logical_not(fnp.any(member, axis=1, keepdims=True))
        return fnp.where(is_empty, 0, fnp.max(fnp.where(fnp.expand_dims(is_empty, 2), 0, spread), axis=1))
    weights = cast(member, rows.dtype)
    total = fnp.matmul(weights, rows)
    if mode == "sum":
        return total
    return fnp.divide(total, fnp.maximum(fnp.sum(weights, axis=1, keepdims=True), 1))


def one_hot(input: Array, num_classes: int = -1) -> Array:
    """Return vectors with a 1 at an index and 0 elsewhere, as int64.

    Args:
        input: ``i64[...]``: indices from 0 on.
        num_classes: the length of the vectors; one more than the largest index by default.

    Returns:
        ``i64[..., num_classes]``.

    Raises:
        RuntimeError: an index is negative or too large, or the indices are no integers.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.one_hot(np.array([0, 2]))
        array([[1, 0, 0],
               [0, 0, 1]])
    """
    x = input if hasattr(input, "dtype") else np.asarray(input)
    if not is_integer(x.dtype) or (is_tensor(x) and x.dtype.itemsize < 8):
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    known = known_value(x)
    if known is not None and known.size:
        if known.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(known.max()) + 1
        elif known.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes <= 0:
        raise RuntimeError(
            "Can not infer total number of classes from empty tensor."
            if known is not None
            else "one_hot: num_classes is not given for traced indices; needed the number of classes. Pass it."
        )
    return cast(fnp.equal(fnp.expand_dims(x, -1), np.arange(num_classes)), np.dtype(np.int64))
