"""``torch.distributions``: distributions of tensors, whose log densities and samples carry gradients."""

import math as _math
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np  # noqa: ICN001  (a private name)

from funcgrad import numpy as _fnp
from funcgrad._public import publish as _publish
from funcgrad.autograd import no_grad as _no_grad
from funcgrad.autograd import tensor as _tensor
from funcgrad.autograd.extend import Shape as _Shape
from funcgrad.autograd.extend import is_tensor as _is_tensor
from funcgrad.scipy import linalg as _linalg
from funcgrad.scipy import special as _special
from funcgrad.torch import _drawn, _names

_Sizes = tuple[int, ...]


def _broadcast(*values: _Any) -> tuple[_Any, ...]:
    """Return numbers and tensors as tensors of one shape."""
    like = next((v for v in values if _is_tensor(v)), None)
    dtype = None if like is None else like.dtype
    made = [v if _is_tensor(v) else _tensor(float(v), dtype=dtype) for v in values]
    shape = _np.broadcast_shapes(*[v.shape for v in made])
    return tuple([v.expand(*shape) for v in made])


def _check(name: str, argument: str, value: _Any, is_valid: _Any, needed: str) -> None:
    if not bool(_np.all(_np.asarray(is_valid))):
        raise ValueError(
            f"Expected parameter {argument} (Tensor of shape {tuple(value.shape)}) of distribution {name} to satisfy "
            f"the constraint {needed}, but found invalid values:\n{value}"
        )


class Distribution:
    """A distribution of tensors, as ``torch.distributions.Distribution``.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one sample.
        validate_args: whether values are checked.
    """

    has_rsample = False

    def __init__(self, batch_shape: _Any = (), event_shape: _Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        self._validates = validate_args is not False

    @property
    def batch_shape(self) -> _Any:
        """The shape of the parameters."""
        return _Shape(self._batch_shape)

    @property
    def event_shape(self) -> _Any:
        """The shape of one sample."""
        return _Shape(self._event_shape)

    def _shape_of(self, sample_shape: _Any) -> _Sizes:
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape: _Any = ()) -> _Any:
        """Return random numbers, without gradients."""
        with _no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _Any = ()) -> _Any:
        """Return random numbers through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: its samples are not differentiable.")

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the density, or of the probability."""
        raise NotImplementedError

    def _values(self, value: _Any) -> _Any:
        if not _is_tensor(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        return value

    def __repr__(self) -> str:
        parts = []
        for name in self._shown:
            value = getattr(self, name)
            parts.append(f"{name}: {value if value.numel() == 1 else _Shape(value.shape)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    _shown: tuple[str, ...] = ()


class Normal(Distribution):
    """The normal distribution, as ``torch.distributions.Normal``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)
    """

    has_rsample = True
    _shown = ("loc", "scale")

    def __init__(self, loc: _Any, scale: _Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        if self._validates:
            _check("Normal", "scale", self.scale, self.scale.detach() > 0, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self) -> _Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def stddev(self) -> _Any:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> _Any:
        """The variance."""
        return self.scale**2

    def rsample(self, sample_shape: _Any = ()) -> _Any:
        """Return random numbers through which gradients flow to the parameters."""
        return self.loc + _standard(self._shape_of(sample_shape), self.loc.dtype) * self.scale

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the density."""
        distance = self._values(value) - self.loc
        return -(distance**2) / (2 * self.variance) - self.scale.log() - _math.log(_math.sqrt(2 * _math.pi))

    def cdf(self, value: _Any) -> _Any:
        """Return the probability of smaller values."""
        return 0.5 * (1 + _special.erf((value - self.loc) / (self.scale * _math.sqrt(2))))

    def icdf(self, value: _Any) -> _Any:
        """Return the values below which lie given shares."""
        return self.loc + self.scale * _special.erfinv(2 * value - 1) * _math.sqrt(2)

    def entropy(self) -> _Any:
        """Return the differential entropy."""
        return 0.5 + 0.5 * _math.log(2 * _math.pi) + self.scale.log()


def _standard(shape: _Sizes, dtype: _Any) -> _Any:
    return _drawn.FUNCTIONS["randn"](*shape, dtype=dtype)


class Uniform(Distribution):
    """The uniform distribution between two bounds, as ``torch.distributions.Uniform``."""

    has_rsample = True
    _shown = ("low", "high")

    def __init__(self, low: _Any, high: _Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _broadcast(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validates and not bool((self.low.detach() < self.high.detach()).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def mean(self) -> _Any:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> _Any:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    @property
    def stddev(self) -> _Any:
        """The standard deviation."""
        return (self.high - self.low) / 12**0.5

    def rsample(self, sample_shape: _Any = ()) -> _Any:
        """Return random numbers through which gradients flow to the bounds."""
        drawn = _drawn.FUNCTIONS["rand"](*self._shape_of(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the density."""
        value = self._values(value)
        inside = (self.low <= value) * (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: _Any) -> _Any:
        """Return the probability of smaller values."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: _Any) -> _Any:
        """Return the values below which lie given shares."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> _Any:
        """Return the differential entropy."""
        return (self.high - self.low).log()


class _FromProbs(Distribution):
    """A distribution that probabilities or their logarithms describe; the other ones are computed when asked for."""

    def _given(self, probs: _Any, logits: _Any) -> _Any:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs = None if probs is None else _broadcast(probs)[0]
        self._logits = None if logits is None else _broadcast(logits)[0]
        return self._probs if logits is None else self._logits


class Bernoulli(_FromProbs):
    """One with a probability and else zero, as ``torch.distributions.Bernoulli``."""

    def __init__(self, probs: _Any = None, logits: _Any = None, validate_args: bool | None = None) -> None:
        given = self._given(probs, logits)
        super().__init__(given.shape, (), validate_args)
        if self._validates and probs is not None:
            inside = (given.detach() >= 0) & (given.detach() <= 1)
            _check("Bernoulli", "probs", given, inside, "Interval(lower_bound=0.0, upper_bound=1.0)")
        self._shown = ("probs",) if logits is None else ("logits",)

    @property
    def probs(self) -> _Any:
        """The probability of one."""
        return self._logits.sigmoid() if self._probs is None else self._probs

    @property
    def logits(self) -> _Any:
        """The logarithm of the odds."""
        if self._logits is not None:
            return self._logits
        p = _clipped(self._probs)
        return p.log() - (-p).log1p()

    @property
    def mean(self) -> _Any:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> _Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: _Any = ()) -> _Any:
        """Return ones and zeros."""
        return self.probs.detach().expand(*self._shape_of(sample_shape)).bernoulli()

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the probability."""
        return self._values(value) * self.logits - _softplus(self.logits)

    def entropy(self) -> _Any:
        """Return the entropy."""
        return _softplus(self.logits) - self.logits * self.probs


def _softplus(x: _Any) -> _Any:
    return _special.softplus(x)


def _clipped(p: _Any) -> _Any:
    eps = float(_np.finfo(p.dtype).eps)
    return p.clamp(eps, 1 - eps)


class Categorical(_FromProbs):
    """A position with a probability for each, as ``torch.distributions.Categorical``.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1))
        tensor(-0.2877)
    """

    def __init__(self, probs: _Any = None, logits: _Any = None, validate_args: bool | None = None) -> None:
        given = self._given(probs, logits)
        if not given.shape:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        if probs is not None:
            if validate_args is not False:
                _check(
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
    def probs(self) -> _Any:
        """The probabilities, which sum to 1."""
        return self._logits.softmax(-1) if self._probs is None else self._probs

    @property
    def logits(self) -> _Any:
        """The logarithms of the probabilities."""
        return _clipped(self._probs).log() if self._logits is None else self._logits

    @property
    def param_shape(self) -> _Any:
        """The shape of the probabilities."""
        return _Shape((*self._batch_shape, self._events))

    @property
    def mode(self) -> _Any:
        """The most probable position."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: _Any = ()) -> _Any:
        """Return positions."""
        count = _math.prod(tuple(sample_shape))
        drawn = self.probs.detach().reshape(-1, self._events).multinomial(count, True)
        return drawn.t().reshape(self._shape_of(sample_shape))

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the probability."""
        value = self._values(value).long().unsqueeze(-1)
        shape = _np.broadcast_shapes(value.shape[:-1], self._batch_shape)
        logits = self.logits.expand(*shape, self._events)
        return logits.gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> _Any:
        """Return the entropy."""
        least = float(_np.finfo(self.logits.dtype).min)
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, as ``torch.distributions.MultivariateNormal``."""

    has_rsample = True
    _shown = ("loc", "scale_tril")

    def __init__(
        self,
        loc: _Any,
        covariance_matrix: _Any = None,
        precision_matrix: _Any = None,
        scale_tril: _Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if len(given[0].shape) < 2:
            raise ValueError(
                "covariance_matrix must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = _np.broadcast_shapes(given[0].shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(*batch, loc.shape[-1])
        if precision_matrix is not None:
            factor = precision_matrix.flip(-2, -1).cholesky().flip(-2, -1).mT
            eye = loc.new_tensor(_np.eye(loc.shape[-1]))
            self.scale_tril = _linalg.solve_triangular(factor, eye.expand(*factor.shape), lower=True)
        else:
            self.scale_tril = covariance_matrix.cholesky() if scale_tril is None else scale_tril
        self.scale_tril = self.scale_tril.expand(*batch, *self.scale_tril.shape[-2:])
        super().__init__(batch, loc.shape[-1:], validate_args)

    @property
    def mean(self) -> _Any:
        """The mean."""
        return self.loc

    mode = mean

    @property
    def covariance_matrix(self) -> _Any:
        """The covariances."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> _Any:
        """The inverse of the covariances."""
        return _fnp.linalg.inv(self.covariance_matrix)

    @property
    def variance(self) -> _Any:
        """The variances."""
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: _Any = ()) -> _Any:
        """Return random vectors through which gradients flow to the parameters."""
        drawn = _standard(self._shape_of(sample_shape), self.loc.dtype)
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: _Any) -> _Any:
        """Return the logarithm of the density."""
        distance = self._values(value) - self.loc
        factor = self.scale_tril.expand(*distance.shape[:-1], *self.scale_tril.shape[-2:])
        solved = _linalg.solve_triangular(factor, distance.unsqueeze(-1), lower=True).squeeze(-1)
        half = self.half_log_determinant()
        return -0.5 * (self._event_shape[0] * _math.log(2 * _math.pi) + (solved**2).sum(-1)) - half

    def half_log_determinant(self) -> _Any:
        """Return half of the logarithm of the determinant of the covariances."""
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def entropy(self) -> _Any:
        """Return the differential entropy."""
        return 0.5 * self._event_shape[0] * (1 + _math.log(2 * _math.pi)) + self.half_log_determinant()


def _normals(p: _Any, q: _Any) -> _Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _bernoullis(p: _Any, q: _Any) -> _Any:
    first = p.probs * (_softplus(-q.logits) - _softplus(-p.logits))
    return first + (1 - p.probs) * (_softplus(q.logits) - _softplus(p.logits))


def _categoricals(p: _Any, q: _Any) -> _Any:
    t = p.probs * (p.logits - q.logits)
    t = _fnp.where(q.probs == 0, _math.inf, t)
    return _fnp.where(p.probs == 0, 0.0, t).sum(-1)


def _uniforms(p: _Any, q: _Any) -> _Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return _fnp.where(outside, _math.inf, ((q.high - q.low) / (p.high - p.low)).log())


def _multivariate_normals(p: _Any, q: _Any) -> _Any:
    half = q.half_log_determinant() - p.half_log_determinant()
    solved = _linalg.solve_triangular(q.scale_tril, p.scale_tril, lower=True)
    shift = _linalg.solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), lower=True)
    return half + 0.5 * ((solved**2).sum((-2, -1)) + (shift**2).sum((-2, -1)) - p.event_shape[0])


_DIVERGENCES: dict[tuple[type, type], _Callable[[_Any, _Any], _Any]] = {
    (Normal, Normal): _normals,
    (Bernoulli, Bernoulli): _bernoullis,
    (Categorical, Categorical): _categoricals,
    (Uniform, Uniform): _uniforms,
    (MultivariateNormal, MultivariateNormal): _multivariate_normals,
}


def register_kl(type_p: type, type_q: type) -> _Callable[..., _Any]:
    """``torch.distributions.register_kl``: register a function as the divergence of two kinds of distributions."""

    def register(function: _Callable[..., _Any]) -> _Callable[..., _Any]:
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> _Any:
    """``torch.distributions.kl_divergence``: return the divergence of Kullback and Leibler, KL(p || q).

    Raises:
        NotImplementedError: the two kinds of distributions have no formula.
    """
    for (first, second), function in reversed(_DIVERGENCES.items()):
        if isinstance(p, first) and isinstance(q, second):
            return function(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.distributions", name, globals())


__dir__ = _publish(__name__)
