"""Schedulers that multiply the present learning rate by a factor, at some or all steps."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from funcgrad._core.words import shown
from funcgrad.optim._lr_scheduler.base import LRScheduler
from funcgrad.optim._torch.optimizer import Optimizer


class _ByFactor(LRScheduler):
    """Base class: multiplies the present learning rates of all groups by one factor. Other code may change them too."""

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        factor = self._factor()
        return self._current() if factor is None else self._scaled(factor)

    def _factor(self) -> float | None:
        """Return the factor of this step, or ``None`` if nothing changes."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any]:
        """Return the learning rates by the count of steps alone, for ``step(epoch)``."""
        whole = self._whole()
        return [base_lr * whole for base_lr in self.base_lrs]

    def _whole(self) -> float:
        """Return the product of all factors up to this step."""
        raise NotImplementedError


class StepLR(_ByFactor):
    """Multiply the learning rate by ``gamma`` after every ``step_size`` steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        step_size: the number of steps between two changes.
        gamma: the factor, dimensionless.
        last_epoch: as for `LRScheduler`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for _ in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25

    Source: ``torch.optim.lr_scheduler.StepLR``.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self._check_number("step_size", step_size, positive=True)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        comes = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self.gamma if comes else None

    def _whole(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """Multiply the learning rate by ``gamma`` at given steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        milestones: the step counts of the changes. A count that is given twice multiplies twice.
        gamma: the factor, dimensionless.
        last_epoch: as for `LRScheduler`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5

    Source: ``torch.optim.lr_scheduler.MultiStepLR``.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not isinstance(milestones, Iterable):
            raise TypeError(
                f"MultiStepLR: milestones is {shown(milestones)}; needed a list of counts of steps. Write "
                "milestones=[30, 80]."
            )
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        times = self.milestones.get(self.last_epoch)
        return None if times is None else self.gamma**times

    def _whole(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_ByFactor):
    """Multiply the learning rate by a factor for the first ``total_iters`` steps, and restore it then.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        factor: the factor, from 0 to 1, dimensionless.
        total_iters: the number of steps with the factor.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: the factor is out of range.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4)
        >>> optimizer.param_groups[0]["lr"]
        0.5

    Source: ``torch.optim.lr_scheduler.ConstantLR``.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _whole(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByFactor):
    """Multiply the learning rate by a factor that changes from one number to another in equal steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        start_factor: the first factor, above 0, up to 1, dimensionless.
        end_factor: the last factor, from 0 to 1, dimensionless.
        total_iters: the number of steps from the first factor to the last.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: a factor is out of range.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.75

    Source: ``torch.optim.lr_scheduler.LinearLR``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        way = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * way
        return 1.0 + way / before

    def _whole(self) -> float:
        way = self.end_factor - self.start_factor
        return self.start_factor + way * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_ByFactor):
    """Multiply the learning rate by ``gamma`` at each step.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        gamma: the factor, dimensionless.
        last_epoch: as for `LRScheduler`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5

    Source: ``torch.optim.lr_scheduler.ExponentialLR``.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self._check_number("gamma", gamma)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _whole(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_ByFactor):
    """Decay the learning rate to zero along a power of the remaining fraction of steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        total_iters: the number of steps ``T``.
        power: ``P`` in ``(1 - t / T)^P``, dimensionless.
        last_epoch: as for `LRScheduler`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.PolynomialLR(optimizer, total_iters=2, power=2.0)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25

    Source: ``torch.optim.lr_scheduler.PolynomialLR``.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self._check_number("total_iters", total_iters, positive=True)
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left, left_before = 1.0 - self.last_epoch / self.total_iters, 1.0 - (self.last_epoch - 1) / self.total_iters
        return (left / left_before) ** self.power

    def _whole(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
