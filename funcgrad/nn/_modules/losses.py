"""Losses as modules, which call the functions of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.words import shown
from funcgrad.nn._functions.losses import Reduction, cross_entropy, mse_loss, nll_loss
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import constant


class _ClassLoss(Module):
    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: Reduction = "mean") -> None:
        super().__init__()
        if not isinstance(ignore_index, int | np.integer):
            raise TypeError(
                f"{type(self).__name__}: ignore_index is {shown(ignore_index)}; needed an integer. Pass a "
                "number that is no "
                "class, such as -100."
            )
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction: Reduction = reduction


class CrossEntropyLoss(_ClassLoss):
    """Cross entropy between softmax of logits and class indices or probabilities; see `funcgrad.nn.cross_entropy`.

    Args:
        weight: the weight of each class.
        ignore_index: targets with this class index are ignored.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: the share of each target that is spread over all classes.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.CrossEntropyLoss()(tensor([[0.0, 0.0]]), tensor([1]))
        tensor(0.6931)

    Source: ``torch.nn.CrossEntropyLoss``.
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        if not isinstance(label_smoothing, int | float) or not 0 <= label_smoothing <= 1:
            raise TypeError(
                f"CrossEntropyLoss: label_smoothing is {shown(label_smoothing)}; needed a number from 0 to 1. "
                "Pass 0.1, for "
                "example."
            )
        self.label_smoothing = label_smoothing

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss of logits."""
        return cross_entropy(
            x,
            constant(target),
            constant(self._buffers["weight"]),
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_ClassLoss):
    """Negative log-likelihood of class indices for log-probabilities; see `funcgrad.nn.nll_loss`.

    Source: ``torch.nn.NLLLoss``.
    """

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss of log-probabilities."""
        weight = constant(self._buffers["weight"])
        return nll_loss(x, constant(target), weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(Module):
    """Mean squared error; see `funcgrad.nn.mse_loss`.

    Source: ``torch.nn.MSELoss``.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.reduction: Reduction = reduction

    def forward(self, x: Any, target: Any) -> Any:
        """Compute the loss."""
        return mse_loss(x, constant(target), self.reduction)
