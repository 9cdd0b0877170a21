"""Distributions that are transformed ones: log-normal, Gumbel, Weibull, Pareto, Kumaraswamy, inverse gamma."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad._types import ArrayLike, Tensor
from funcgrad.torch.distributions import _transforms as transforms
from funcgrad.torch.distributions import _transforms_more as more
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors, depends
from funcgrad.torch.distributions._combined import TransformedDistribution
from funcgrad.torch.distributions._continuous import Normal, Uniform
from funcgrad.torch.distributions._gammas import Gamma
from funcgrad.torch.distributions._scales import Exponential

_EULER = float(np.euler_gamma)


class LogNormal(TransformedDistribution):
    """The exponential of a normal variable, as ``torch.distributions.LogNormal``."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc: ArrayLike, scale: ArrayLike, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), transforms.ExpTransform(), validate_args)

    loc = property(lambda self: self.base_dist.loc, doc="The mean of the logarithm.")
    scale = property(lambda self: self.base_dist.scale, doc="The standard deviation of the logarithm.")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Probabilities of normal scores, as ``torch.distributions.LogisticNormal``."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: ArrayLike, scale: ArrayLike, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, more.StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The means of the scores.")
    scale = property(lambda self: self.base_dist.base_dist.scale, doc="The standard deviations of the scores.")


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, as ``torch.distributions.Gumbel``."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: ArrayLike, scale: ArrayLike, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_tensors(loc, scale)
        kind = np.finfo(self.loc.dtype)
        low, high = self.loc.detach() * 0 + float(kind.tiny), 1 - float(kind.eps)
        ones = self.scale.detach() * 0 + 1
        inner = [transforms.ExpTransform().inv, more.AffineTransform(0, -ones)]
        steps = [*inner, transforms.ExpTransform().inv, more.AffineTransform(self.loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args), steps, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        return Gumbel(self.loc.expand(*batch_shape), self.scale.expand(*batch_shape), self._validates)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.stddev**2

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        y = (self.loc - self._values(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return self.scale.log() + (1 + _EULER)


class Weibull(TransformedDistribution):
    """The Weibull distribution, as ``torch.distributions.Weibull``."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: ArrayLike, concentration: ArrayLike, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = as_tensors(scale, concentration)
        base = Exponential(self.scale.detach() * 0 + 1, validate_args)
        steps = [transforms.PowerTransform(self.concentration.reciprocal()), more.AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        return Weibull(self.scale.expand(*batch_shape), self.concentration.expand(*batch_shape), self._validates)

    def _moment(self, n: int) -> Tensor:
        return (1 + n * self.concentration.reciprocal()).lgamma()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * self._moment(1).exp()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (self._moment(2).exp() - (2 * self._moment(1)).exp())

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        inverse = self.concentration.reciprocal()
        return _EULER * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution, as ``torch.distributions.Pareto``."""

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: ArrayLike, alpha: ArrayLike, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = as_tensors(scale, alpha)
        steps = [transforms.ExpTransform(), more.AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), steps, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        return Pareto(self.scale.expand(*batch_shape), self.alpha.expand(*batch_shape), self._validates)

    @depends
    def support(self) -> Any:
        """The values from the scale on."""
        return constraints.greater_than_eq(self.scale.detach())

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to ``alpha = 1``."""
        a = self.alpha.clamp(1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to ``alpha = 2``."""
        a = self.alpha.clamp(2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution, as ``torch.distributions.Kumaraswamy``."""

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: ArrayLike, concentration0: ArrayLike, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = as_tensors(concentration1, concentration0)
        ones = self.concentration0.detach() * 0 + 1
        steps = [
            transforms.PowerTransform(self.concentration0.reciprocal()),
            more.AffineTransform(1.0, -1.0),
            transforms.PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(ones * 0, ones, validate_args), steps, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        both = self.concentration1.expand(*batch_shape), self.concentration0.expand(*batch_shape)
        return Kumaraswamy(*both, self._validates)

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN where both parameters are below 1."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return found.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - self._moment(1) ** 2

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + _EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma distributed variable, as ``torch.distributions.InverseGamma``."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration: ArrayLike, rate: ArrayLike, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, transforms.PowerTransform(-base.rate.new_full((), 1.0)), validate_args)

    concentration = property(lambda self: self.base_dist.concentration, doc="The shape of the gamma distribution.")
    rate = property(lambda self: self.base_dist.rate, doc="The rate of the gamma distribution.")

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to a shape of 1."""
        found = self.rate / (self.concentration - 1)
        return found.masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to a shape of 2."""
        a = self.concentration
        return (self.rate**2 / ((a - 1) ** 2 * (a - 2))).masked_fill(a <= 2, math.inf)

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
