"""The normal distribution of vectors whose covariances are a diagonal and a few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Tensor
from funcgrad.autograd.extend import Shape
from funcgrad.scipy import linalg
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution
from funcgrad.torch.distributions._continuous import standard_normal


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariances ``W @ W.T + diag(D)``.

    As ``torch.distributions.LowRankMultivariateNormal``.

    Densities need the Cholesky factor of ``I + W.T @ diag(1 / D) @ W`` only, which has the rank's size (Woodbury's
    identity).

    Args:
        loc: the mean, ``f32[batch, n]``.
        cov_factor: ``W``, ``f32[batch, n, rank]``.
        cov_diag: ``D``, ``f32[batch, n]``, positive.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> w, d = torch.tensor([[1.0], [0.0]]), torch.ones(2)
        >>> normal = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), w, d)
        >>> normal.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
        >>> normal.log_prob(torch.zeros(2))
        tensor(-2.1845)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if len(loc.shape) < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if len(cov_factor.shape) < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if not cov_diag.shape or cov_diag.shape[-1] != n:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {Shape((n,))}")
        try:
            batch = np.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except ValueError:
            raise ValueError(
                f"Incompatible batch shapes: loc {Shape(loc.shape)}, cov_factor {Shape(cov_factor.shape)}, cov_diag "
                f"{Shape(cov_diag.shape)}"
            ) from None
        self.loc, self.cov_diag = loc.expand(*batch, n), cov_diag.expand(*batch, n)
        self.cov_factor = cov_factor.expand(*batch, *cov_factor.shape[-2:])
        super().__init__(batch, (n,), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The same as the mean."""
        return self.mean

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return (self.cov_factor**2).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariances."""
        scaled = linalg.solve_triangular(self._small_factor(), self._scaled(), lower=True)
        return (1 / self.cov_diag).diag_embed() - scaled.mT @ scaled

    @property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariances."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        return root * fnp.linalg.cholesky(scaled @ scaled.mT + self._eye(self._event_shape[0]))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random vectors through which gradients flow to the parameters."""
        shape = self._shape_of(sample_shape)
        common = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype)
        own = standard_normal(shape, self.loc.dtype)
        return self.loc + (self.cov_factor @ common.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        distance = self._values(value) - self.loc
        factor, scaled = self._small_factor(), self._scaled()
        moved = (scaled @ distance.unsqueeze(-1)).squeeze(-1)
        factor = factor.expand(*moved.shape[:-1], *factor.shape[-2:])
        solved = linalg.solve_triangular(factor, moved.unsqueeze(-1), lower=True).squeeze(-1)
        square = (distance**2 / self.cov_diag).sum(-1) - (solved**2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_determinant() + square)

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_determinant())

    def _scaled(self) -> Tensor:
        return self.cov_factor.mT / self.cov_diag.unsqueeze(-2)

    def _small_factor(self) -> Tensor:
        return fnp.linalg.cholesky(self._scaled() @ self.cov_factor + self._eye(self.cov_factor.shape[-1]))

    def _log_determinant(self) -> Tensor:
        return 2 * self._small_factor().diagonal(0, -2, -1).log().sum(-1) + self.cov_diag.log().sum(-1)

    def _eye(self, n: int) -> Tensor:
        return self.loc.new_tensor(np.eye(n))
