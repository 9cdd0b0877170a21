"""Schedulers along a cosine: ``CosineAnnealingLR`` and ``CosineAnnealingWarmRestarts``."""

from __future__ import annotations

import math
from typing import Any

from funcgrad.optim._lr_scheduler.base import LRScheduler
from funcgrad.optim._torch.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Change the present learning rate down half a cosine wave, and up again.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        T_max: the number of steps from the top to the bottom.
        eta_min: the lowest learning rate.
        last_epoch: as for `LRScheduler`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> round(optimizer.param_groups[0]["lr"], 6)
        0.5

    Source: Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts* (2017), equation 5 within one
    period, as a recurrence, as in ``torch.optim.lr_scheduler.CosineAnnealingLR``.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803  (PyTorch's name)
        self._check_number("T_max", T_max, positive=True)
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        t, period = self.last_epoch, self.T_max
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and t > 0:
            return self._waves(1 + math.cos(t * math.pi / period))
        groups = self.optimizer.param_groups
        if (t - 1 - period) % (2 * period) == 0:
            # At the lowest point the recurrence would divide by zero.
            rise = 1 - math.cos(math.pi / period)
            pairs = zip(self.base_lrs, groups, strict=True)
            return [group["lr"] + (base_lr - self.eta_min) * rise / 2 for base_lr, group in pairs]
        ratio = (1 + math.cos(math.pi * t / period)) / (1 + math.cos(math.pi * (t - 1) / period))
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return self._waves(1 + math.cos(math.pi * self.last_epoch / self.T_max))

    def _waves(self, height: float) -> list[Any]:
        return [self.eta_min + (base_lr - self.eta_min) * height / 2 for base_lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Change the learning rate down half a cosine wave, restart at the top, and repeat with longer waves.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        T_0: the number of steps of the first wave.
        T_mult: the factor by which each wave is longer than the one before.
        eta_min: the learning rate at the end of each wave.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: ``T_0`` or ``T_mult`` is not a positive integer, or ``eta_min`` is no number.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4)
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        1.0

    Source: Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts* (2017), equation 5, as in
    ``torch.optim.lr_scheduler.CosineAnnealingWarmRestarts``.
    """

    T_cur: Any

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803  (PyTorch's name)
        T_mult: int = 1,  # noqa: N803  (PyTorch's name)
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not issubclass(type(eta_min), float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base_lr - self.eta_min) * height / 2 for base_lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next step.

        Args:
            epoch: the step count to go to. It may be a fraction: ``epoch + i / n`` after batch ``i`` of ``n``.

        Raises:
            ValueError: ``epoch`` is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur = self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur = self.T_cur % self.T_i
                self.T_i = self.T_i * self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
