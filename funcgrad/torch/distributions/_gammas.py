"""Distributions that are made of gamma distributed numbers: gamma, beta, Dirichlet, chi-square, t, F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.special.gamma_slope import gamma_slope_p
from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd.extend import is_lifted
from funcgrad.scipy import special
from funcgrad.torch import _drawn as drawn
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, Located, as_tensors
from funcgrad.torch.distributions._continuous import standard_normal


def standard_gamma(concentration: ArrayLike) -> Tensor:
    """Return gamma distributed numbers; their derivative by the parameter keeps the probability of smaller numbers.

    Source: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients" (2018). PyTorch approximates this
    derivative to some four digits.
    """
    wide = drawn.standard_gamma(concentration)
    dtype = concentration.dtype
    value = wide.to(dtype).clamp(float(np.finfo(dtype).tiny))
    if not (is_lifted(concentration) or concentration.requires_grad):
        return value
    known = np.asarray(concentration.detach()).astype(np.float64)
    x = np.maximum(np.asarray(wide), np.finfo(np.float64).tiny)
    slope = concentration.new_tensor(x * np.asarray(gamma_slope_p(known, np.log(x))))
    return value + (concentration - concentration.detach()) * slope


class ExponentialFamily(Distribution):
    """Base class of distributions of an exponential family, as ``torch.distributions.ExponentialFamily``."""


class Gamma(ExponentialFamily):
    """The gamma distribution with a shape and a rate, as ``torch.distributions.Gamma``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Gamma(2.0, 1.0).log_prob(torch.tensor(1.0))
        tensor(-1.)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, concentration: ArrayLike, rate: ArrayLike, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = as_tensors(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return ((self.concentration - 1) / self.rate).clamp(0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        shape = self._shape_of(sample_shape)
        return standard_gamma(self.concentration.expand(*shape)) / self.rate.expand(*shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value, a = self._values(value), self.concentration
        powers = special.xlogy(a, self.rate) + special.xlogy(a - 1, value)
        return powers - self.rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of smaller values."""
        return special.gammainc(self.concentration, self.rate * self._values(value))


class Chi2(Gamma):
    """The chi-square distribution, as ``torch.distributions.Chi2``."""

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: ArrayLike, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of probabilities, as ``torch.distributions.Dirichlet``.

    The derivative of samples is that of gamma distributed numbers, divided by their sum. PyTorch takes another one
    with the same mean.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Dirichlet(torch.ones(3)).mean
        tensor([0.3333, 0.3333, 0.3333])
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration: ArrayLike, validate_args: bool | None = None) -> None:
        if not concentration.shape:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random probabilities through which gradients flow to the parameters."""
        a = self.concentration.expand(*self._shape_of(sample_shape))
        numbers = standard_gamma(a.double())
        kind = np.finfo(a.dtype)
        return (numbers / numbers.sum(-1, True)).to(a.dtype).clamp(float(kind.tiny), 1 - float(kind.eps))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        a = self.concentration
        total = special.xlogy(a - 1.0, self._values(value)).sum(-1)
        return total + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable value; a corner where all parameters are below 1."""
        a = self.concentration
        above = (a - 1).clamp(0.0)
        found = above / above.sum(-1, True)
        corner = fnp.equal(np.arange(a.shape[-1]), found.argmax(-1, True)).to(a.dtype)
        return fnp.where((a < 1).all(-1, True), corner, found)

    @property
    def variance(self) -> Tensor:
        """The variances."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        a, total = self.concentration, self.concentration.sum(-1)
        k = a.shape[-1]
        rest = (k - total) * total.digamma() + ((a - 1.0) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - rest


class Beta(ExponentialFamily):
    """The beta distribution, as ``torch.distributions.Beta``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Beta(2.0, 2.0).log_prob(torch.tensor(0.5))
        tensor(0.4055)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: ArrayLike, concentration0: ArrayLike, validate_args: bool | None = None) -> None:
        both = as_tensors(concentration1, concentration0)
        self._dirichlet = Dirichlet(fnp.stack(both, -1), validate_args)
        super().__init__(both[0].shape, (), validate_args)

    @property
    def concentration1(self) -> Tensor:
        """The parameter of the value."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The parameter of what the value leaves."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value = self._values(value)
        return self._dirichlet.log_prob(fnp.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return self._dirichlet.entropy()


class StudentT(Located):
    """Student's t distribution, as ``torch.distributions.StudentT``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real

    def __init__(
        self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = as_tensors(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to one degree of freedom."""
        return fnp.where(self.df <= 1, math.nan, self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to two degrees of freedom, NaN up to one."""
        finite = self.scale**2 * self.df / fnp.where(self.df > 2, self.df - 2, 1.0)
        return fnp.where(self.df > 2, finite, fnp.where(self.df > 1, math.inf, math.nan)).to(self.df.dtype)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        numbers = standard_normal(self._shape_of(sample_shape), self.df.dtype)
        return self.loc + self.scale * (numbers * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        y, df = (self._values(value) - self.loc) / self.scale, self.df
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma()
        norm = norm - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - norm

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        half, df = 0.5 * (self.df + 1), self.df
        beta = (0.5 * df).lgamma() + math.lgamma(0.5) - half.lgamma()
        return self.scale.log() + half * (half.digamma() - (0.5 * df).digamma()) + 0.5 * df.log() + beta


class FisherSnedecor(Distribution):
    """The F distribution, as ``torch.distributions.FisherSnedecor``."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive

    def __init__(self, df1: ArrayLike, df2: ArrayLike, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = as_tensors(df1, df2)
        self._gammas = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, (), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        return FisherSnedecor(self.df1.expand(*batch_shape), self.df2.expand(*batch_shape), self._validates)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to two degrees of freedom."""
        return fnp.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN up to two degrees of freedom."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return fnp.where(self.df1 <= 2, math.nan, found)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN up to four degrees of freedom."""
        a, b = self.df1, self.df2
        found = 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))
        return fnp.where(b <= 4, math.nan, found)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        first, second = [each.rsample(sample_shape) for each in self._gammas]
        return first / second.clamp(float(np.finfo(second.dtype).tiny))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value = self._values(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        powers = a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
        return (a + b).lgamma() - a.lgamma() - b.lgamma() + powers
