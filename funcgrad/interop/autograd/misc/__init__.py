"""autograd's ``misc``: flat vectors of nested values, optimizers, fixed points."""

from funcgrad._public import publish
from funcgrad.interop.autograd.misc.flatten import flatten
from funcgrad.interop.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]

__dir__ = publish(__name__)
