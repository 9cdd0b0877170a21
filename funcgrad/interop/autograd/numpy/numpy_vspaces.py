"""The vector spaces of arrays under autograd's names: one class for real arrays, complex arrays and trees."""

from funcgrad._public import publish
from funcgrad.interop.autograd._vspace import VSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]

ArrayVSpace = ComplexArrayVSpace = VSpace

__dir__ = publish(__name__)
