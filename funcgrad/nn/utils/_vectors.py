"""Parameters as one vector, and back."""

from __future__ import annotations

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Array
from funcgrad.autograd import Tensor
from funcgrad.autograd.extend import is_tensor


def parameters_to_vector(parameters: Any) -> Array:
    """Return the elements of all parameters in a row.

    Args:
        parameters: tensors.

    Returns:
        ``f32[elements]``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import parameters_to_vector
        >>> parameters_to_vector([tensor([[1.0, 2.0]]), tensor([3.0])])
        tensor([1., 2., 3.])

    Source: ``torch.nn.utils.parameters_to_vector``.
    """
    return fnp.concatenate([fnp.reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Any) -> None:
    """Give parameters the elements of a vector.

    Args:
        vec: ``f32[elements]``.
        parameters: tensors.

    Raises:
        TypeError: ``vec`` is no tensor.
        ValueError: the vector has another number of elements; no parameter is changed.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import vector_to_parameters
        >>> w = tensor([[0.0, 0.0]])
        >>> vector_to_parameters(tensor([1.0, 2.0]), [w])
        >>> w
        tensor([[1., 2.]])

    Source: ``torch.nn.utils.vector_to_parameters``; PyTorch ignores elements that are left.
    """
    if not is_tensor(vec):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    held = list(parameters)
    count = sum(math.prod(p.shape) for p in held)
    if tuple(vec.shape) != (count,):
        raise ValueError(
            f"vector_to_parameters: vec has shape {list(vec.shape)} and the parameters have {count} elements; needed "
            "one number for each. Make it by parameters_to_vector."
        )
    start = 0
    for p in held:
        stop = start + math.prod(p.shape)
        p.data = vec[start:stop].reshape(p.shape).detach()
        start = stop
