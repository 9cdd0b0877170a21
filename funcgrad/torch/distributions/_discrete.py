"""Discrete distributions: by probabilities, or by their logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd import tensor
from funcgrad.autograd.extend import Shape
from funcgrad.scipy import special
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors, check_parameter, depends


class FromProbs(Distribution):
    """A distribution that probabilities or their logarithms describe; the other ones are computed when asked for."""

    def _given(self, probs: Array, logits: Array) -> Tensor:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs: Any = None if probs is None else as_tensors(probs)[0]
        self._logits: Any = None if logits is None else as_tensors(logits)[0]
        self._shown = ("probs",) if logits is None else ("logits",)
        return self._probs if logits is None else self._logits


class OfTrials(FromProbs):
    """The probability of success in a trial, or the logarithm of its odds."""

    @property
    def probs(self) -> Tensor:
        """The probability of success."""
        return self._logits.sigmoid() if self._probs is None else self._probs

    @property
    def logits(self) -> Tensor:
        """The logarithm of the odds."""
        if self._logits is not None:
            return self._logits
        p = clipped(self._probs)
        return p.log() - (-p).log1p()

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return Shape((self._probs if self._logits is None else self._logits).shape)

    def _check_probs(self) -> None:
        """Refuse probabilities outside of their set, if values are checked."""
        if self._validates and self._probs is not None:
            constraint = self.arg_constraints["probs"]
            check_parameter(self, "probs", self._probs, constraint.check(self._probs.detach()), repr(constraint))


class Bernoulli(OfTrials):
    """One with a given probability, otherwise zero, as ``torch.distributions.Bernoulli``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor(1.0))
        tensor(-1.3863)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: ArrayLike | None = None, logits: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        given = self._given(probs, logits)
        super().__init__(given.shape, (), validate_args)
        self._check_probs()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN where both are equally probable."""
        probs = self.probs.detach()
        return (probs >= 0.5).to(probs.dtype).masked_fill(probs == 0.5, float("nan"))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return zero and one, along a new first axis."""
        values = self.probs.new_tensor([0.0, 1.0]).reshape(2, *(1,) * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return ones and zeros."""
        return self.probs.detach().expand(*self._shape_of(sample_shape)).bernoulli()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        return self._values(value) * self.logits - softplus(self.logits)

    def entropy(self) -> Tensor:
        """Return the entropy."""
        return softplus(self.logits) - self.logits * self.probs


def softplus(x: Array) -> Tensor:
    return special.softplus(x)


def clipped(p: Any) -> Tensor:
    eps = float(np.finfo(p.dtype).eps)
    return p.clamp(eps, 1 - eps)


class Categorical(FromProbs):
    """A position with a probability for each, as ``torch.distributions.Categorical``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1))
        tensor(-0.2877)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: ArrayLike | None = None, logits: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        given = self._given(probs, logits)
        if not given.shape:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        super().__init__(given.shape[:-1], (), validate_args)
        self._events = given.shape[-1]
        if probs is not None:
            self._probs = given / given.sum(-1, True)
            if self._validates:
                inside = (given.detach() >= 0) & (given.detach().sum(-1, True) > 0)
                check_parameter(self, "probs", self._probs, inside, "Simplex()")
        else:
            self._logits = given - given.logsumexp(-1, True)

    @property
    def probs(self) -> Tensor:
        """The probabilities, which sum to 1."""
        return self._logits.softmax(-1) if self._probs is None else self._probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return clipped(self._probs).log() if self._logits is None else self._logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return Shape((*self._batch_shape, self._events))

    @property
    def mode(self) -> Tensor:
        """The most probable position."""
        return self.probs.argmax(-1)

    @property
    def mean(self) -> Tensor:
        """NaN: positions have no mean."""
        return self.probs.new_full(self._batch_shape, float("nan"))

    @property
    def variance(self) -> Tensor:
        """NaN: positions have no variance."""
        return self.mean

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all positions, along a new first axis."""
        values = tensor(np.arange(self._events)).reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(self._events, *self._batch_shape) if expand else values

    @depends
    def support(self) -> Any:
        """The positions."""
        return constraints.integer_interval(0, self._events - 1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return positions."""
        count = math.prod(tuple(sample_shape))
        drawn = self.probs.detach().reshape(-1, self._events).multinomial(count, True)
        return drawn.t().reshape(self._shape_of(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability."""
        value = self._values(value).long().unsqueeze(-1)
        shape = np.broadcast_shapes(value.shape[:-1], self._batch_shape)
        logits = self.logits.expand(*shape, self._events)
        return logits.gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return the entropy."""
        least = float(np.finfo(self.logits.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)
