"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import REQUIRED, Choice, Flag, Number, Rule, Slot
from funcgrad.optim._state.state import State
from funcgrad.optim._torch.declare import Declared, optimizer
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer

__all__ = [
    "REQUIRED",
    "Choice",
    "Declared",
    "Flag",
    "Number",
    "PyTorch",
    "Rule",
    "RuleOptimizer",
    "Slot",
    "State",
    "optimizer",
]

__dir__ = publish(__name__)
