"""Divergences of Kullback and Leibler of two distributions, by formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad.scipy import linalg
from funcgrad.torch.distributions._base import Distribution
from funcgrad.torch.distributions._continuous import MultivariateNormal, Normal, Uniform
from funcgrad.torch.distributions._discrete import Bernoulli, Categorical, softplus


def _normals(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


def _bernoullis(p: Any, q: Any) -> Any:
    first = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return first + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


def _categoricals(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = fnp.where(q.probs == 0, math.inf, t)
    return fnp.where(p.probs == 0, 0.0, t).sum(-1)


def _uniforms(p: Any, q: Any) -> Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return fnp.where(outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


def _multivariate_normals(p: Any, q: Any) -> Any:
    half = q.half_log_determinant() - p.half_log_determinant()
    solved = linalg.solve_triangular(q.scale_tril, p.scale_tril, lower=True)
    shift = linalg.solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), lower=True)
    return half + 0.5 * ((solved**2).sum((-2, -1)) + (shift**2).sum((-2, -1)) - p.event_shape[0])


_DIVERGENCES: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (Normal, Normal): _normals,
    (Bernoulli, Bernoulli): _bernoullis,
    (Categorical, Categorical): _categoricals,
    (Uniform, Uniform): _uniforms,
    (MultivariateNormal, MultivariateNormal): _multivariate_normals,
}


def register_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """``torch.distributions.register_kl``: register a function as the divergence of two kinds of distributions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Any:
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
