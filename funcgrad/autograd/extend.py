"""What optimizers, modules and converters build on, beside the public names: the only door to this room's insides."""

from funcgrad._public import publish
from funcgrad.autograd._base import TRACE, is_tensor, set_value
from funcgrad.autograd._mode import recorded
from funcgrad.autograd._tensor import rebuild
from funcgrad.autograd._torch import array_of, converted, is_torchs
from funcgrad.autograd._writes import note_writes

__all__ = [
    "TRACE",
    "array_of",
    "converted",
    "is_tensor",
    "is_torchs",
    "note_writes",
    "rebuild",
    "recorded",
    "set_value",
]

__dir__ = publish(__name__)
