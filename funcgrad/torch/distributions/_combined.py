"""Distributions made of others: with axes of a value, transformed, and mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Tensor
from funcgrad.autograd import no_grad
from funcgrad.autograd.extend import Shape
from funcgrad.torch.distributions import _transforms as transforms
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, depends
from funcgrad.torch.distributions._discrete import Categorical
from funcgrad.torch.distributions._transforms import sum_rightmost


class Independent(Distribution):
    """A distribution whose last batch axes belong to one value, as ``torch.distributions.Independent``.

    Example:
        >>> import funcgrad.torch as torch
        >>> d = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), 1.0), 1)
        >>> d.log_prob(torch.zeros(2))
        tensor(-1.8379)
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, axes = tuple(base_distribution.batch_shape), reinterpreted_batch_ndims
        if axes > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{axes} vs {len(batch)}"
            )
        self.base_dist: Any = base_distribution
        self.reinterpreted_batch_ndims = axes
        cut = len(batch) - axes
        super().__init__(batch[:cut], (*batch[cut:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether gradients flow through samples."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """Whether all values can be returned."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @depends
    def support(self) -> Any:
        """The values of the base, along all axes."""
        axes = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, axes) if axes else self.base_dist.support

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        whole = (*batch_shape, *self._event_shape[: self.reinterpreted_batch_ndims])
        return Independent(self.base_dist.expand(whole), self.reinterpreted_batch_ndims, self._validates)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random values, without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random values through which gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """Return the entropy."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values of the base; refused for values with axes."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Transformed values of a distribution, as ``torch.distributions.TransformedDistribution``.

    Example:
        >>> import funcgrad.torch as torch
        >>> kinds = torch.distributions
        >>> d = kinds.TransformedDistribution(kinds.Normal(0.0, 1.0), kinds.ExpTransform())
        >>> d.log_prob(torch.tensor(1.0))
        tensor(-0.9189)
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = _checked(transforms)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        whole, own = self._whole, len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                f"{Shape(shape)}."
            )
        forward = tuple(whole.forward_shape(shape))
        needed = tuple(whole.inverse_shape(forward))
        if needed != shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - own])
        more = whole.domain.event_dim - own
        self.base_dist: Any = Independent(base_distribution, more) if more > 0 else base_distribution
        cut = len(forward) - (whole.codomain.event_dim + max(own - whole.domain.event_dim, 0))
        super().__init__(forward[:cut], forward[cut:], validate_args)

    @property
    def _whole(self) -> Any:
        return transforms.ComposeTransform(self.transforms)

    @property
    def has_rsample(self) -> bool:
        """Whether gradients flow through samples."""
        return self.base_dist.has_rsample

    @depends
    def support(self) -> Any:
        """The results of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self._event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        made: Any = super().expand(batch_shape)
        shape = (*batch_shape, *self._event_shape)
        base = tuple(self._whole.inverse_shape(shape))
        made.base_dist = self.base_dist.expand(base[: len(base) - len(self.base_dist.event_shape)])
        return made

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random values, without gradients."""
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random values through which gradients flow to the parameters."""
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        y, total = self._values(value), 0.0
        axes = len(self._event_shape)
        for each in reversed(self.transforms):
            x = each.inv(y)
            axes += each.domain.event_dim - each.codomain.event_dim
            total = total - sum_rightmost(each.log_abs_det_jacobian(x, y), axes - each.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), axes - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        return self._in_order(self.base_dist.cdf(self._whole.inv(self._values(value))))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which lie given shares."""
        return self._whole(self.base_dist.icdf(self._in_order(value)))

    def _in_order(self, share: Any) -> Tensor:
        """Return shares of the base; those of the opposite end where the transforms decrease."""
        sign = self._whole.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5


def _checked(given: Any) -> list[Any]:
    if isinstance(given, transforms.Transform):
        return [given]
    if isinstance(given, Sequence) and all(isinstance(each, transforms.Transform) for each in given):
        return [*given]
    if isinstance(given, list):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    raise ValueError(f"transforms must be a Transform or list, but was {given}")


class MixtureSameFamily(Distribution):
    """A mixture of a distribution's last batch axis, as ``torch.distributions.MixtureSameFamily``.

    Example:
        >>> import funcgrad.torch as torch
        >>> kinds = torch.distributions
        >>> parts = kinds.Normal(torch.tensor([-1.0, 1.0]), 1.0)
        >>> kinds.MixtureSameFamily(kinds.Categorical(torch.ones(2)), parts).mean
        tensor(0.)
    """

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        batch, own = tuple(component_distribution.batch_shape), tuple(mixture_distribution.batch_shape)
        if any(1 not in (a, b) and a != b for a, b in zip(own[::-1], batch[:-1][::-1], strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({Shape(own)}) is not compatible with "
                f"`component_distribution.batch_shape`({Shape(batch[:-1])})"
            )
        if mixture_distribution.param_shape[-1] != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution, doc="The distribution of the parts.")
    component_distribution = property(lambda self: self._component_distribution, doc="The parts.")

    @depends
    def support(self) -> Any:
        """The values of the parts."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        parts = self._component_distribution
        return MixtureSameFamily(
            self._mixture_distribution.expand(batch_shape),
            parts.expand((*batch_shape, parts.batch_shape[-1])),
            self._validates,
        )

    def _shares(self) -> Tensor:
        shares = self._mixture_distribution.probs
        return shares.reshape(*shares.shape, *(1,) * len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self._shares() * self._component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        """The variance: the mean of the parts' variances and the variance of their means."""
        axis, shares = -1 - len(self._event_shape), self._shares()
        means = self._component_distribution.mean
        inner = (shares * self._component_distribution.variance).sum(axis)
        return inner + (shares * (means - self.mean.unsqueeze(axis)) ** 2).sum(axis)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        found = self._component_distribution.cdf(self._values(value).unsqueeze(-1 - len(self._event_shape)))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value = self._values(value).unsqueeze(-1 - len(self._event_shape))
        parts = self._component_distribution.log_prob(value)
        return (parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random values, each of a random part."""
        with no_grad():
            shape = tuple(sample_shape)
            axis = len(shape) + len(self._batch_shape)
            which = self._mixture_distribution.sample(shape)
            drawn = self._component_distribution.sample(shape)
            which = which.expand(*shape, *self._batch_shape)
            which = which.reshape(*which.shape, *(1,) * (1 + len(self._event_shape)))
            which = which.expand(*drawn.shape[:axis], 1, *self._event_shape)
            return fnp.take_along_axis(drawn, which, axis=axis).squeeze(axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
