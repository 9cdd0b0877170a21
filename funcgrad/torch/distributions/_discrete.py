"""Discrete distributions: by probabilities, or by their logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.autograd.extend import Shape
from funcgrad.scipy import special
from funcgrad.torch.distributions._base import Distribution, as_tensors, check_parameter


class FromProbs(Distribution):
    """A distribution that probabilities or their logarithms describe; the other ones are computed when asked for."""

    def _given(self, probs: Any, logits: Any) -> Any:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs: Any = None if probs is None else as_tensors(probs)[0]
        self._logits: Any = None if logits is None else as_tensors(logits)[0]
        return self._probs if logits is None else self._logits


class Bernoulli(FromProbs):
    """One with a probability and else zero, as ``torch.distributions.Bernoulli``."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = self._given(probs, logits)
        super().__init__(given.shape, (), validate_args)
        if self._validates and probs is not None:
            inside = (given.detach() >= 0) & (given.detach() <= 1)
            check_parameter("Bernoulli", "probs", given, inside, "Interval(lower_bound=0.0, upper_bound=1.0)")
        self._shown = ("probs",) if logits is None else ("logits",)

    @property
    def probs(self) -> Any:
        """The probability of one."""
        return self._logits.sigmoid() if self._probs is None else self._probs

    @property
    def logits(self) -> Any:
        """The logarithm of the odds."""
        if self._logits is not None:
            return self._logits
        p = _clipped(self._probs)
        return p.log() - (-p).log1p()

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Return ones and zeros."""
        return self.probs.detach().expand(*self._shape_of(sample_shape)).bernoulli()

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability."""
        return self._values(value) * self.logits - softplus(self.logits)

    def entropy(self) -> Any:
        """Return the entropy."""
        return softplus(self.logits) - self.logits * self.probs


def softplus(x: Any) -> Any:
    return special.softplus(x)


def _clipped(p: Any) -> Any:
    eps = float(np.finfo(p.dtype).eps)
    return p.clamp(eps, 1 - eps)


class Categorical(FromProbs):
    """A position with a probability for each, as ``torch.distributions.Categorical``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1))
        tensor(-0.2877)
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = self._given(probs, logits)
        if not given.shape:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        if probs is not None:
            if validate_args is not False:
                check_parameter(
                    "Categorical",
                    "probs",
                    given,
                    (given.detach() >= 0) & (given.detach().sum(-1, True) > 0),
                    "Simplex()",
                )
            self._probs = given / given.sum(-1, True)
        else:
            self._logits = given - given.logsumexp(-1, True)
        super().__init__(given.shape[:-1], (), validate_args)
        self._events = given.shape[-1]
        self._shown = ("probs",) if logits is None else ("logits",)

    @property
    def probs(self) -> Any:
        """The probabilities, which sum to 1."""
        return self._logits.softmax(-1) if self._probs is None else self._probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return _clipped(self._probs).log() if self._logits is None else self._logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return Shape((*self._batch_shape, self._events))

    @property
    def mode(self) -> Any:
        """The most probable position."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Return positions."""
        count = math.prod(tuple(sample_shape))
        drawn = self.probs.detach().reshape(-1, self._events).multinomial(count, True)
        return drawn.t().reshape(self._shape_of(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability."""
        value = self._values(value).long().unsqueeze(-1)
        shape = np.broadcast_shapes(value.shape[:-1], self._batch_shape)
        logits = self.logits.expand(*shape, self._events)
        return logits.gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Any:
        """Return the entropy."""
        least = float(np.finfo(self.logits.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)
