"""Optimizer rules: pure functions over immutable pytrees."""

from funcgrad.optim._sgd import sgd_update
from funcgrad.optim._state import SGDState, sgd_init

__all__ = ["SGDState", "sgd_init", "sgd_update"]
