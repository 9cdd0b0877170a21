"""Divergences of Kullback and Leibler of two distributions, by formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Tensor
from funcgrad.scipy import linalg
from funcgrad.torch.distributions._base import Distribution
from funcgrad.torch.distributions._combined import Independent, TransformedDistribution
from funcgrad.torch.distributions._continuous import MultivariateNormal, Normal, Uniform
from funcgrad.torch.distributions._counts import Binomial, Geometric, OneHotCategorical, Poisson
from funcgrad.torch.distributions._discrete import Bernoulli, Categorical, softplus
from funcgrad.torch.distributions._gammas import Beta, Dirichlet, Gamma
from funcgrad.torch.distributions._scales import Cauchy, Exponential, HalfNormal, Laplace
from funcgrad.torch.distributions._transformed import Gumbel, Pareto
from funcgrad.torch.distributions._transforms import sum_rightmost


def _normals(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _bernoullis(p: Any, q: Any) -> Tensor:
    first = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return first + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


def _categoricals(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = fnp.where(q.probs == 0, math.inf, t)
    return fnp.where(p.probs == 0, 0.0, t).sum(-1)


def _uniforms(p: Any, q: Any) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return fnp.where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


def _multivariate_normals(p: Any, q: Any) -> Tensor:
    half = q.half_log_determinant() - p.half_log_determinant()
    solved = linalg.solve_triangular(q.scale_tril, p.scale_tril, lower=True)
    shift = linalg.solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), lower=True)
    return half + 0.5 * ((solved**2).sum((-2, -1)) + (shift**2).sum((-2, -1)) - p.event_shape[0])


def _gammas(p: Any, q: Any) -> Tensor:
    shapes = q.concentration.lgamma() - p.concentration.lgamma()
    rates = q.concentration * (p.rate / q.rate).log()
    shift = (p.concentration - q.concentration) * p.concentration.digamma()
    return rates + shapes + shift + (q.rate - p.rate) * (p.concentration / p.rate)


def _betas(p: Any, q: Any) -> Tensor:
    total, other = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    norms = q.concentration1.lgamma() + q.concentration0.lgamma() + total.lgamma()
    norms = norms - p.concentration1.lgamma() - p.concentration0.lgamma() - other.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return norms + first + second + (other - total) * total.digamma()


def _dirichlets(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    norms = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


def _exponentials(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


def _laplaces(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _poissons(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def _geometrics(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


def _binomials(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


def _cauchys(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


def _gumbels(p: Any, q: Any) -> Any:
    ratio, euler = p.scale / q.scale, float(fnp.euler_gamma)
    first, second = q.loc / q.scale, p.loc / q.scale
    shift = -ratio.log() - first + second
    return shift + ratio * euler + (first + (1 + ratio).lgamma() - second).exp() - (1 + euler)


def _paretos(p: Any, q: Any) -> Any:
    ratio, shape = p.scale / q.scale, q.alpha / p.alpha
    found = q.alpha * ratio.log() - shape.log() + shape - 1
    return fnp.where(p.scale.detach() < q.scale.detach(), math.inf, found)


def _independents(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


_DIVERGENCES: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (Normal, Normal): _normals,
    (Bernoulli, Bernoulli): _bernoullis,
    (Categorical, Categorical): _categoricals,
    (Uniform, Uniform): _uniforms,
    (MultivariateNormal, MultivariateNormal): _multivariate_normals,
    (Gamma, Gamma): _gammas,
    (Beta, Beta): _betas,
    (Dirichlet, Dirichlet): _dirichlets,
    (Exponential, Exponential): _exponentials,
    (Laplace, Laplace): _laplaces,
    (Poisson, Poisson): _poissons,
    (Geometric, Geometric): _geometrics,
    (Binomial, Binomial): _binomials,
    (Cauchy, Cauchy): _cauchys,
    (OneHotCategorical, OneHotCategorical): lambda p, q: _categoricals(p, q),
    (Independent, Independent): _independents,
    (TransformedDistribution, TransformedDistribution): _transformed,
    (HalfNormal, HalfNormal): lambda p, q: _normals(p.base_dist, q.base_dist),
    (Gumbel, Gumbel): _gumbels,
    (Pareto, Pareto): _paretos,
}


def register_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """``torch.distributions.register_kl``: register a function as the divergence of two kinds of distributions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
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
