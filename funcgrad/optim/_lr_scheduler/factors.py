"""Schedulers that compute the learning rate by functions of the number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.words import shown
from funcgrad.optim._lr_scheduler.base import LRScheduler, kept_of
from funcgrad.optim._torch.optimizer import Optimizer

Factor = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """Base class with one function for each group. Checkpoints keep the attributes of callable objects."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        self._attach(optimizer)
        count = len(optimizer.param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        if len(given) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(given)}")
        self._check(given)
        self.lr_lambdas: list[Any] = given
        super().__init__(optimizer, last_epoch)

    def _check(self, given: list[Any]) -> None:
        strange = next((each for each in given if not callable(each)), None)
        if strange is not None:
            raise TypeError(
                f"{type(self).__name__}: lr_lambda is {shown(strange)}; needed a function of the count of "
                "steps, or one for "
                "each group. Write lr_lambda=lambda step: 0.95**step."
            )

    def state_dict(self) -> dict[str, Any]:
        """Return all fields of the scheduler: nothing of functions, and the attributes of callable objects."""
        kept = super().state_dict()
        del kept["lr_lambdas"]
        return {**kept, "lr_lambdas": [kept_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`. The functions stay those of this scheduler."""
        rest = {name: value for name, value in state_dict.items() if name != "lr_lambdas"}
        for function, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if kept is not None:
                vars(function).update(kept)
        super().load_state_dict(rest)


class LambdaLR(_ByFunctions):
    """Set the learning rate to the initial one times a function of the number of steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        lr_lambda: the factor as a function of the step count (0 at the start), or a list with one for each group.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: the numbers of functions and groups differ.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=0.5)
        >>> scheduler = lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.25

    Source: ``torch.optim.lr_scheduler.LambdaLR``.
    """

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base_lr * factor(self.last_epoch) for factor, base_lr in pairs]


class MultiplicativeLR(_ByFunctions):
    """Multiply the present learning rate at each step by a function of the number of steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        lr_lambda: the factor as a function of the step count, first called with 1, or a list with one for each group.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: the numbers of functions and groups differ.
        TypeError: an entry is no function.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = lr_scheduler.MultiplicativeLR(optimizer, lambda step: 1 / (1 + step))
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> round(optimizer.param_groups[0]["lr"], 6)
        0.166667

    Source: ``torch.optim.lr_scheduler.MultiplicativeLR``.
    """

    def _check(self, given: list[Any]) -> None:
        for function in given:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        if self._is_initial:
            return self._current()
        pairs = zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        return [group["lr"] * factor(self.last_epoch) for factor, group in pairs]
