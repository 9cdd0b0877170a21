"""Clip the gradients of tensors in place before an optimizer's step, as ``torch.nn.utils`` does."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.autograd import Tensor, no_grad
from funcgrad.autograd.extend import is_tensor, rebuild


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place by one factor, so that their norm as one vector is at most ``max_norm``.

    ``gradient *= min(1, max_norm / (norm + 1e-6))``

    Args:
        parameters: a tensor or tensors; a tensor without a gradient is skipped.
        max_norm: the greatest norm, in gradient units.
        norm_type: which norm: 2, 1, ``inf``, ...
        error_if_nonfinite: raise if the norm is infinite or NaN.
        foreach: ignored; accepted because PyTorch has it.

    Returns:
        The norm before clipping, a tensor of shape ``[]``.

    Raises:
        RuntimeError: the norm is infinite or NaN, and ``error_if_nonfinite`` is set. No gradient is changed.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import clip_grad_norm_
        >>> w = tensor([3.0, 4.0], requires_grad=True)
        >>> (w**2 / 2).sum().backward()
        >>> clip_grad_norm_([w], max_norm=1.0), w.grad
        (tensor(5.), tensor([0.6000, 0.8000]))

    Source: ``torch.nn.utils.clip_grad_norm_``.
    """
    if isinstance(parameters, GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", UserWarning, stacklevel=2
            )
    parameters = _listed(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of tensors as one vector.

    Args:
        tensors: a tensor or tensors.
        norm_type: which norm: 2, 1, ``inf``, ...
        error_if_nonfinite: raise if the norm is infinite or NaN.
        foreach: ignored; accepted because PyTorch has it.

    Returns:
        The norm, a tensor of shape ``[]``; 0 for an empty list.

    Raises:
        RuntimeError: the norm is infinite or NaN, and ``error_if_nonfinite`` is set.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import get_total_norm
        >>> get_total_norm([tensor([3.0]), tensor([[4.0]])])
        tensor(5.)

    Source: ``torch.nn.utils.get_total_norm``.
    """
    order = float(norm_type)
    tensors = _listed(tensors)
    if not tensors:
        return rebuild(np.array(0.0, np.float32), False)
    norms = [fnp.linalg.norm(fnp.reshape(x._value, (-1,)), ord=order) for x in tensors]
    total = fnp.linalg.norm(fnp.stack(norms), ord=order)
    if error_if_nonfinite and not np.isfinite(np.asarray(total)):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return rebuild(np.asarray(total) if issubclass(type(total), np.generic) else total, False)


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale gradients in place by ``min(1, max_norm / (total_norm + 1e-6))``.

    Args:
        parameters: a tensor or tensors; a tensor without a gradient is skipped.
        max_norm: the greatest norm, in gradient units.
        total_norm: the norm of all gradients as one vector; see `get_total_norm`.
        foreach: ignored; accepted because PyTorch has it.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import clip_grads_with_norm_
        >>> w = tensor([3.0, 4.0], requires_grad=True)
        >>> (w**2 / 2).sum().backward()
        >>> clip_grads_with_norm_([w], 2.5, tensor(5.0))
        >>> w.grad
        tensor([1.5000, 2.0000])

    Source: ``torch.nn.utils.clip_grads_with_norm_``.
    """
    with no_grad():
        factor = fnp.minimum(float(max_norm) / (total_norm + 1e-6), 1.0)
        for gradient in _gradients(_listed(parameters)):
            gradient.mul_(factor)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clip each element of the gradients in place to ``[-clip_value, clip_value]``.

    Args:
        parameters: a tensor or tensors; a tensor without a gradient is skipped.
        clip_value: the greatest absolute value, in gradient units.
        foreach: ignored; accepted because PyTorch has it.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils import clip_grad_value_
        >>> w = tensor([3.0, -0.5], requires_grad=True)
        >>> (w**2 / 2).sum().backward()
        >>> clip_grad_value_(w, 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.5000])

    Source: ``torch.nn.utils.clip_grad_value_``.
    """
    limit = float(clip_value)
    with no_grad():
        for gradient in _gradients(_listed(parameters)):
            gradient.copy_(gradient.clamp(min=-limit, max=limit))


def _listed(tensors: Any) -> list[Any]:
    found = [tensors] if is_tensor(tensors) else list(tensors) if isinstance(tensors, Iterable) else [tensors]
    strange = next((x for x in found if not is_tensor(x)), None)
    if strange is not None:
        raise TypeError(
            f"clip_grad: the parameters are a {type(tensors).__name__} that contains a {type(strange).__name__}; "
            "needed a tensor, or tensors. Pass model.parameters(). For gradients that are arrays, use "
            "fg.optim.clip_by_global_norm."
        )
    return found


def _gradients(parameters: Iterable[Any]) -> list[Any]:
    return [p.grad for p in parameters if p.grad is not None]
