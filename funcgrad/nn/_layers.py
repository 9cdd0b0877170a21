"""Layers as modules, with parameters under PyTorch's names; they call the functions of this package."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad._core.bind import is_engine_value
from funcgrad.autograd import tensor
from funcgrad.autograd.extend import default_generator, is_tensor
from funcgrad.nn import _activations as activations
from funcgrad.nn._linear import linear
from funcgrad.nn._module import Module
from funcgrad.nn._parameter import Parameter
from funcgrad.numpy.extend import normalize_axis


def manual_seed(seed: int) -> None:
    """Seed the random numbers that initialize modules from now on, as ``torch.manual_seed`` does.

    Args:
        seed: any integer; the numbers are those of PyTorch for the same seed.

    Example:
        >>> from funcgrad import nn
        >>> nn.manual_seed(0)
        >>> first = nn.Linear(2, 1).weight
        >>> nn.manual_seed(0)
        >>> bool((nn.Linear(2, 1).weight == first).all())
        True
    """
    default_generator.manual_seed(seed)


class Linear(Module):
    """Compute ``x @ weight.T + bias``.

    Weight and bias are initialized uniformly within ``1 / sqrt(in_features)``, as in PyTorch.

    Args:
        in_features: the length of the last axis of the input.
        out_features: the length of the last axis of the output.
        bias: whether a bias is added.
        dtype: of the parameters; float32 by default.

    Example:
        >>> from funcgrad import nn
        >>> nn.Linear(5, 2)
        Linear(in_features=5, out_features=2, bias=True)

    Source: ``torch.nn.Linear``.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = None) -> None:
        super().__init__()
        self.in_features = _length("Linear", "in_features", in_features)
        self.out_features = _length("Linear", "out_features", out_features)
        self.weight = Parameter(_uniform((out_features, in_features), in_features, dtype))
        self.register_parameter("bias", Parameter(_uniform((out_features,), in_features, dtype)) if bias else None)

    def forward(self, x: Any) -> Any:
        """Compute the output: ``f32[..., in] -> f32[..., out]``."""
        parameters = self._parameters
        return linear(x, parameters["weight"], parameters["bias"])

    def extra_repr(self) -> str:
        """Return sizes and options."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def _length(name: str, argument: str, value: Any) -> int:
    """Return an axis length, or raise an error that names the argument."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        error = ValueError if isinstance(value, int | np.integer) else TypeError
        raise error(f"{name}: {argument} is {value!r}; needed an integer, 0 or greater. Pass the length of the axis.")
    return int(value)


def _uniform(shape: tuple[int, ...], fan_in: int, dtype: Any) -> Any:
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    return tensor(default_generator.uniform(-bound, bound, shape, dtype), dtype=dtype)


class Sequential(Module):
    """Apply modules one after the other.

    Args:
        modules: the modules; or one ordered dict of them, by name.

    Example:
        >>> from funcgrad import nn
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> model[1]
        ReLU()

    Source: ``torch.nn.Sequential``.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], OrderedDict) else dict(enumerate(modules))
        for name, module in named.items():
            self.add_module(str(name), module)

    def forward(self, x: Any) -> Any:
        """Compute the output of the last module."""
        for module in self._modules.values():
            x = module(x)
        return x

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[index]


class ReLU(Module):
    """Compute ``max(x, 0)``.

    With ``inplace`` the result is written into ``x``, except into arrays of JAX, which are immutable.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, x: Any) -> Any:
        """Compute the output."""
        if not self.inplace or is_engine_value(x._value if is_tensor(x) else x):
            return activations.relu(x)
        if is_tensor(x):
            return x.relu_()
        x[...] = activations.relu(x)
        return x

    def extra_repr(self) -> str:
        """Return the option if it is set."""
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """Compute the hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        """Compute the output."""
        return activations.tanh(x)


class Sigmoid(Module):
    """Compute the logistic function."""

    def forward(self, x: Any) -> Any:
        """Compute the output."""
        return activations.sigmoid(x)


class Identity(Module):
    """Return the input."""

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x


class Flatten(Module):
    """Merge axes from ``start_dim`` to ``end_dim``: by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, axis in (("start_dim", start_dim), ("end_dim", end_dim)):
            if not isinstance(axis, int | np.integer):
                raise TypeError(f"Flatten: {name} is {axis!r}; needed an integer. Pass the number of an axis.")
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Any) -> Any:
        """Compute ``[n, ...] -> [n, rest]``."""
        ndim = max(len(x.shape), 1)
        start, end = normalize_axis(self.start_dim, ndim), normalize_axis(self.end_dim, ndim) + 1
        if end <= start:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
        return x.reshape(*x.shape[:start], math.prod(x.shape[start:end]), *x.shape[end:])

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
