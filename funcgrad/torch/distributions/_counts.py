"""Distributions of counts: Poisson, binomial, geometric, negative binomial, multinomial, and vectors with a one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd import no_grad
from funcgrad.scipy import special
from funcgrad.torch import _drawn as drawn
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors, depends
from funcgrad.torch.distributions._discrete import Categorical, OfTrials, softplus
from funcgrad.torch.distributions._gammas import ExponentialFamily, Gamma


class Poisson(ExponentialFamily):
    """The Poisson distribution with a rate, as ``torch.distributions.Poisson``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(1.0))
        tensor(-1.3069)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: ArrayLike, validate_args: bool | None = None) -> None:
        (self.rate,) = as_tensors(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.rate

    @property
    def variance(self) -> Tensor:
        """The same as the mean."""
        return self.mean

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.rate.floor()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random counts."""
        return drawn.poisson(self.rate.detach().expand(*self._shape_of(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value = self._values(value)
        return special.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()


class _OfSeveralTrials(OfTrials):
    """A distribution with a number of trials, or of failures, beside the probability of success."""

    def __init__(
        self,
        total_count: ArrayLike = 1,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._given(probs, logits)
        self.total_count, given = as_tensors(total_count, given)
        self._probs, self._logits = (given, None) if logits is None else (None, given)
        self._shown = ("total_count", *self._shown)
        super().__init__(given.shape, (), validate_args)
        self._check_probs()


class Binomial(_OfSeveralTrials):
    """The number of successes in some trials, as ``torch.distributions.Binomial``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0))
        tensor(-0.6931)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    @depends
    def support(self) -> Any:
        """The counts up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return fnp.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random counts."""
        shape = self._shape_of(sample_shape)
        return drawn.binomial(self.total_count.expand(*shape), self.probs.detach().expand(*shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value, n, logits = self._values(value), self.total_count, self.logits
        # n * log(1 + exp(logits)), without overflow.
        whole = n * logits.clamp(0) + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - whole

    def entropy(self) -> Tensor:
        """Return the entropy, where all numbers of trials are equal."""
        most = int(np.asarray(self.total_count.detach()).max())
        if int(np.asarray(self.total_count.detach()).min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        found = self.log_prob(self.enumerate_support(False))
        return -(found.exp() * found).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all counts along a new first axis, where all numbers of trials are equal."""
        most = int(np.asarray(self.total_count.detach()).max())
        if int(np.asarray(self.total_count.detach()).min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = self.total_count.new_tensor(np.arange(most + 1)).reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class Geometric(OfTrials):
    """The number of failures before the first success, as ``torch.distributions.Geometric``."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: ArrayLike | None = None, logits: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        given = self._given(probs, logits)
        super().__init__(given.shape, (), validate_args)
        self._check_probs()
        positive = given.detach() > 0
        if self._validates and probs is not None and not bool(positive.all()):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(given.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{given.detach()[~positive]}"
            )

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """Zero."""
        return fnp.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random counts."""
        with no_grad():
            probs = self.probs.detach()
            u = probs.new_full(self._shape_of(sample_shape), 0.0).uniform_(float(np.finfo(probs.dtype).tiny), 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value, probs = self._values(value), self.probs
        # 0 * log(0) counts as 0.
        certain = (probs == 1) & (value == 0)
        return value * (-fnp.where(certain, 0.0, probs)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """Return the entropy."""
        x, z = self.logits, self.probs
        return (softplus(x) - x * z) / z


class NegativeBinomial(_OfSeveralTrials):
    """The number of successes before some failures, as ``torch.distributions.NegativeBinomial``."""

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: ArrayLike,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(0.0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random counts."""
        with no_grad():
            return drawn.poisson(Gamma(self.total_count, (-self.logits).exp(), False).sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value, n = self._values(value), self.total_count
        kept = -n * softplus(self.logits) - value * softplus(-self.logits)
        norm = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return kept - norm.masked_fill(n + value == 0.0, 0.0)


class Multinomial(Distribution):
    """Counts of the outcomes of some trials, as ``torch.distributions.Multinomial``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Multinomial(4, torch.ones(2)).mean
        tensor([2., 2.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")
    param_shape = property(lambda self: self._categorical.param_shape, doc="The shape of the probabilities.")

    @depends
    def support(self) -> Any:
        """Vectors of counts."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random vectors of counts."""
        drawn_ones = self._categorical.sample((self.total_count, *sample_shape))
        hits = fnp.equal(drawn_ones.unsqueeze(-1), np.arange(self._event_shape[0]))
        return hits.to(self.probs.dtype).sum(0)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value = self._values(value)
        logits = fnp.where((value == 0) & (self.logits == -math.inf), 0.0, self.logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropy."""
        n = self.total_count
        terms = Binomial(n, self.probs).enumerate_support(False)[1:]
        weights = Binomial(n, self.probs).log_prob(terms).exp() * (terms + 1).lgamma()
        return n * self._categorical.entropy() - math.lgamma(n + 1) + weights.sum((0, -1))


class OneHotCategorical(Distribution):
    """A vector with a one at a random position, as ``torch.distributions.OneHotCategorical``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: ArrayLike | None = None, logits: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._categorical.probs

    param_shape = property(lambda self: self._categorical.param_shape, doc="The shape of the probabilities.")

    @property
    def mode(self) -> Tensor:
        """The most probable vector."""
        return self._vectors(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return self.probs * (1 - self.probs)

    def _vectors(self, positions: Array) -> Tensor:
        return fnp.equal(positions.unsqueeze(-1), np.arange(self._event_shape[0])).to(self.probs.dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random vectors."""
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value = self._values(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """Return the entropy."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all vectors, along a new first axis."""
        n = self._event_shape[0]
        values = self.probs.new_tensor(np.eye(n)).reshape(n, *(1,) * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values
