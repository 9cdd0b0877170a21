"""Continuous relaxations of discrete distributions, at a temperature (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd.extend import is_tensor
from funcgrad.torch.distributions import _transforms as transforms
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors
from funcgrad.torch.distributions._combined import TransformedDistribution
from funcgrad.torch.distributions._counts import OneHotCategorical
from funcgrad.torch.distributions._discrete import Categorical, OfTrials, clipped
from funcgrad.torch.distributions._scales import uniform


class LogitRelaxedBernoulli(OfTrials):
    """The logarithm of the odds of a relaxed Bernoulli variable."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: ArrayLike,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        given = self._given(probs, logits)
        super().__init__(given.shape, (), validate_args)
        self._check_probs()

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        given = [None if x is None else x.expand(*batch_shape) for x in (self._probs, self._logits)]
        return LogitRelaxedBernoulli(self.temperature, *given, validate_args=self._validates)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random numbers through which gradients flow to the parameters."""
        probs = clipped(self.probs)
        u = clipped(uniform(self._shape_of(sample_shape), probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        difference = self.logits - self._values(value) * self.temperature
        scale = self.temperature.log() if is_tensor(self.temperature) else math.log(self.temperature)
        return scale + difference - 2 * difference.exp().log1p()


class _Relaxed(TransformedDistribution):
    """The numbers of a relaxed distribution: a transform (``_outer``) of their logarithms or odds (``_inner``)."""

    _inner: ClassVar[Callable[..., Distribution]]
    _outer: ClassVar[type[transforms.Transform]]

    def __init__(
        self,
        temperature: ArrayLike,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = self._inner(temperature, probs, logits, validate_args)
        super().__init__(base, self._outer(), validate_args)

    temperature = property(lambda self: self.base_dist.temperature, doc="The temperature.")
    probs = property(lambda self: self.base_dist.probs, doc="The probabilities.")
    logits = property(lambda self: self.base_dist.logits, doc="The logarithms of the odds or probabilities.")


class RelaxedBernoulli(_Relaxed):
    """A number between zero and one in the place of either, as ``torch.distributions.RelaxedBernoulli``."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    # PyTorch checks the probabilities for any `validate_args`.
    _inner = staticmethod(lambda temperature, probs, logits, _: LogitRelaxedBernoulli(temperature, probs, logits))
    _outer = transforms.SigmoidTransform


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed vector with a one."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector

    def __init__(
        self,
        temperature: ArrayLike,
        probs: ArrayLike | None = None,
        logits: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        (self.temperature,) = as_tensors(temperature)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        """Return the distribution with parameters of another batch shape, to which they broadcast."""
        logits = self.logits.expand(*batch_shape, *self._event_shape)
        return ExpRelaxedCategorical(self.temperature, logits=logits, validate_args=self._validates)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random vectors through which gradients flow to the parameters."""
        u = clipped(uniform(self._shape_of(sample_shape), self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value, k = self._values(value), self._event_shape[0]
        scale = self.temperature.new_full(self.temperature.shape, float(k)).lgamma()
        scale = scale + (k - 1) * self.temperature.log()
        score = self.logits - value * self.temperature
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Probabilities in the place of a vector with a one, as ``torch.distributions.RelaxedOneHotCategorical``."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    _inner = ExpRelaxedCategorical
    _outer = transforms.ExpTransform


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the derivative of the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random vectors through which gradients flow to the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - (probs.detach() if is_tensor(probs) else probs))
