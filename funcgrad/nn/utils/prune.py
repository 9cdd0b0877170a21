"""Set parts of parameters to zero and keep them there, as ``torch.nn.utils.prune`` does.

A pruned parameter ``weight`` becomes the parameter ``weight_orig`` and the buffer ``weight_mask``. A hook computes
their product before each call of the module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._public import publish
from funcgrad._types import Array
from funcgrad.autograd import no_grad, tensor
from funcgrad.nn._module import Module
from funcgrad.nn.utils._pruning import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    pruning_of,
)

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Register a mask of ones for a parameter.

    Example:
        >>> from funcgrad import nn
        >>> nn.utils.prune.identity(nn.Linear(2, 1), "bias").bias_mask
        tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random elements of a parameter: a part of them, or a number of them.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 2), "weight", amount=3)
        >>> int(layer.weight_mask.sum())
        5
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Array = None) -> Module:
    """Prune the elements of a parameter with the lowest absolute values.

    Args:
        module: the module, which is changed.
        name: the name of the parameter.
        amount: the part of the elements, from 0.0 to 1.0, or their number.
        importance_scores: numbers for the elements, in place of their own values.

    Returns:
        The module.

    Raises:
        TypeError: the amount is no number.
        ValueError: the amount is negative, or greater than there are elements.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.Linear(2, 1)
        >>> layer.weight = nn.Parameter([[0.5, -0.1]])
        >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
        tensor([[1., 0.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random slices of a parameter along an axis.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 2), "weight", amount=1, dim=0)
        >>> int(layer.weight_mask.sum())
        4
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: float | str, dim: int, importance_scores: Array = None
) -> Module:
    """Prune the slices of a parameter along an axis with the lowest norms of order ``n``.

    Example:
        >>> from funcgrad import nn
        >>> layer = nn.Linear(2, 2)
        >>> layer.weight = nn.Parameter([[0.5, 0.1], [2.0, 1.0]])
        >>> nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
        tensor([[0., 0.],
                [1., 1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Array) -> Module:
    """Prune a parameter by a mask of ones and zeros.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "bias", tensor([0.0])).bias.detach().abs()
        tensor([0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Any] | None = None, **kwargs: Any
) -> None:
    """Prune several parameters by comparing all of their elements.

    Args:
        parameters: pairs of a module and the name of its parameter.
        pruning_method: a class of unstructured methods, such as `L1Unstructured`.
        importance_scores: numbers for the elements by such pairs, in place of their own values.
        **kwargs: the arguments of the class, such as ``amount``.

    Raises:
        TypeError: the arguments have other types, or the method is not an unstructured one.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.nn.utils import prune
        >>> a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
        >>> int(a.weight_mask.sum() + b.weight_mask.sum())
        5
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    pairs = list(parameters)
    values = [getattr(module, name).detach().numpy() for module, name in pairs]
    scores = [np.asarray(given.get(pair, value)) for pair, value in zip(pairs, values, strict=True)]
    masks = [
        getattr(module, f"{name}_mask").numpy() if hasattr(module, f"{name}_mask") else np.ones_like(value)
        for (module, name), value in zip(pairs, values, strict=True)
    ]
    container = PruningContainer(method)
    joined = [tensor(np.concatenate([x.reshape(-1) for x in each])) for each in (scores, masks)]
    with no_grad():
        whole = container.compute_mask(joined[0], joined[1]).numpy()
    ends = np.cumsum([value.size for value in values])[:-1]
    for (module, name), value, part in zip(pairs, values, np.split(whole, ends), strict=True):
        custom_from_mask(module, name, tensor(part.reshape(value.shape)))


def remove(module: Module, name: str) -> Module:
    """Make a pruned tensor the parameter's value, without a mask.

    Raises:
        ValueError: the parameter is not pruned.

    Example:
        >>> from funcgrad import nn
        >>> prune = nn.utils.prune
        >>> layer = prune.remove(prune.identity(nn.Linear(2, 1), "weight"), "weight")
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    found = pruning_of(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    number, method = found
    method.remove(module)
    del module.__dict__["_forward_pre_hooks"][number]
    return module


def is_pruned(module: Module) -> bool:
    """Return whether a module, or one beneath it, has a pruned parameter.

    Example:
        >>> from funcgrad import nn
        >>> nn.utils.prune.is_pruned(nn.Linear(2, 1))
        False
    """
    return any(pruning_of(each) is not None for each in module.modules())


__dir__ = publish(__name__)
