"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.nn._functions.recurrent import Weights, cell
from funcgrad.nn._modules.recurrent import run_layers

__all__ = ["Weights", "cell", "run_layers"]

__dir__ = publish(__name__)
