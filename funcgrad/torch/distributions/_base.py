"""Shapes, samples and checks of parameters: the base of all distributions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from funcgrad.autograd import no_grad, tensor
from funcgrad.autograd.extend import Shape, is_lifted, is_tensor

Sizes = tuple[int, ...]


def as_tensors(*values: Any) -> tuple[Any, ...]:
    """Return numbers and tensors as tensors of one shape."""
    like = next((v for v in values if is_tensor(v)), None)
    dtype = None if like is None else like.dtype
    made = [v if is_tensor(v) else tensor(float(v), dtype=dtype) for v in values]
    shape = np.broadcast_shapes(*[v.shape for v in made])
    return tuple([v.expand(*shape) for v in made])


def check_parameter(of: Distribution, argument: str, value: Any, is_valid: Any, needed: str) -> None:
    """Refuse an invalid parameter in PyTorch's words."""
    if not bool(np.all(np.asarray(is_valid))):
        raise ValueError(
            f"Expected parameter {argument} (Tensor of shape {tuple(value.shape)}) of distribution {of!r} to satisfy "
            f"the constraint {needed}, but found invalid values:\n{value}"
        )


class Distribution:
    """A distribution of tensors, as ``torch.distributions.Distribution``.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one sample.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> d = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        >>> isinstance(d, torch.distributions.Distribution), d.batch_shape, d.event_shape
        (True, torch.Size([2]), torch.Size([]))
    """

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        self._validates = validate_args is not False

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters."""
        return Shape(self._batch_shape)

    @property
    def event_shape(self) -> Any:
        """The shape of one sample."""
        return Shape(self._event_shape)

    def _shape_of(self, sample_shape: Any) -> Sizes:
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Return random numbers, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return random numbers through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: its samples are not differentiable.")

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density, or of the probability."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """Return the entropy."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Return the probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """Return the value up to which values have this probability."""
        raise NotImplementedError

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def perplexity(self) -> Any:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values of a discrete distribution."""
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        made, shape = copy.copy(self), tuple(batch_shape)
        for name, value in vars(self).items():
            if is_tensor(value):
                setattr(made, name, value.expand(*shape, *value.shape[len(self._batch_shape) :]))
        made.__dict__["_batch_shape"] = shape
        return made

    def _support(self, value: Any) -> tuple[Any, str]:
        """Return where a value is possible, and PyTorch's name for these values."""
        return ~value.isnan(), "Real()"

    def _values(self, value: Any) -> Any:
        if not is_tensor(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if self._validates and not is_lifted(value):
            inside, needed = self._support(value.detach())
            if not bool(np.all(np.asarray(inside.detach()))):
                raise ValueError(
                    f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                    f"({needed}) of the distribution {self!r}, but found invalid values:\n{value}"
                )
        return value

    def __repr__(self) -> str:
        parts = []
        for name in self._shown:
            value = getattr(self, name)
            parts.append(f"{name}: {value if value.numel() == 1 else Shape(value.shape)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    _shown: tuple[str, ...] = ()
