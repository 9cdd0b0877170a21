"""Losses with margins as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._types import Array
from funcgrad.nn import functional as F
from funcgrad.nn._modules.linear import PairwiseDistance
from funcgrad.nn._modules.losses import LossBase, WeightedLossBase


class HingeEmbeddingLoss(LossBase):
    """Hinge loss of distances; see `funcgrad.nn.functional.hinge_embedding_loss`.

    Source: ``torch.nn.HingeEmbeddingLoss``.
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Array, target: Array) -> Array:
        """Compute the loss."""
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(LossBase):
    """Loss of pairs in the wrong order; see `funcgrad.nn.functional.margin_ranking_loss`.

    Source: ``torch.nn.MarginRankingLoss``.
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Array, input2: Array, target: Array) -> Array:
        """Compute the loss."""
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(LossBase):
    """Loss of the cosine between vectors; see `funcgrad.nn.functional.cosine_embedding_loss`.

    Source: ``torch.nn.CosineEmbeddingLoss``.
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Array, input2: Array, target: Array) -> Array:
        """Compute the loss."""
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class MultiMarginLoss(WeightedLossBase):
    """Margin loss of one class; see `funcgrad.nn.functional.multi_margin_loss`.

    Source: ``torch.nn.MultiMarginLoss``.
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Array = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and len(weight.shape) != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {len(weight.shape)}D instead"
            )
        self.p, self.margin = p, margin

    def forward(self, input: Array, target: Array) -> Array:
        """Compute the loss."""
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class TripletMarginLoss(LossBase):
    """Loss of triplets; see `funcgrad.nn.functional.triplet_margin_loss`.

    Source: ``torch.nn.TripletMarginLoss``.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Array, positive: Array, negative: Array) -> Array:
        """Compute the loss."""
        how = self.margin, self.p, self.eps, self.swap
        return F.triplet_margin_loss(anchor, positive, negative, *how, reduction=self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """Loss of triplets with a distance of one's own.

    Source: ``torch.nn.TripletMarginWithDistanceLoss``.
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Array, positive: Array, negative: Array) -> Array:
        """Compute the loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
