"""Affine and bilinear layers, and layers that only change the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._types import Array, DeviceLike, DTypeLike, ShapeLike
from funcgrad.nn import functional as F
from funcgrad.nn._functions.linear import linear
from funcgrad.nn._functions.refusals import check_dim
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import fill_uniformly, length, parameter
from funcgrad.numpy.extend import normalize_axis


class Linear(Module):
    """Compute ``x @ weight.T + bias``.

    Weight and bias are initialized uniformly within ``1 / sqrt(in_features)``, as in PyTorch.

    Args:
        in_features: the length of the last axis of the input.
        out_features: the length of the last axis of the output.
        bias: whether a bias is added.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> from funcgrad import nn
        >>> nn.Linear(5, 2)
        Linear(in_features=5, out_features=2, bias=True)

    Source: ``torch.nn.Linear``.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__()
        self.in_features = length("Linear", "in_features", in_features)
        self.out_features = length("Linear", "out_features", out_features)
        self.weight = parameter((self.out_features, self.in_features), device, dtype)
        self.register_parameter("bias", parameter((self.out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias uniformly within ``1 / sqrt(in_features)``."""
        fill_uniformly(self.weight, self.in_features)
        fill_uniformly(self.bias, self.in_features)

    def forward(self, input: Array) -> Array:
        """Compute the output: ``f32[..., in] -> f32[..., out]``."""
        parameters = self._parameters
        # A weight that is computed, such as a parametrized one, is no parameter.
        is_plain = "weight" in parameters and "bias" in parameters
        weight, bias = (parameters["weight"], parameters["bias"]) if is_plain else (self.weight, self.bias)
        # Only a refused input pays for the check.
        if getattr(input, "shape", None) and input.shape[-1] == weight.shape[-1]:
            return linear(input, weight, bias)
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        """Return sizes and options."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """Compute ``x1 @ weight[k] @ x2 + bias[k]`` for each output ``k``; see `funcgrad.nn.functional.bilinear`.

    Source: ``torch.nn.Bilinear``.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = length("Bilinear", "in1_features", in1_features)
        self.in2_features = length("Bilinear", "in2_features", in2_features)
        self.out_features = length("Bilinear", "out_features", out_features)
        self.weight = parameter((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter("bias", parameter((out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias uniformly within ``1 / sqrt(in1_features)``."""
        fill_uniformly(self.weight, self.in1_features)
        fill_uniformly(self.bias, self.in1_features)

    def forward(self, input1: Array, input2: Array) -> Array:
        """Compute ``f32[..., in1], f32[..., in2] -> f32[..., out]``."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return sizes and options."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Identity(Module):
    """Return the input; all arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Array) -> Array:
        """Return the input."""
        return input


class Flatten(Module):
    """Merge axes from ``start_dim`` to ``end_dim``: by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, axis in (("start_dim", start_dim), ("end_dim", end_dim)):
            if not isinstance(axis, int | np.integer):
                raise TypeError(f"Flatten: {name} is {axis!r}; needed an integer. Pass the number of an axis.")
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Array) -> Array:
        """Compute ``[n, ...] -> [n, rest]``."""
        x = input
        ndim = max(len(x.shape), 1)
        check_dim(x, self.start_dim)
        check_dim(x, self.end_dim)
        start, end = normalize_axis(self.start_dim, ndim), normalize_axis(self.end_dim, ndim) + 1
        if end <= start:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
        return x.reshape(*x.shape[:start], math.prod(x.shape[start:end]), *x.shape[end:])

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the axis ``dim`` into axes of given lengths; -1 stands for the rest.

    Source: ``torch.nn.Unflatten``.
    """

    def __init__(self, dim: int, unflattened_size: ShapeLike) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, n in enumerate(unflattened_size):
            if not isinstance(n, int | np.integer):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(n).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Array) -> Array:
        """Compute ``[..., n, ...] -> [..., *unflattened_size, ...]``."""
        shape, axis = input.shape, normalize_axis(self.dim, len(input.shape))
        sizes = tuple(self.unflattened_size)
        if -1 not in sizes and math.prod(sizes) != shape[axis]:
            raise RuntimeError(
                f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {self.dim} "
                f"({shape[axis]}) in the input tensor"
            )
        rest = [n for n in sizes if n != -1]
        sizes = [shape[axis] // max(math.prod(rest), 1) if n == -1 else n for n in sizes]
        return input.reshape(*shape[:axis], *sizes, *shape[axis + 1 :])

    def extra_repr(self) -> str:
        """Return the options."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class CosineSimilarity(Module):
    """Compute the cosine of the angle between vectors; see `funcgrad.nn.functional.cosine_similarity`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Array, x2: Array) -> Array:
        """Compute the output."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Compute the norm of differences; see `funcgrad.nn.functional.pairwise_distance`."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Array, x2: Array) -> Array:
        """Compute the output."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
