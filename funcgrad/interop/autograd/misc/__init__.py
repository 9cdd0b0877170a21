"""autograd's ``misc``: flat vectors of nested values, optimizers, fixed points."""

from funcgrad._public import publish
from funcgrad.interop.autograd.misc.flatten import flatten

__all__ = ["flatten"]

__dir__ = publish(__name__)
