"""Distributions on the unit interval and of exceedances: the continuous Bernoulli and the generalized Pareto."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import nn
from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike, Tensor
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors, depends
from funcgrad.torch.distributions._discrete import OfTrials, clipped
from funcgrad.torch.distributions._gammas import ExponentialFamily
from funcgrad.torch.distributions._scales import uniform


class ContinuousBernoulli(OfTrials, ExponentialFamily):
    """The density proportional to ``p**x * (1 - p)**(1 - x)`` on the unit interval.

    As ``torch.distributions.ContinuousBernoulli``.

    Args:
        probs: ``p``, between 0 and 1.
        logits: the logarithm of ``p / (1 - p)``, in its place.
        lims: between these ``p``, Taylor's series replaces the formulas, whose terms cancel at a half.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).log_prob(torch.tensor(0.3))
        tensor(0.)

    Source: Loaiza-Ganem and Cunningham, *The continuous Bernoulli* (2019).
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given = self._given(probs, logits)
        if validate_args and probs is not None and not bool(np.all(np.asarray((given >= 0) & (given <= 1)))):
            raise ValueError("The parameter probs has invalid values")
        if self._probs is not None:
            self._probs = clipped(self._probs)
        self._lims = lims
        super().__init__(given.shape, (), validate_args)

    @property
    def probs(self) -> Tensor:
        """The parameter ``p``, which is no probability."""
        return clipped(self._logits.sigmoid()) if self._probs is None else self._probs

    def _is_far(self) -> Tensor:
        """Return where ``p`` is far enough from a half for the formulas."""
        p = self.probs.detach()
        return (p <= self._lims[0]) | (p > self._lims[1])

    def _far(self) -> Tensor:
        """Return ``p`` where it is far from a half, and a number that is far elsewhere."""
        return fnp.where(self._is_far(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        far, x = self._far(), (self.probs - 0.5) ** 2
        exact = ((-far).log1p() - far.log()).abs().log() - (2 * far - 1).abs().log()
        return fnp.where(self._is_far(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        far, x = self._far(), self.probs - 0.5
        exact = far / (2 * far - 1) + 1 / ((-far).log1p() - far.log())
        return fnp.where(self._is_far(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        far, x = self._far(), (self.probs - 0.5) ** 2
        exact = far * (far - 1) / (1 - 2 * far) ** 2 + 1 / ((-far).log1p() - far.log()) ** 2
        return fnp.where(self._is_far(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameter."""
        return self.icdf(uniform(self._shape_of(sample_shape), self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value = self._values(value)
        shape = np.broadcast_shapes(value.shape, self.probs.shape)
        logits, wide = self.logits.expand(*shape), value.expand(*shape)
        return -nn.functional.binary_cross_entropy_with_logits(logits, wide, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        value, far = self._values(value), self._far()
        exact = (far**value * (1 - far) ** (1 - value) + far - 1) / (2 * far - 1)
        inside = fnp.where(self._is_far(), exact, value)
        return fnp.where(value <= 0, 0.0, fnp.where(value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which values have this probability."""
        far = self._far()
        exact = ((-far + value * (2 * far - 1)).log1p() - (-far).log1p()) / (far.log() - (-far).log1p())
        return fnp.where(self._is_far(), exact, value)

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        none, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (none - one) - self._log_norm() - none


class GeneralizedPareto(Distribution):
    """The distribution of exceedances over a threshold, as ``torch.distributions.GeneralizedPareto``.

    Args:
        loc: the threshold.
        scale: the scale, positive, in units of the values.
        concentration: the shape, dimensionless: 0 is the exponential distribution, -1 the uniform one.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)

    Source: Pickands, *Statistical inference using extreme order statistics* (1975).
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }

    def __init__(
        self, loc: ArrayLike, scale: ArrayLike, concentration: ArrayLike, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = as_tensors(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    @depends(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The values above the threshold; below an upper end if the shape is negative."""
        upper = fnp.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _shape(self) -> tuple[Any, Any]:
        """Return where the shape is 0, and the shape with 1 there."""
        shape = self.concentration
        is_zero = fnp.abs(shape.detach()) <= 1e-8
        return is_zero, fnp.where(is_zero, 1.0, shape)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN where there is none."""
        shape = self.concentration
        held = fnp.where(shape < 1, shape, 0.5)
        return fnp.where(shape < 1, self.loc + self.scale / (1 - held), math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN where there is none."""
        shape = self.concentration
        held = fnp.where(shape < 0.5, shape, 0.25)
        return fnp.where(shape < 0.5, self.scale**2 / ((1 - held) ** 2 * (1 - 2 * held)), math.nan)

    @property
    def mode(self) -> Tensor:
        """The threshold."""
        return self.loc

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        return self.icdf(uniform(self._shape_of(sample_shape), self.loc.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        z = (self._values(value) - self.loc) / self.scale
        is_zero, shape = self._shape()
        return -self.scale.log() - fnp.where(is_zero, z, (1 / shape + 1) * (shape * z).log1p())

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of greater values."""
        z = (self._values(value) - self.loc) / self.scale
        is_zero, shape = self._shape()
        return fnp.where(is_zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of values up to this one."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which values have this probability."""
        is_zero, shape = self._shape()
        rest = (-value).log1p()
        return self.loc + self.scale * fnp.where(is_zero, -rest, (-shape * rest).expm1() / shape)

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return self.scale.log() + self.concentration + 1
