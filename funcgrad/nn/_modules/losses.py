"""Losses as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.words import shown
from funcgrad._types import Array
from funcgrad.nn import functional as F
from funcgrad.nn._functions.losses import Reduction
from funcgrad.nn._module import Module
from funcgrad.nn.functional._losses import legacy


class LossBase(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        older = size_average is not None or reduce is not None
        self.reduction: Any = legacy(size_average, reduce, reduction) if older else reduction


class WeightedLossBase(LossBase):
    def __init__(
        self,
        weight: Array = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _ClassLoss(WeightedLossBase):
    def __init__(
        self,
        weight: Array = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if not isinstance(ignore_index, int | np.integer):
            raise TypeError(
                f"{type(self).__name__}: ignore_index is {shown(ignore_index)}; needed an integer. Pass a number that "
                "is no class, such as -100."
            )
        self.ignore_index = ignore_index


class CrossEntropyLoss(_ClassLoss):
    """Cross entropy between softmax of logits and class indices or probabilities; see `funcgrad.nn.cross_entropy`.

    Args:
        weight: the weight of each class.
        size_average: an older argument; ``reduction`` replaces it.
        ignore_index: targets with this class index are ignored.
        reduce: an older argument; ``reduction`` replaces it.
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
        weight: Array = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
        if not issubclass(type(label_smoothing), int | float):
            raise TypeError(
                f"CrossEntropyLoss: label_smoothing is {shown(label_smoothing)}; needed a number from 0 to 1. "
                "Pass 0.1, for example."
            )
        self.label_smoothing = label_smoothing

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss of logits."""
        return F.cross_entropy(
            input,
            target,
            self._buffers["weight"],
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_ClassLoss):
    """Negative log-likelihood of class indices for log-probabilities; see `funcgrad.nn.nll_loss`.

    Source: ``torch.nn.NLLLoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss of log-probabilities."""
        weight = self._buffers["weight"]
        return F.nll_loss(input, target, weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(LossBase):
    """Mean squared error; see `funcgrad.nn.functional.mse_loss`.

    Source: ``torch.nn.MSELoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(LossBase):
    """Mean absolute error; see `funcgrad.nn.functional.l1_loss`.

    Source: ``torch.nn.L1Loss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(LossBase):
    """Logistic loss of targets 1 and -1; see `funcgrad.nn.functional.soft_margin_loss`.

    Source: ``torch.nn.SoftMarginLoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(LossBase):
    """Margin loss of several classes; see `funcgrad.nn.functional.multilabel_margin_loss`.

    Source: ``torch.nn.MultiLabelMarginLoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class BCELoss(WeightedLossBase):
    """Binary cross entropy of probabilities; see `funcgrad.nn.functional.binary_cross_entropy`.

    Source: ``torch.nn.BCELoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class MultiLabelSoftMarginLoss(WeightedLossBase):
    """Mean binary cross entropy over classes; see `funcgrad.nn.functional.multilabel_soft_margin_loss`.

    Source: ``torch.nn.MultiLabelSoftMarginLoss``.
    """

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLossBase):
    """Binary cross entropy of logits; see `funcgrad.nn.functional.binary_cross_entropy_with_logits`.

    Source: ``torch.nn.BCEWithLogitsLoss``.
    """

    def __init__(
        self,
        weight: Array = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Array = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss of logits."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class SmoothL1Loss(LossBase):
    """Absolute error, squared near 0; see `funcgrad.nn.functional.smooth_l1_loss`.

    Source: ``torch.nn.SmoothL1Loss``.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(LossBase):
    """Squared error, linear far from 0; see `funcgrad.nn.functional.huber_loss`.

    Source: ``torch.nn.HuberLoss``.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not issubclass(type(delta), int | float):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(LossBase):
    """Kullback-Leibler divergence of log-probabilities; see `funcgrad.nn.functional.kl_div`.

    Source: ``torch.nn.KLDivLoss``.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Array, target: Array) -> Any:
        """Compute the loss of log-probabilities."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(LossBase):
    """Negative log-likelihood of counts; see `funcgrad.nn.functional.poisson_nll_loss`.

    Source: ``torch.nn.PoissonNLLLoss``.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Array, target: Array) -> Any:
        """Compute the loss."""
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of normal distributions; see `funcgrad.nn.functional.gaussian_nll_loss`.

    Source: ``torch.nn.GaussianNLLLoss``.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Array, target: Array, var: Array) -> Any:
        """Compute the loss of means and variances."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class CTCLoss(LossBase):
    """Negative log-likelihood of label sequences without alignment; see `funcgrad.nn.functional.ctc_loss`.

    Source: ``torch.nn.CTCLoss``.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array) -> Any:
        """Compute the loss of log-probabilities."""
        lengths = input_lengths, target_lengths
        return F.ctc_loss(log_probs, targets, *lengths, self.blank, self.reduction, self.zero_infinity)
