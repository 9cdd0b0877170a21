"""Affine transforms, those of vectors and matrices, and those of absolute values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd.extend import is_tensor
from funcgrad.scipy import special
from funcgrad.torch.distributions import constraints
from funcgrad.torch.distributions._transforms import Transform, sum_rightmost


class AbsTransform(Transform):
    """``abs(x)``, which has no inverse; the positive number is taken as one.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
        tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``.

    Args:
        loc: what is added.
        scale: the factor.
        event_dim: the number of the last axes that belong to one value.
        cache_size: accepted for PyTorch's sake.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
        tensor(7.)
    """

    bijective = True

    def __init__(self, loc: ArrayLike, scale: ArrayLike, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        space = constraints.independent(constraints.real, event_dim) if event_dim else constraints.real
        self.domain = self.codomain = space

    @property
    def sign(self) -> Tensor:
        """The sign of the factor."""
        return self.scale.sign() if is_tensor(self.scale) else int(np.sign(self.scale))

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the factor, summed over the axes of a value."""
        del y
        scale = self.scale if is_tensor(self.scale) else x.new_full((), float(self.scale))
        logarithm = scale.abs().log().expand(*np.broadcast_shapes(tuple(x.shape), tuple(scale.shape)))
        axes = self.event_dim
        return logarithm.reshape(*logarithm.shape[: len(logarithm.shape) - axes], -1).sum(-1) if axes else logarithm

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape that the parameters and the argument broadcast to."""
        shapes = [tuple(getattr(p, "shape", ())) for p in (self.loc, self.scale)]
        return np.broadcast_shapes(tuple(shape), *shapes)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """Probabilities of scores, of which all with the same differences have the same."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """Probabilities of scores that are one fewer: each is a share of what the ones before leave.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        n = x.shape[-1]
        share = (x - x.new_tensor(np.log(np.arange(n, 0, -1)))).sigmoid().clamp(float(np.finfo(x.dtype).tiny))
        left = (1 - share).cumprod(-1)
        ones = x.new_full((*x.shape[:-1], 1), 1.0)
        return fnp.concatenate([share, ones], -1) * fnp.concatenate([ones, left], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        n, shares = y.shape[-1] - 1, y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(float(np.finfo(y.dtype).tiny))
        return shares.log() - left.log() + y.new_tensor(np.log(np.arange(n, 0, -1)))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative's determinant."""
        moved = x - x.new_tensor(np.log(np.arange(x.shape[-1], 0, -1)))
        return (-moved - special.softplus(-moved) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return a shape with one element more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return a shape with one element fewer."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Lower triangles with the exponential of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + fnp.multiply(x.diagonal(0, -2, -1).exp()[..., None], np.eye(x.shape[-1], dtype=x.dtype))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + fnp.multiply(y.diagonal(0, -2, -1).log()[..., None], np.eye(y.shape[-1], dtype=y.dtype))


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Positive definite matrices of all matrices, by their Cholesky factors."""

    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = super()._call(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return super()._inverse(y.cholesky())


class CorrCholeskyTransform(Transform):
    """Cholesky factors of correlations, from ``n (n - 1) / 2`` numbers (Lewandowski et al., 2009)."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = float(np.finfo(x.dtype).eps)
        r = _in_triangle(x.tanh().clamp(-1 + eps, 1 - eps))
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + x.new_tensor(np.eye(r.shape[-1]))
        ones = x.new_full((*left.shape[:-1], 1), 1.0)
        return r * fnp.concatenate([ones, left[..., :-1]], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        n = y.shape[-1]
        left = 1 - (y * y).cumsum(-1)
        ones = y.new_full((*left.shape[:-1], 1), 1.0)
        shifted = fnp.concatenate([ones, left[..., :-1]], -1)
        rows, columns = np.tril_indices(n, -1)
        t = y[..., rows, columns] / shifted[..., rows, columns].sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative's determinant."""
        n = y.shape[-1]
        left = 1 - (y * y).cumsum(-1)
        rows, columns = np.tril_indices(n, -2)
        inner = left[..., rows, columns]
        from_stick = 0.5 * inner.log().sum(-1) if rows.size else 0.0
        return from_stick + (-2 * (x + special.softplus(-2 * x) - math.log(2.0))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the matrices."""
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the numbers."""
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _in_triangle(x: Tensor) -> Any:
    """Return matrices with the numbers below the diagonal."""
    n = round((0.25 + 2 * x.shape[-1]) ** 0.5 + 0.5)
    places = np.full((n, n), x.shape[-1])
    places[np.tril_indices(n, -1)] = np.arange(x.shape[-1])
    return fnp.take(fnp.concatenate([x, x.new_full((*x.shape[:-1], 1), 0.0)], -1), places, axis=-1)


class CumulativeDistributionTransform(Transform):
    """Probabilities of smaller values than a value, of a distribution."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The values of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        del y
        return self.distribution.log_prob(x)


class _PartsInSets(constraints.Constraint):
    """Values whose parts along an axis lie each in a set of its own."""

    def __init__(self, sets: Sequence[Any], dim: int, lengths: Sequence[int] | None) -> None:
        self.sets, self.dim, self.lengths = list(sets), dim, lengths
        self.is_discrete = any(each.is_discrete for each in self.sets)
        self.event_dim = max(each.event_dim for each in self.sets)
        if lengths is None and dim + self.event_dim < 0:
            self.event_dim += 1

    def check(self, value: Tensor) -> Tensor:
        """Return which values lie in the set."""
        parts = value.unbind(self.dim) if self.lengths is None else value.split(list(self.lengths), self.dim)
        found = [each.check(part) for each, part in zip(self.sets, parts, strict=True)]
        return (fnp.stack if self.lengths is None else fnp.concatenate)(found, axis=self.dim)


class CatTransform(Transform):
    """A transform for each part along an axis.

    Args:
        tseq: the transforms.
        dim: the axis.
        lengths: the length of each part; 1 by default.
        cache_size: accepted for PyTorch's sake.

    Example:
        >>> import funcgrad.torch as torch
        >>> t = torch.distributions.CatTransform([torch.distributions.ExpTransform()] * 2, lengths=[1, 1])
        >>> t(torch.zeros(2))
        tensor([1., 1.])
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.bijective = all(t.bijective for t in self.transforms)
        self.event_dim = max(t.domain.event_dim for t in self.transforms)
        self.length = sum(self.lengths)
        self.domain = _PartsInSets([t.domain for t in self.transforms], dim, self.lengths)
        self.codomain = _PartsInSets([t.codomain for t in self.transforms], dim, self.lengths)

    def _split(self, x: Any) -> Any:
        if not -len(x.shape) <= self.dim < len(x.shape):
            raise AssertionError(f"dim {self.dim} out of range for tensor with {len(x.shape)} dimensions")
        if x.shape[self.dim] != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.shape[self.dim]} must equal length {self.length}")
        return x.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return fnp.concatenate([t(part) for t, part in parts], axis=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return fnp.concatenate([t.inv(part) for t, part in parts], axis=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the determinant: of each part, or the sum if the axis belongs to one value."""
        found = []
        for t, part, result in zip(self.transforms, self._split(x), self._split(y), strict=True):
            logarithm = t.log_abs_det_jacobian(part, result)
            found.append(sum_rightmost(logarithm, self.event_dim - t.domain.event_dim))
        dim = (self.dim - len(x.shape) if self.dim >= 0 else self.dim) + self.event_dim
        return fnp.concatenate(found, axis=dim) if dim < 0 else sum(found[1:], found[0])


class StackTransform(Transform):
    """A transform for each position along an axis.

    Args:
        tseq: the transforms, as many as the axis has positions.
        dim: the axis.
        cache_size: accepted for PyTorch's sake.

    Example:
        >>> import funcgrad.torch as torch
        >>> kinds = torch.distributions
        >>> kinds.StackTransform([kinds.ExpTransform(), kinds.identity_transform])(torch.zeros(2))
        tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.bijective = all(t.bijective for t in self.transforms)
        self.domain = _PartsInSets([t.domain for t in self.transforms], dim, None)
        self.codomain = _PartsInSets([t.codomain for t in self.transforms], dim, None)

    def _split(self, x: Any) -> Any:
        if not -len(x.shape) <= self.dim < len(x.shape):
            raise AssertionError(f"dim {self.dim} out of range for tensor with {len(x.shape)} dimensions")
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(
                f"x.size({self.dim}) = {x.shape[self.dim]} must equal len(transforms) {len(self.transforms)}"
            )
        return x.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x), strict=True)
        return fnp.stack([t(part) for t, part in parts], axis=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y), strict=True)
        return fnp.stack([t.inv(part) for t, part in parts], axis=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the determinant of each part."""
        parts = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return fnp.stack([t.log_abs_det_jacobian(part, result) for t, part, result in parts], axis=self.dim)
