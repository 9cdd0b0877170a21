"""The optimizers that are read off their rules: states, pairs of functions, and PyTorch's classes."""

from funcgrad.optim._rules.adam import ADAM, ADAMW
from funcgrad.optim._torch.declare import optimizer

AdamState, adam_init, adam_update, Adam = optimizer(ADAM)
AdamWState, adamw_init, adamw_update, AdamW = optimizer(ADAMW, base=Adam)
