"""The imperative layer: tensors that record operations, and ``backward``, with PyTorch's contract."""

from funcgrad._public import publish
from funcgrad.autograd._creation import tensor
from funcgrad.autograd._tape.backward import backward, grad
from funcgrad.autograd._tape.function import Function
from funcgrad.autograd._tape.mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from funcgrad.autograd._tensor import Tensor

__all__ = [
    "Function",
    "Tensor",
    "backward",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "tensor",
]

__dir__ = publish(__name__)
