"""Schedulers that move the learning rate up and down and the momentum the other way: ``CyclicLR``, ``OneCycleLR``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._types import ArrayLike, ScalarLike
from funcgrad.optim._lr_scheduler.base import (
    LRScheduler,
    cycles_beta,
    kept_of,
    one_each,
    set_momentum,
    set_option,
)
from funcgrad.optim._torch.optimizer import Optimizer

Bounds = float | Sequence[float]
_MODES = ("triangular", "triangular2", "exp_range")


class _Cycling(LRScheduler):
    """Base class: changes the learning rate, and the momentum or the first of ``betas``."""

    cycle_momentum: bool
    use_beta1: bool

    def _momenta(self, base: Bounds, greatest: Bounds) -> tuple[list[Any], list[Any]]:
        """Return the bounds of the momentum for each group."""
        self.use_beta1 = cycles_beta(self.optimizer)
        return one_each("base_momentum", self.optimizer, base), one_each("max_momentum", self.optimizer, greatest)

    def _begin_momenta(self, base: Sequence[Any], greatest: Sequence[Any]) -> None:
        for group, low, high in zip(self.optimizer.param_groups, base, greatest, strict=True):
            set_momentum(group, self.use_beta1, high)
            group["max_momentum"] = high
            group["base_momentum"] = low


class CyclicLR(_Cycling):
    """Move the learning rate up and down between two bounds, again and again.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        base_lr: the lower bound, for each group or for all.
        max_lr: the upper bound, for each group or for all.
        step_size_up: the number of steps upwards.
        step_size_down: the number of steps downwards; ``None`` means the same number as upwards.
        mode: the height of each cycle: always the same with ``"triangular"``, half the height of the cycle before with
            ``"triangular2"``, the height times ``gamma ** count`` after ``count`` steps with ``"exp_range"``.
        gamma: the base for ``"exp_range"``, dimensionless.
        scale_fn: a function that returns the scale of the height, instead of ``mode``.
        scale_mode: the argument of ``scale_fn``: the number of the ``"cycle"``, from 1, or the count of
            ``"iterations"``.
        cycle_momentum: whether the momentum moves in the opposite direction.
        base_momentum: the lower bound of the momentum, for each group or for all.
        max_momentum: the upper bound of the momentum, for each group or for all.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: bounds do not match the groups, the mode is unknown, or the optimizer has no momentum to cycle.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = lr_scheduler.CyclicLR(optimizer, base_lr=0.5, max_lr=1.0, step_size_up=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"], round(optimizer.param_groups[0]["momentum"], 6)
        (0.75, 0.85)

    Source: Smith, *Cyclical Learning Rates for Training Neural Networks* (2017), section 3, as in
    ``torch.optim.lr_scheduler.CyclicLR``.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (PyTorch's arguments)
        self,
        optimizer: Optimizer,
        base_lr: Bounds,
        max_lr: Bounds,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Bounds = 0.8,
        max_momentum: Bounds = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self._attach(optimizer)
        base_lrs, self.max_lrs = one_each("base_lr", optimizer, base_lr), one_each("max_lr", optimizer, max_lr)
        if mode not in _MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._momenta(base_momentum, max_momentum)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._choose_scale_mode()
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", lr)
            if cycle_momentum:
                self._begin_momenta(self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _choose_scale_mode(self) -> None:
        if self._scale_fn_custom is None:
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """Return the scale of a cycle's height, from the cycle's number or the count of steps."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step, and set the momenta."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        asked = cycle if self.scale_mode == "cycle" else self.last_epoch
        bounds = zip(self.base_lrs, self.max_lrs, strict=True)
        lrs = [low + (high - low) * height * self.scale_fn(asked) for low, high in bounds]
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            momenta = [high - (high - low) * height * self.scale_fn(asked) for low, high in bounds]
            for group, momentum in zip(self.optimizer.param_groups, momenta, strict=True):
                set_momentum(group, self.use_beta1, momentum)
        return lrs

    def state_dict(self) -> dict[str, Any]:
        """Return all fields of the scheduler: nothing of a function, and the attributes of a callable object."""
        kept = super().state_dict()
        custom = kept.pop("_scale_fn_custom")
        return {**kept, "_scale_fn_custom": None if custom is None else kept_of(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`. The function stays the one of this scheduler."""
        rest = {name: value for name, value in state_dict.items() if name != "_scale_fn_custom"}
        kept = state_dict["_scale_fn_custom"]
        if kept is not None:
            vars(self._scale_fn_custom).update(kept)
        super().load_state_dict(rest)
        self._choose_scale_mode()


class OneCycleLR(_Cycling):
    """Move the learning rate up once and far down once, over a known number of steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        max_lr: the greatest learning rate, for each group or for all.
        total_steps: the number of steps; by default ``epochs * steps_per_epoch``.
        epochs: the number of epochs.
        steps_per_epoch: the number of steps of each epoch.
        pct_start: the fraction of the steps that go upwards.
        anneal_strategy: the curve between two values: ``"cos"`` or ``"linear"``.
        cycle_momentum: whether the momentum moves in the opposite direction.
        base_momentum: the lower bound of the momentum, for each group or for all.
        max_momentum: the upper bound of the momentum, for each group or for all.
        div_factor: the first learning rate is ``max_lr / div_factor``.
        final_div_factor: the last learning rate is the first one divided by this.
        three_phase: whether it goes down to the first value in as many steps as upwards, and then further down.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: the number of steps is missing or not positive, another argument is out of range, the optimizer has
            no momentum to cycle, or it is stepped too often.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> for _ in range(2):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]
        (1.0, 0.85)

    Source: Smith and Topin, *Super-Convergence* (2017), as in ``torch.optim.lr_scheduler.OneCycleLR``.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (PyTorch's arguments)
        self,
        optimizer: Optimizer,
        max_lr: Bounds,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Bounds = 0.85,
        max_momentum: Bounds = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._attach(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not issubclass(type(pct_start), float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        self._anneal_func_type = anneal_strategy
        max_lrs = one_each("max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        momenta = self._momenta(base_momentum, max_momentum) if cycle_momentum else None
        if last_epoch == -1:
            for group, greatest in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = greatest / div_factor
                group["max_lr"] = greatest
                group["min_lr"] = group["initial_lr"] / final_div_factor
            if momenta is not None:
                self._begin_momenta(*momenta)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step, and set the momenta."""
        self._warn_outside_step()
        count = self.last_epoch
        if count > self.total_steps:
            raise ValueError(f"Tried to step {count} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        phase = self._schedule_phases[0]
        for before, after in zip(self._schedule_phases, self._schedule_phases[1:], strict=False):
            if count <= before["end_step"]:
                break
            begin, phase = before["end_step"], after
        part = (count - begin) / (phase["end_step"] - begin)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                bounds = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self.use_beta1, self._between(*bounds, part))
        return lrs

    def _between(self, start: ArrayLike, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _total(total_steps: ScalarLike, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: ScalarLike) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(part: float, total: int, three: bool) -> list[dict[str, Any]]:
    """Return the phases: the keys of the group's values at start and end, and the last step of each phase."""

    def phase(end: float, lrs: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": lrs[0],
            "end_lr": lrs[1],
            "start_momentum": momenta[0],
            "end_momentum": momenta[1],
        }

    down, up = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    first = phase(float(part * total) - 1, ("initial_lr", "max_lr"), down)
    if not three:
        return [first, phase(total - 1, ("max_lr", "min_lr"), up)]
    back = phase(float(2 * part * total) - 2, ("max_lr", "initial_lr"), up)
    return [first, back, phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]
