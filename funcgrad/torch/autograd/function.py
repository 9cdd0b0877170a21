"""``torch.autograd.function``: operations with a backward pass of their own."""

from funcgrad._public import publish as _publish
from funcgrad.torch.autograd._function import Function as Function
from funcgrad.torch.autograd._function import FunctionCtx as FunctionCtx
from funcgrad.torch.autograd._function import once_differentiable as once_differentiable

__dir__ = _publish(__name__)
