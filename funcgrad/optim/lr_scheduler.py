"""PyTorch's schedulers of learning rates, ``torch.optim.lr_scheduler``. They write to the groups of an optimizer.

They have PyTorch's names, numbers, messages and checkpoints. The pure functions are in `schedules`.

Example:
    >>> from funcgrad.autograd import tensor
    >>> from funcgrad.optim import SGD, lr_scheduler
    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.5)
    >>> scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    >>> for _ in range(10):
    ...     optimizer.zero_grad()
    ...     (w**2).sum().backward()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.0]
"""

from funcgrad._public import publish
from funcgrad.optim._lr_scheduler.base import LRScheduler, _LRScheduler
from funcgrad.optim._lr_scheduler.combined import ChainedScheduler, SequentialLR
from funcgrad.optim._lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from funcgrad.optim._lr_scheduler.cycles import CyclicLR, OneCycleLR
from funcgrad.optim._lr_scheduler.decays import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from funcgrad.optim._lr_scheduler.factors import LambdaLR, MultiplicativeLR
from funcgrad.optim._lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

# Only old programs use this name.
_LRScheduler.__module__ = __name__

__dir__ = publish(__name__)
