"""Optimizers: the rules as pure functions over immutable pytrees, and PyTorch's classes over them."""

from funcgrad.optim._hooks import RemovableHandle
from funcgrad.optim._optimizer import Optimizer, required
from funcgrad.optim._sgd import sgd_update
from funcgrad.optim._sgd_class import SGD
from funcgrad.optim._state import SGDState, sgd_init

__all__ = ["SGD", "Optimizer", "RemovableHandle", "SGDState", "required", "sgd_init", "sgd_update"]
