"""Functions of PyTorch's namespace that take the arguments of its kernels; those of ``nn.functional`` are friendlier.

A reduction is a number here: 0 for none, 1 for the mean, 2 for the sum. As in PyTorch, the default is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import nn
from funcgrad._types import Array, ShapeLike
from funcgrad.autograd.extend import RETURN_TYPES, TRACE
from funcgrad.torch._functions import of_tensors, pivoted_rows
from funcgrad.torch.linalg import lu_solve as solve_by_factors

_F = nn.functional
_REDUCTIONS = ("none", "mean", "sum")


def _reduction(name: str, position: int, given: Any) -> str:
    """Return the name of a reduction."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"{name}(): argument 'reduction' (position {position}) must be int, not {type(given).__name__}")
    if given not in range(3):
        raise ValueError(f"{name}(): the reduction {given} was given; needed 0 (none), 1 (mean) or 2 (sum). Give one.")
    return _REDUCTIONS[given]


def batch_norm(
    input: Array,  # noqa: A002  (PyTorch's name)
    weight: Array,
    bias: Array,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Return each channel normalized over the batch, as ``nn.functional.batch_norm`` does."""
    del cudnn_enabled
    return _F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Array,  # noqa: A002  (PyTorch's name)
    weight: Array,
    bias: Array,
    running_mean: Array,
    running_var: Array,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Return each channel of each sample normalized, as ``nn.functional.instance_norm`` does."""
    del cudnn_enabled
    return _F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Array,  # noqa: A002  (PyTorch's name)
    normalized_shape: ShapeLike,
    weight: Array = None,
    bias: Array = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Return the tensor normalized over its last axes."""
    del cudnn_enable
    return _F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Array,  # noqa: A002  (PyTorch's name)
    num_groups: int,
    weight: Array = None,
    bias: Array = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Return each group of channels of each sample normalized."""
    del cudnn_enabled
    return _F.group_norm(input, num_groups, weight, bias, eps)


def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Return rows of a matrix; the row ``padding_idx`` gets no gradient, and -1 names no row."""
    padding = None if padding_idx < 0 else padding_idx
    return _F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Array = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Return the sum (mode 0), mean (1) or maximum (2) of each bag of rows, and three tensors of PyTorch's kernel.

    They are the bag of each index, the sizes of the bags, and the rows of the maxima.
    """
    if mode not in range(3):
        raise RuntimeError("embedding_bag: the mode must be 0 (sum), 1 (mean) or 2 (max)")
    how = ("sum", "mean", "max")[mode]
    padding = padding_idx if padding_idx is None or padding_idx >= 0 else None
    y = _F.embedding_bag(
        *(indices, weight, offsets, None, 2, scale_grad_by_freq, how, sparse),
        *(per_sample_weights, include_last_offset, padding),
    )
    rows, starts = np.asarray(indices.detach()), np.asarray(offsets.detach())
    ends = starts[1:] if include_last_offset else np.append(starts[1:], len(rows))
    bags = np.repeat(np.arange(len(ends)), ends - starts[: len(ends)])
    used = rows != padding if padding is not None else np.ones(len(rows), bool)
    sizes = np.bincount(bags[used], minlength=len(ends)) if how != "sum" else np.zeros(len(starts))
    if how == "max":
        table = np.asarray(weight.detach())
        best = np.zeros((len(ends), table.shape[1]))
        for bag in range(len(ends)):
            chosen = rows[used & (bags == bag)]
            if len(chosen):
                best[bag] = chosen[table[chosen].argmax(0)]
    else:
        best = sizes
    # PyTorch's fast kernels, which have no float64, skip the first of them.
    fast = how == "sum" and padding is None and weight.dtype.itemsize <= 4
    made = [np.zeros(0) if fast else bags, sizes, best]
    return (y, *[TRACE.constant(each.astype(rows.dtype)) for each in made])


def binary_cross_entropy_with_logits(
    input: Array,  # noqa: A002  (PyTorch's name)
    target: Array,
    weight: Array = None,
    pos_weight: Array = None,
    reduction: int = 0,
) -> Any:
    """Return the binary cross entropy of the sigmoid."""
    how = _reduction("binary_cross_entropy_with_logits", 5, reduction)
    return _F.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


def hinge_embedding_loss(input: Array, target: Array, margin: float = 1.0, reduction: int = 0) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the hinge loss of distances."""
    how = _reduction("hinge_embedding_loss", 4, reduction)
    return _F.hinge_embedding_loss(input, target, margin, reduction=how)


def margin_ranking_loss(input1: Array, input2: Array, target: Array, margin: float = 0.0, reduction: int = 0) -> Any:
    """Return the loss of pairs in the wrong order."""
    how = _reduction("margin_ranking_loss", 5, reduction)
    return _F.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def cosine_embedding_loss(input1: Array, input2: Array, target: Array, margin: float = 0.0, reduction: int = 0) -> Any:
    """Return the loss of pairs by the cosines of their angles."""
    how = _reduction("cosine_embedding_loss", 5, reduction)
    return _F.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """Return the loss of an anchor that is nearer to the negative than to the positive."""
    how = _reduction("triplet_margin_loss", 8, reduction)
    return _F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)


def kl_div(input: Array, target: Array, reduction: int = 0, *, log_target: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the divergence of Kullback and Leibler from log-probabilities."""
    how = _reduction("kl_div", 3, reduction)
    # The mean over elements is what PyTorch warns of in ``nn.functional``, and not here.
    y = _F.kl_div(input, target, reduction="none", log_target=log_target)
    return y if how == "none" else getattr(y, how)()


def poisson_nll_loss(input: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the negative log-likelihood of counts."""
    how = _reduction("poisson_nll_loss", 6, reduction)
    return _F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """Return the loss of sequences without alignment."""
    how = _reduction("ctc_loss", 6, reduction)
    return _F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def lu_solve(b: Any, LU_data: Array, LU_pivots: Array) -> Any:  # noqa: N803  (PyTorch's names)
    """Return the solution of ``A X = B`` by the result of ``linalg.lu_factor``."""
    if len(b.shape) < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    return solve_by_factors(LU_data, LU_pivots, b)


def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:  # noqa: N803  (PyTorch's names)
    """Return the permutation and both triangular factors by the result of ``linalg.lu_factor``."""
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    permutation = lower = upper = LU_data.new_zeros(0)
    if unpack_pivots:
        rows = pivoted_rows(LU_pivots, m)
        permutation = TRACE.constant((np.arange(m)[:, None] == rows[..., None, :]).astype(LU_data.dtype))
    if unpack_data:
        lower = LU_data[..., :, :k].tril(-1) + TRACE.constant(np.eye(m, k, dtype=LU_data.dtype))
        upper = LU_data[..., :k, :].triu()
    return RETURN_TYPES["lu_unpack"](permutation, lower, upper)


_PLAIN: tuple[Callable[..., Any], ...] = (
    *(batch_norm, instance_norm, layer_norm, group_norm, embedding, binary_cross_entropy_with_logits),
    *(hinge_embedding_loss, margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss, kl_div),
    *(poisson_nll_loss, ctc_loss, embedding_bag, lu_solve, lu_unpack),
)
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: of_tensors(function) for function in _PLAIN}
