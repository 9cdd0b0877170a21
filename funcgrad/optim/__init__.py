"""Optimizers: the rules as pure functions over immutable pytrees, and PyTorch's classes over them."""

from funcgrad._public import publish
from funcgrad.optim._sgd import sgd_init, sgd_update
from funcgrad.optim._state.sgd import SGDState
from funcgrad.optim._torch.family import (
    Adam,
    AdamState,
    AdamW,
    AdamWState,
    adam_init,
    adam_update,
    adamw_init,
    adamw_update,
)
from funcgrad.optim._torch.hooks import RemovableHandle
from funcgrad.optim._torch.optimizer import Optimizer, required
from funcgrad.optim._torch.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamState",
    "AdamW",
    "AdamWState",
    "Optimizer",
    "RemovableHandle",
    "SGDState",
    "adam_init",
    "adam_update",
    "adamw_init",
    "adamw_update",
    "required",
    "sgd_init",
    "sgd_update",
]

__dir__ = publish(__name__)
