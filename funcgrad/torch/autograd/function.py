"""``torch.autograd.function``: operations with a backward pass of their own."""

from funcgrad._public import publish as _publish
from funcgrad.torch.autograd._function import Function, FunctionCtx, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

__dir__ = _publish(__name__)
