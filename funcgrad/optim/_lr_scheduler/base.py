"""``LRScheduler``: the base class of PyTorch's schedulers. It writes to the groups of an optimizer."""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from funcgrad._core.words import shown
from funcgrad._types import ScalarLike
from funcgrad.autograd.extend import array_of, is_tensor, is_torchs, rebuild
from funcgrad.optim._torch.optimizer import Optimizer

_DOCUMENTED = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. See more details at {_DOCUMENTED}"
)
_TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. See more details at {_DOCUMENTED}"
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_NO_INITIAL = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\nThis "
    "typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly loaded the "
    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)
# The mark of a ``step`` that notes its calls. PyTorch's schedulers look for the same mark.
_MARK = "_wrapped_by_lr_sched"


class LRScheduler:
    """Base class of schedulers. Subclass it as in PyTorch: define `get_lr`.

    The constructor stores the learning rate of each group as ``initial_lr`` and sets the first learning rate. Call
    `step` after the optimizer's `step`.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        last_epoch: the number of scheduler steps taken, minus one, to continue with groups that have their
            ``initial_lr``; -1 begins at the first epoch.

    Raises:
        TypeError: ``optimizer`` is not one of funcgrad's.
        KeyError: a group lacks ``initial_lr``, and ``last_epoch`` is not -1.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, lr_scheduler
        >>> class Harmonic(lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / (1 + self.last_epoch) for base in self.base_lrs]
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=0.5)
        >>> scheduler = Harmonic(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]

    Source: ``torch.optim.lr_scheduler.LRScheduler``.
    """

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]
    _step_count: int
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._attach(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NO_INITIAL.format(i))
        self.base_lrs = options(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _attach(self, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer

    def _check_number(self, name: str, value: ScalarLike, *, positive: bool = False) -> None:
        """Refuse a value that is no number, or a number that cannot be a divisor."""
        if not hasattr(value, "__float__") or (positive and not value > 0):
            raise (ValueError if hasattr(value, "__float__") else TypeError)(
                f"{type(self).__name__}: {name} is {shown(value)}; needed a "
                f"number{' above 0' if positive else ''}. Pass "
                f"{name}=10, say."
            )

    def _initial_step(self) -> None:
        self._step_count = 0
        with self._during("_is_initial"):
            self.step()

    @contextlib.contextmanager
    def _during(self, flag: str) -> Iterator[None]:
        """Set a flag for a while. Afterwards it is False, in `state_dict` too."""
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, False)

    def state_dict(self) -> dict[str, Any]:
        """Return all fields of the scheduler except the optimizer, with PyTorch's names."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`, from here or from PyTorch. The optimizer is loaded separately."""
        vars(self).update(taken_over(state_dict))

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that the last step set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step, one for each group. Subclasses define it.

        `step` calls it. `get_last_lr` returns the last result.
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next step.

        Args:
            epoch: the number of the step to go to, by the closed form if there is one; deprecated in PyTorch.

        Warns:
            UserWarning: the first call comes before the optimizer's first step; or ``epoch`` is given.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, _MARK):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        # Only some subclasses of users define the method, so it is looked up by name.
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set(self.get_lr if closed is None else closed)

    def _set(self, compute: Callable[[], Sequence[Any]]) -> None:
        """Write the computed values to the groups."""
        with self._during("_get_lr_called_within_step"):
            values = compute()
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_option(group, "lr", value)
        self._last_lr = self._current()

    def _current(self) -> list[Any]:
        """Return the present learning rates, including changes by other code."""
        return options(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The name that `LRScheduler` had before PyTorch 2.0, for programs that derive from it."""


def _note_steps(optimizer: Any) -> None:
    """Wrap the optimizer's ``step`` once, so that it notes each call for all schedulers."""
    step = optimizer.step
    if hasattr(step, _MARK):
        return
    is_method = hasattr(step, "__func__")
    # A bound method would keep the optimizer alive.
    holder, function = weakref.ref(optimizer), step.__func__ if is_method else step

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        held: Any = holder()
        held._opt_called = True  # noqa: SLF001  (PyTorch's name, which programs look at)
        return function(held, *args, **kwargs) if is_method else function(*args, **kwargs)

    setattr(noted, _MARK, True)
    optimizer.step = noted


def _copied(value: ScalarLike) -> Any:
    return value.clone() if is_tensor(value) else value


def options(optimizer: Optimizer, name: str) -> list[Any]:
    """Return an option of each group; a tensor is copied, so that writes to it have no effect here."""
    return [_copied(group[name]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], name: str, value: ScalarLike) -> None:
    """Set an option of a group; a tensor stays the same object."""
    if is_tensor(group[name]):
        group[name].fill_(value)
    else:
        group[name] = value


def one_each(name: str, optimizer: Optimizer, given: Any) -> list[Any]:
    """Return one value for each group, from a list or from a single value."""
    count = len(optimizer.param_groups)
    if isinstance(given, list | tuple):
        if len(given) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, "
                f"param_groups has {count}."
            )
        return [_copied(value) for value in given]
    return [_copied(given) for _ in range(count)]


def cycles_beta(optimizer: Optimizer) -> bool:
    """Return whether the momentum to cycle is the first of ``betas`` rather than ``momentum``."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], of_betas: bool, value: ScalarLike) -> None:
    """Set the momentum of a group, or its first beta."""
    if of_betas:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def kept_of(function: Any) -> dict[str, Any] | None:
    """Return the part of a user's function that a checkpoint keeps.

    Attributes of an object, ``None`` for a function.
    """
    return None if isinstance(function, FunctionType) or not hasattr(function, "__dict__") else vars(function).copy()


def taken_over(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Copy a checkpoint: its lists are new, and learning rates that are PyTorch's tensors become our tensors."""
    return {
        name: [_converted(x) for x in value] if type(value) is list else value for name, value in state_dict.items()
    }


def _converted(value: ScalarLike) -> Any:
    return rebuild(array_of(value), False) if is_torchs(value) else value
