"""Continuous distributions with a scale: exponential, Laplace, Cauchy, half of normal, and Von Mises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike, DTypeLike, Tensor
from funcgrad.autograd import no_grad
from funcgrad.scipy import special
from funcgrad.torch import _drawn as drawn
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Located, LocationScale, as_tensors
from funcgrad.torch.distributions._combined import TransformedDistribution
from funcgrad.torch.distributions._continuous import Normal
from funcgrad.torch.distributions._gammas import ExponentialFamily
from funcgrad.torch.distributions._transforms_more import AbsTransform


def uniform(shape: Any, dtype: DTypeLike) -> Tensor:
    """Return uniform random numbers."""
    return drawn.FUNCTIONS["rand"](*shape, dtype=dtype)


class Exponential(ExponentialFamily):
    """The exponential distribution with a rate, as ``torch.distributions.Exponential``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Exponential(2.0).mean
        tensor(0.5000)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, rate: ArrayLike, validate_args: bool | None = None) -> None:
        (self.rate,) = as_tensors(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.rate.reciprocal()

    @property
    def stddev(self) -> Tensor:
        """The same as the mean."""
        return self.mean

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return fnp.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate**-2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the rate."""
        return self.rate.new_full(self._shape_of(sample_shape), 0.0).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return self.rate.log() - self.rate * self._values(value)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        return 1 - (-self.rate * self._values(value)).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which lie given shares."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return 1.0 - self.rate.log()


class Laplace(LocationScale):
    """The Laplace distribution, as ``torch.distributions.Laplace``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.6931)
    """

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * self.scale**2

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        eps = float(np.finfo(self.loc.dtype).eps)
        u = self.loc.new_full(self._shape_of(sample_shape), 0.0).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return -(2 * self.scale).log() - (self._values(value) - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        distance = self._values(value) - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which lie given shares."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return 1 + (2 * self.scale).log()


class Cauchy(LocationScale):
    """The Cauchy distribution, as ``torch.distributions.Cauchy``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Cauchy(0.0, 1.0).icdf(torch.tensor(0.5))
        tensor(0.)
    """

    @property
    def mean(self) -> Tensor:
        """NaN: there is no mean."""
        return self.loc.new_full(self._shape_of(()), math.nan)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.loc.new_full(self._shape_of(()), math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        return self.loc + self.loc.new_full(self._shape_of(sample_shape), 0.0).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        square = ((self._values(value) - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - square.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        return ((self._values(value) - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which lie given shares."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return math.log(4 * math.pi) + self.scale.log()


class _Half(TransformedDistribution):
    """The absolute value of a distribution around zero."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    _checked = ("scale",)
    _base: Any

    def __init__(self, scale: ArrayLike, validate_args: bool | None = None) -> None:
        super().__init__(self._base(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution around zero."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return fnp.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value = self._values(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return fnp.where(value >= 0, found, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        return 2 * self.base_dist.cdf(self._values(value)) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """Return the values below which lie given shares."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal variable, as ``torch.distributions.HalfNormal``."""

    _base = Normal

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of a Cauchy variable, as ``torch.distributions.HalfCauchy``."""

    _base = Cauchy

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return self.scale.new_full(self._shape_of(()), math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.base_dist.variance


class VonMises(Located):
    """The normal distribution of angles, as ``torch.distributions.VonMises``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).variance
        tensor(0.5536)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: ArrayLike, concentration: ArrayLike, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = as_tensors(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        k = self.concentration
        angle = self._values(value) - self.loc
        return k * angle.cos() - math.log(2 * math.pi) - (special.i0e(k).log() + k)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return angles by rejection (Best and Fisher, 1979)."""
        with no_grad():
            shape = self._shape_of(sample_shape)
            k = self.concentration.detach().double()
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = fnp.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
            x, done = np.zeros(shape), np.zeros(shape, bool)
            while not done.all():
                u1, u2, u3 = uniform((3, *shape), np.float64)
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = np.asarray(((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0))
                x = np.where(accepted, np.asarray((u3 - 0.5).sign() * f.acos()), x)
                done |= accepted
            angle = (self.loc.detach().double() + x + math.pi) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)
