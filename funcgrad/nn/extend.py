"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.nn._functions.recurrent import Weights, cell
from funcgrad.nn._modules.recurrent import run_layers
from funcgrad.nn.functional._normalization import batch_norm_and_statistics

__all__ = ["Weights", "batch_norm_and_statistics", "cell", "run_layers"]

__dir__ = publish(__name__)
