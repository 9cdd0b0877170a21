"""Distributions of matrices: Wishart's, and that of factors of correlation matrices."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd import no_grad
from funcgrad.scipy import linalg
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._base import Distribution, as_tensors, check_parameter
from funcgrad.torch.distributions._continuous import standard_normal
from funcgrad.torch.distributions._gammas import Beta, Chi2, ExponentialFamily


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices, as ``torch.distributions.LKJCholesky``.

    Args:
        dim: the number of rows.
        concentration: 1 makes all correlation matrices equally probable, more prefers small correlations.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2))
        tensor(-0.6931)

    Source: Lewandowski, Kurowicka and Joe, *Generating random correlation matrices* (2009), section 3.2.
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = as_tensors(concentration)
        rows = np.maximum(np.arange(dim) - 1, 0).astype(self.concentration.dtype)
        offset = self.concentration.new_tensor(rows)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._squares = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random factors, without gradients."""
        with no_grad():
            squares = self._squares.sample(sample_shape).unsqueeze(-1)
            normal = standard_normal(self._shape_of(sample_shape), squares.dtype).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            w = squares.sqrt() * directions
            rest = (1 - (w**2).sum(-1)).clamp(float(np.finfo(w.dtype).tiny)).sqrt()
            return w + rest.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        diagonal = self._values(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        after = self.concentration.new_tensor(np.arange(2, self.dim + 1))
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - after
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        norm = 0.5 * count * math.log(math.pi) + (alpha - 0.5).mvlgamma(count) - alpha.lgamma() * count
        return (order * diagonal.log()).sum(-1) - norm


class Wishart(ExponentialFamily):
    """The distribution of scatter matrices of normal vectors, as ``torch.distributions.Wishart``.

    Args:
        df: the degrees of freedom, more than the number of rows minus 1.
        covariance_matrix: the covariances of the vectors, ``f32[batch, n, n]``.
        precision_matrix: their inverse, in its place.
        scale_tril: their Cholesky factor, in its place.
        validate_args: whether values are checked.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])

    Source: Wishart (1928); samples by Bartlett's decomposition. PyTorch draws again after samples that it takes for
    singular, so its samples differ for the same seed.
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        # More than the number of rows minus 1, which the constructor checks.
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite

    def __init__(
        self,
        df: ArrayLike,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        named = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given: dict[str, Any] = {name: x for name, x in named.items() if x is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if len(matrix.shape) < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        n = matrix.shape[-1]
        freedom: Any = matrix.new_full((), df) if issubclass(type(df), int | float) else df
        batch = np.broadcast_shapes(matrix.shape[:-2], freedom.shape)
        self.df = freedom.expand(*batch)
        if bool((self.df.detach() <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if bool((self.df.detach() < n).any()):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._shown = (name, "df")
        self._given = name
        self._matrix = matrix.expand(*batch, n, n)
        super().__init__(batch, (n, n), validate_args)
        if self._validates:
            constraint = self.arg_constraints[name]
            check_parameter(self, name, self._matrix, constraint.check(self._matrix.detach()), repr(constraint))
        self._factor = _factor(name, matrix).expand(*batch, n, n)

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        return self._matrix if self._given == "scale_tril" else self._factor

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances of the vectors."""
        return self._matrix if self._given == "covariance_matrix" else self._factor @ self._factor.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return self._matrix if self._given == "precision_matrix" else fnp.linalg.inv(self.covariance_matrix)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The most probable matrix; NaN where there is none."""
        factor = self.df - self._event_shape[-1] - 1
        return fnp.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return random matrices through which gradients flow to the parameters."""
        shape, n = self._shape_of(sample_shape), self._event_shape[-1]
        freedom = self.df.unsqueeze(-1) - self.df.new_tensor(np.arange(n))
        roots = Chi2(freedom).rsample(sample_shape).sqrt()
        below = standard_normal(shape, self._factor.dtype).tril(-1)
        factor = self._factor @ (roots.diag_embed() + below)
        return factor @ factor.mT

    def _half_log_determinant(self) -> Tensor:
        n = self._event_shape[-1]
        return n * math.log(2.0) / 2 + self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        value, n = self._values(value), self._event_shape[-1]
        shape = np.broadcast_shapes(value.shape, self._factor.shape)
        factor, wide = self._factor.expand(*shape), value.expand(*shape)
        half = linalg.solve_triangular(factor, wide, lower=True)
        solved = linalg.solve_triangular(factor, half, lower=True, trans=1)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        volume = (self.df - n - 1) / 2 * fnp.linalg.slogdet(value)[1]
        return -self.df * self._half_log_determinant() - (self.df / 2).mvlgamma(n) + volume - trace / 2

    def entropy(self) -> Tensor:
        """Return the differential entropy."""
        n = self._event_shape[-1]
        half = self.df / 2
        digammas = (half.unsqueeze(-1) - half.new_tensor(np.arange(n) / 2)).digamma().sum(-1)
        volume = (n + 1) * self._half_log_determinant()
        return volume + half.mvlgamma(n) - (self.df - n - 1) / 2 * digammas + half * n


def _factor(name: str, matrix: Any) -> Tensor:
    """Return the Cholesky factor of the covariances."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return fnp.linalg.cholesky(matrix)
    flipped = fnp.linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
    identity = matrix.new_tensor(np.eye(matrix.shape[-1]))
    return linalg.solve_triangular(flipped, identity.expand(*flipped.shape), lower=True)
