"""PyTorch's tensors, checkpoints and functions, both ways. PyTorch must be loaded; it is never imported here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._core.bind import is_value
from funcgrad._public import publish
from funcgrad._types import ArrayLike, PyTree
from funcgrad.autograd import Tensor
from funcgrad.autograd.extend import array_of, is_tensor, is_torchs, rebuild
from funcgrad.interop._torch_functions import differentiable, from_torch_function

__all__ = ["differentiable", "from_torch", "from_torch_function", "to_torch"]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def from_torch(tree: PyTree) -> Any:
    """Convert PyTorch's tensors to tensors of this library, anywhere in nested containers.

    Args:
        tree: a ``torch.Tensor``, or dicts, lists and tuples of them, such as the ``state_dict`` of a model or of an
            optimizer. Other values are returned unchanged.

    Returns:
        The same containers with copies of the values, as leaves; ``requires_grad`` is kept.

    Example:
        >>> from funcgrad.interop.torch import from_torch
        >>> from_torch({"lr": 0.1, "params": [0, 1]})  # tensors would be converted
        {'lr': 0.1, 'params': [0, 1]}
    """
    return _mapped(_shared(_from_tensor), tree)


def to_torch(tree: PyTree) -> Any:
    """Convert tensors and arrays to PyTorch's, anywhere in nested containers.

    Args:
        tree: a `Tensor`, a NumPy or JAX array, or dicts, lists and tuples of them, such as the ``state_dict`` of a
            model or of an optimizer. Other values are returned unchanged.

    Returns:
        The same containers with copies of the values; ``requires_grad`` of leaves is kept.

    Raises:
        ImportError: PyTorch is not loaded. Import it first.

    Example:
        >>> import sys
        >>> import numpy as np
        >>> from funcgrad.interop.torch import to_torch
        >>> if "torch" in sys.modules:
        ...     assert to_torch({"w": np.ones(2)})["w"].tolist() == [1.0, 1.0]
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise ImportError("to_torch: PyTorch is not loaded, and its tensors were asked for. Import torch first.")
    return _mapped(_shared(lambda x: _to_tensor(torch, x)), tree)


def _shared(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a conversion that gives the same result for the same object, so that shared tensors stay shared."""
    done: dict[int, Any] = {}

    def once(x: ArrayLike) -> Any:
        if id(x) not in done:
            done[id(x)] = convert(x)
        return done[id(x)]

    return once


def _mapped(convert: Callable[[Any], Any], tree: PyTree) -> Any:
    """Return the containers with each value converted.

    Dicts keep their order, which flattening as a pytree would not.
    """
    if isinstance(tree, Mapping):
        made: Any = type(tree)
        return made((key, _mapped(convert, value)) for key, value in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_mapped(convert, value) for value in tree])
    if isinstance(tree, list | tuple):
        return type(tree)([_mapped(convert, value) for value in tree])
    return convert(tree)


def _from_tensor(x: ArrayLike) -> Any:
    if not is_torchs(x):
        return x
    torch: Any = sys.modules["torch"]
    return rebuild(array_of(x), x.requires_grad, isinstance(x, torch.nn.Parameter))


def _to_tensor(torch: Any, x: ArrayLike) -> Any:
    if issubclass(type(x), int | float | complex | np.generic) or not (is_tensor(x) or is_value(x)):
        return x
    value = np.array(x._value if is_tensor(x) else x)
    if value.dtype == _BFLOAT16:
        made = torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
    else:
        made = torch.from_numpy(value)
    requires_grad = type(x) is Tensor and x.requires_grad
    if type(x) is Tensor and getattr(x, "_is_parameter", False):
        return torch.nn.Parameter(made, requires_grad)
    return made.requires_grad_(requires_grad)


__dir__ = publish(__name__)
