"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.autograd._tape.base import is_tensor, set_value
from funcgrad.autograd._tape.handles import Hooks, RemovableHandle
from funcgrad.autograd._tape.held import HeldTrace
from funcgrad.autograd._tape.mode import recorded
from funcgrad.autograd._tape.writes import WRITES
from funcgrad.autograd._tensor import TRACE, rebuild
from funcgrad.autograd._torch import array_of, converted, is_torchs

__all__ = [
    "TRACE",
    "WRITES",
    "HeldTrace",
    "Hooks",
    "RemovableHandle",
    "array_of",
    "converted",
    "is_tensor",
    "is_torchs",
    "rebuild",
    "recorded",
    "set_value",
]

__dir__ = publish(__name__)
