"""Shapes, samples and checks of parameters: the base of all distributions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd import no_grad, tensor
from funcgrad.autograd.extend import Shape, is_lifted, is_tensor, pytorchs_error
from funcgrad.torch.distributions import constraints

Sizes = tuple[int, ...]
# A property that gives a constraint. Other constraints may override it.
depends: Any = constraints.dependent_property


def as_tensors(*values: Any) -> tuple[Any, ...]:
    """Return numbers and tensors as tensors of one shape."""
    like = next((v for v in values if is_tensor(v)), None)
    dtype = None if like is None else like.dtype
    made = [v if is_tensor(v) else tensor(float(v), dtype=dtype) for v in values]
    try:
        shape = np.broadcast_shapes(*[v.shape for v in made])
    except ValueError as error:
        raise pytorchs_error(error, made) or error from None
    return tuple([v.expand(*shape) for v in made])


def check_parameter(of: Distribution, argument: str, value: Tensor, is_valid: Array, needed: str) -> None:
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
    has_enumerate_support = False
    # The sets in which parameters lie, by their names, and the set of the values.
    arg_constraints: ClassVar[Any] = {}
    support: Any = constraints.real
    # Properties that are checked as parameters are.
    _checked: tuple[str, ...] = ()
    _default_validates = True

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        self._validates = Distribution._default_validates if validate_args is None else validate_args
        for name, constraint in self.arg_constraints.items() if self._validates else ():
            value = getattr(self, name) if name in self._checked else self.__dict__.get(name)
            if value is not None and not is_lifted(value) and not constraints.is_dependent(constraint):
                check_parameter(self, name, value, constraint.check(value.detach()), repr(constraint))

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their parameters and values."""
        if value not in (True, False):
            raise ValueError
        Distribution._default_validates = value

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

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: its samples are not differentiable.")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which values have this probability."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample_n(self, n: int) -> Any:
        """Return ``n`` random values, without gradients."""
        return self.sample((n,))

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values of a discrete distribution."""
        raise NotImplementedError

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        made, shape = copy.copy(self), tuple(batch_shape)
        for name, value in vars(self).items():
            if is_tensor(value):
                made.__dict__[name] = value.expand(*shape, *value.shape[len(self._batch_shape) :])
            elif isinstance(value, Distribution):
                made.__dict__[name] = value.expand((*shape, *value.batch_shape[len(self._batch_shape) :]))
        made.__dict__["_batch_shape"] = shape
        return made

    def _values(self, value: Tensor) -> Tensor:
        if not is_tensor(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if not self._validates:
            return value
        event = len(value.shape) - len(self._event_shape)
        needed = (*self._batch_shape, *self._event_shape)
        if tuple(value.shape[max(event, 0) :]) != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {Shape(value.shape)} vs {self.event_shape}."
            )
        if any(1 not in (a, b) and a != b for a, b in zip(value.shape[::-1], needed[::-1], strict=False)):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {Shape(value.shape)} vs {Shape(needed)}."
            )
        if not is_lifted(value):
            inside = self.support.check(value.detach())
            if not bool(np.all(np.asarray(inside.detach()))):
                raise ValueError(
                    f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                    f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
                )
        return value

    def __repr__(self) -> str:
        parts = []
        for name in self._shown or [name for name in self.arg_constraints if name in self.__dict__]:
            value = getattr(self, name)
            parts.append(f"{name}: {value if value.numel() == 1 else Shape(value.shape)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    _shown: tuple[str, ...] = ()


class Located(Distribution):
    """A distribution around its parameter ``loc``, which is its most probable value and its mean, if it has one."""

    loc: Any

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.loc


class LocationScale(Located):
    """A distribution that ``loc`` moves and ``scale`` stretches."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: ArrayLike, scale: ArrayLike, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_tensors(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
