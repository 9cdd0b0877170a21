"""Averages of a model's parameters over the steps of a training: ``torch.optim.swa_utils``."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from funcgrad import nn
from funcgrad._public import publish
from funcgrad._types import DeviceLike, ScalarLike
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.optim._lr_scheduler.base import LRScheduler
from funcgrad.optim._torch.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function that computes ``decay * average + (1 - decay) * parameter``.

    Args:
        decay: the weight of the former average, from 0 to 1, dimensionless.

    Returns:
        The function of an average, a parameter and a count.

    Raises:
        ValueError: ``decay`` is not from 0 to 1.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import swa_utils
        >>> swa_utils.get_ema_avg_fn(0.5)(tensor([1.0]), tensor([3.0]), 1)
        tensor([2.])
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return no_grad()(lambda average, parameter, count: decay * average + (1 - decay) * parameter)


def get_swa_avg_fn() -> Average:
    """Return the function that computes the mean of all parameters so far.

    Returns:
        The function of an average, a parameter, and the count of parameters before.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import swa_utils
        >>> swa_utils.get_swa_avg_fn()(tensor([1.0]), tensor([4.0]), 2)
        tensor([2.])
    """
    return no_grad()(lambda average, parameter, count: average + (parameter - average) / (count + 1))


def _of_several(average_of: Average) -> Averages:
    """Return the function that writes the average of each of several parameters."""

    @no_grad()
    def update(averages: Sequence[Tensor], parameters: Sequence[Tensor], count: Any) -> None:
        for average, parameter in zip(averages, parameters, strict=True):
            average.copy_(average_of(average, parameter, count))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Return the function that writes the moving averages of several parameters: see `get_ema_avg_fn`.

    Args:
        decay: the weight of the former average, from 0 to 1, dimensionless.

    Returns:
        The function of a list of averages, a list of parameters and a count.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import swa_utils
        >>> average = tensor([1.0])
        >>> swa_utils.get_ema_multi_avg_fn(0.5)([average], [tensor([3.0])], 1)
        >>> average
        tensor([2.])
    """
    return _of_several(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """Return the function that writes the means of several parameters: see `get_swa_avg_fn`.

    Returns:
        The function of a list of averages, a list of parameters, and the count of parameters before.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import swa_utils
        >>> average = tensor([1.0])
        >>> swa_utils.get_swa_multi_avg_fn()([average], [tensor([4.0])], 2)
        >>> average
        tensor([2.])
    """
    return _of_several(get_swa_avg_fn())


class AveragedModel(nn.Module):
    """Hold a copy of a model whose parameters are averages over the calls of `update_parameters`.

    Args:
        model: the model, which is copied.
        device: the present one.
        avg_fn: ``(average, parameter, count) -> average``; by default the mean.
        multi_avg_fn: a function that writes the averages of several parameters, in place of ``avg_fn``.
        use_buffers: whether buffers are averaged too; otherwise they are copied.

    Example:
        >>> from funcgrad import nn, optim
        >>> model = nn.Linear(2, 1)
        >>> average = optim.swa_utils.AveragedModel(model)
        >>> average.update_parameters(model)
        >>> average.n_averaged
        tensor(1)

    Source: ``torch.optim.swa_utils.AveragedModel``; Izmailov et al., *Averaging weights leads to wider optima* (2018).
    """

    def __init__(
        self,
        model: nn.Module,
        device: DeviceLike = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: nn.Module) -> list[Tensor]:
        found: Iterable[Any] = (
            itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        )
        return [x.detach() for x in found]

    def update_parameters(self, model: nn.Module) -> None:
        """Take the present parameters of a model into the averages; the first call copies them."""
        averages, present = self._averaged(self.module), self._averaged(model)
        averaged: Any = self.n_averaged
        count = averaged.detach().clone()
        with no_grad():
            if not count:
                for average, x in zip(averages, present, strict=True):
                    average.copy_(x)
            else:
                update = self.multi_avg_fn or _of_several(self.avg_fn or get_swa_avg_fn())
                update(averages, present, count)
            if not self.use_buffers:
                for own, x in zip(self.module.buffers(), model.buffers(), strict=True):
                    own.detach().copy_(x.detach())
            self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: nn.Module, device: DeviceLike = None) -> None:
    """Compute the running statistics of a model's batch norms again, as means over all batches of a loader.

    Args:
        loader: batches; of a list or tuple the first element is the input.
        model: the model.
        device: the present one.

    Example:
        >>> from funcgrad import nn, optim
        >>> from funcgrad.autograd import tensor
        >>> model = nn.BatchNorm1d(1)
        >>> optim.swa_utils.update_bn([tensor([[1.0], [3.0]]), tensor([[3.0], [5.0]])], model)
        >>> model.running_mean
        tensor([3.])

    Source: ``torch.optim.swa_utils.update_bn``.
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BATCH_NORMS)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    try:
        for batch in loader:
            x = batch[0] if isinstance(batch, list | tuple) else batch
            model(x if device is None else x.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Lead the learning rates to fixed ones within some steps.

    Args:
        optimizer: the optimizer with the groups that the scheduler writes to.
        swa_lr: the last learning rate, or one for each group, in parameter units per gradient unit.
        anneal_epochs: the number of steps on the way.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: as for `LRScheduler`.

    Raises:
        ValueError: a number of steps or a strategy is not possible.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD, swa_utils
        >>> optimizer = SGD([tensor([1.0], requires_grad=True)], lr=1.0)
        >>> scheduler = swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]

    Source: ``torch.optim.swa_utils.SWALR``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: ScalarLike,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        groups = optimizer.param_groups
        if isinstance(swa_lr, list | tuple) and len(swa_lr) != len(groups):
            raise ValueError(
                f"swa_lr must have the same length as optimizer.param_groups. swa_lr has {len(swa_lr)} values, "
                f"param_groups has {len(groups)}."
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        each = swa_lr if isinstance(swa_lr, list | tuple) else [swa_lr] * len(groups)
        for lr, group in zip(each, groups, strict=True):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """Return the fraction of the way that a number of steps covers."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


__dir__ = publish(__name__)
