"""``ReduceLROnPlateau``: the scheduler that reduces the learning rate when a metric stops improving."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, SupportsFloat

from funcgrad.optim._lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, set_option
from funcgrad.optim._torch.optimizer import Optimizer
from funcgrad.optim._torch.options import number_of


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by a factor whenever a metric has not improved for a while.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        mode: ``"min"`` if less is better, ``"max"`` if more is better.
        factor: the factor, below 1, dimensionless.
        patience: the number of steps without improvement that are tolerated.
        threshold: the least change that counts as an improvement.
        threshold_mode: ``"rel"``, as a fraction of the best number so far; ``"abs"``, as a difference from it.
        cooldown: the number of steps after a reduction in which no step counts as bad.
        min_lr: the least learning rate, for each group or for all.
        eps: the least reduction; a smaller one is left out.

    Raises:
        ValueError: ``factor`` is not below 1, a mode is unknown, or the number of bounds differs from that of groups.
        TypeError: ``optimizer`` is not one of funcgrad's.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> optimizer.param_groups[0]["lr"]
        0.5

    Source: ``torch.optim.lr_scheduler.ReduceLROnPlateau``.
    """

    best: float

    def __init__(  # noqa: PLR0917  (PyTorch's arguments)
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Sequence[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self._attach(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple) and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        each = isinstance(min_lr, list | tuple)
        self.default_min_lr: Any = None if each else min_lr
        self.min_lrs: list[Any] = list(min_lr) if isinstance(min_lr, list | tuple) else [min_lr] * count
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._current()
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        """Forget the best number and all counts."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether no step counts as bad for now."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (as in PyTorch)
        """Compare the metric with the best one, and reduce the learning rates if it has not improved for too long.

        Args:
            metrics: the metric: a number, or an array or tensor of one element.
            epoch: the number of this step; deprecated in PyTorch.
        """
        current = float(number_of(metrics))
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._current()

    def _is_better(self, new: float, best: float) -> bool:
        down = self.mode == "min"
        if self.threshold_mode == "rel":
            needed = best * (1.0 - self.threshold if down else self.threshold + 1.0)
        else:
            needed = best - self.threshold if down else best + self.threshold
        return new < needed if down else new > needed

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(number_of(group["lr"]))
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`, from here or from PyTorch."""
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
