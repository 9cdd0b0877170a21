"""Schedulers of schedulers: ``SequentialLR`` runs one after another, ``ChainedScheduler`` runs all at each step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from funcgrad.optim._lr_scheduler.base import LRScheduler, set_option
from funcgrad.optim._lr_scheduler.plateau import ReduceLROnPlateau
from funcgrad.optim._torch.optimizer import Optimizer


class _OfSchedulers(LRScheduler):
    """Base class for schedulers of schedulers. A checkpoint holds the inner checkpoints in a list."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Any, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return all fields of the scheduler, including those of its schedulers."""
        kept = super().state_dict()
        del kept["_schedulers"]
        return {**kept, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`, from here or from PyTorch."""
        rest = {name: value for name, value in state_dict.items() if name != "_schedulers"}
        for scheduler, kept in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(kept)
        super().load_state_dict(rest)


class SequentialLR(_OfSchedulers):
    """Run one scheduler after another. Each counts its steps from its own beginning.

    Args:
        optimizer: the optimizer with the groups that the schedulers write to.
        schedulers: schedulers of this optimizer.
        milestones: the step counts at which the second and further schedulers begin.
        last_epoch: the number of steps taken, minus one.

    Raises:
        ValueError: there are no schedulers, they belong to several optimizers, one is a `ReduceLROnPlateau`, or the
            number of milestones is wrong.
        TypeError: one of them is no scheduler.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> warmup = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        >>> scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.9]

    Source: ``torch.optim.lr_scheduler.SequentialLR``.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        # Each constructor has taken a first step. Undo these, and let only the active scheduler take its first step.
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()  # noqa: SLF001  (a scheduler of another class)
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the step that each scheduler took in its constructor."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for each in scheduler._schedulers:  # noqa: SLF001  (a scheduler of another class)
                self.recursive_undo(each)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (as in PyTorch)
        """Set the learning rates of the next step by the active scheduler."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler._update_lr(0)  # noqa: SLF001  (a scheduler of another class)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """Run several schedulers at each step, in their order.

    Args:
        schedulers: schedulers of one optimizer that scale its present learning rate.
        optimizer: their optimizer.

    Raises:
        ValueError: there are no schedulers, they belong to several optimizers, or one is a `ReduceLROnPlateau`.
        TypeError: one of them is no scheduler.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> each = lr_scheduler.ExponentialLR(optimizer, gamma=0.5), lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        >>> scheduler = lr_scheduler.ChainedScheduler(each, optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]

    Source: ``torch.optim.lr_scheduler.ChainedScheduler``.
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if not isinstance(schedulers, Sequence):
            raise TypeError(
                f"{type(self).__name__}: schedulers is a {type(schedulers).__name__}; needed a list of schedulers. "
                "Pass [first, second]."
            )
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        self._check(optimizer, schedulers)
        assert optimizer is not None
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._current()

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  (as in PyTorch)
        """Set the learning rates of the next step, by all schedulers."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._current()
