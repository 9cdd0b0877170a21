"""Continuous distributions: normal, uniform, and normal of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, DTypeLike, Tensor
from funcgrad.autograd.extend import Shape
from funcgrad.scipy import linalg, special
from funcgrad.torch import _drawn as drawn
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import (
    Distribution,
    Located,
    LocationScale,
    Sizes,
    as_tensors,
    check_parameter,
    depends,
)


def standard_normal(shape: Sizes, dtype: DTypeLike) -> Any:
    return drawn.FUNCTIONS["randn"](*shape, dtype=dtype)


class Normal(LocationScale):
    """The normal distribution, as ``torch.distributions.Normal``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)
    """

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.scale**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random numbers through which gradients flow to the parameters."""
        return self.loc + standard_normal(self._shape_of(sample_shape), self.loc.dtype) * self.scale

    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density."""
        distance = self._values(value) - self.loc
        return -(distance**2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Any:
        """Return the probability of smaller values."""
        return 0.5 * (1 + special.erf((value - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: Tensor) -> Any:
        """Return the values below which lie given shares."""
        return self.loc + self.scale * special.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """The uniform distribution between two bounds, as ``torch.distributions.Uniform``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Uniform(0.0, 4.0).log_prob(torch.tensor(1.0))
        tensor(-1.3863)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"low": constraints.dependent, "high": constraints.dependent}

    def __init__(self, low: Array, high: Array, validate_args: bool | None = None) -> None:
        self.low, self.high = as_tensors(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validates:
            needed = f"LessThan(upper_bound={self.high})"
            check_parameter(self, "low", self.low, self.low.detach() < self.high.detach(), needed)

    @property
    def mean(self) -> Any:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Any:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (self.high - self.low) / 12**0.5

    @depends
    def support(self) -> Any:
        """The values between the bounds."""
        return constraints.interval(self.low.detach(), self.high.detach())

    @property
    def mode(self) -> Any:
        """NaN: all values are equally probable."""
        return math.nan * self.high

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random numbers through which gradients flow to the bounds."""
        numbers = drawn.FUNCTIONS["rand"](*self._shape_of(sample_shape), dtype=self.low.dtype)
        return self.low + numbers * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density."""
        value = self._values(value)
        inside = (self.low.detach() <= value.detach()) & (self.high.detach() > value.detach())
        return (-(self.high - self.low).log()).masked_fill(~inside, -math.inf)

    def cdf(self, value: Tensor) -> Any:
        """Return the probability of smaller values."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Any:
        """Return the values below which lie given shares."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return (self.high - self.low).log()


def _factor(loc: ArrayLike, name: str, matrix: Array) -> Any:
    """Return the Cholesky factor of a covariance or precision; refuse a matrix without one in PyTorch's words."""
    try:
        if bool(matrix.detach().isclose(matrix.detach().mT, atol=1e-6).all()):
            return matrix.cholesky()
    except np.linalg.LinAlgError:
        pass
    shape = Shape(matrix.shape)
    raise ValueError(
        f"Expected parameter {name} (Tensor of shape {tuple(shape)}) of distribution MultivariateNormal(loc: "
        f"{Shape(loc.shape)}, {name}: {shape}) to satisfy the constraint PositiveDefinite(), but found invalid "
        f"values:\n{matrix}"
    )


class MultivariateNormal(Located):
    """The normal distribution of vectors, as ``torch.distributions.MultivariateNormal``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
        tensor(-1.8379)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector

    def __init__(
        self,
        loc: ArrayLike,
        covariance_matrix: Array = None,
        precision_matrix: Array = None,
        scale_tril: Array = None,
        validate_args: bool | None = None,
    ) -> None:
        if getattr(loc, "ndim", 0) < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if len(given[0].shape) < 2:
            raise ValueError(
                "covariance_matrix must be at least two-dimensional, with optional leading batch dimensions"
            )
        names = ("covariance_matrix", "precision_matrix", "scale_tril")
        which = (covariance_matrix, precision_matrix, scale_tril)
        name = next(name for name, m in zip(names, which, strict=True) if m is not None)
        self._shown = ("loc", name)
        batch = np.broadcast_shapes(given[0].shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(*batch, loc.shape[-1])
        if precision_matrix is not None:
            factor = _factor(loc, name, precision_matrix.flip(-2, -1)).flip(-2, -1).mT
            eye = loc.new_tensor(np.eye(loc.shape[-1]))
            self.scale_tril = linalg.solve_triangular(factor, eye.expand(*factor.shape), lower=True)
        else:
            self.scale_tril = _factor(loc, name, covariance_matrix) if scale_tril is None else scale_tril
        self.scale_tril = self.scale_tril.expand(*batch, *self.scale_tril.shape[-2:])
        super().__init__(batch, loc.shape[-1:], validate_args)

    @property
    def covariance_matrix(self) -> Any:
        """The covariances."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariances."""
        return fnp.linalg.inv(self.covariance_matrix)

    @property
    def variance(self) -> Any:
        """The variances."""
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Return random vectors through which gradients flow to the parameters."""
        numbers = standard_normal(self._shape_of(sample_shape), self.loc.dtype)
        return self.loc + (self.scale_tril @ numbers.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Any:
        """Return the logarithm of the density."""
        value = self._values(value)
        distance = value - self.loc
        factor = self.scale_tril.expand(*distance.shape[:-1], *self.scale_tril.shape[-2:])
        solved = linalg.solve_triangular(factor, distance.unsqueeze(-1), lower=True).squeeze(-1)
        half = self.half_log_determinant()
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + (solved**2).sum(-1)) - half

    def half_log_determinant(self) -> Any:
        """Return half of the logarithm of the determinant of the covariances."""
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self.half_log_determinant()
