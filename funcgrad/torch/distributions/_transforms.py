"""Transforms: invertible functions with the logarithm of their derivative; those of single numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Tensor
from funcgrad.autograd import tensor
from funcgrad.autograd.extend import is_tensor
from funcgrad.scipy import special
from funcgrad.torch.distributions import constraints


def sum_rightmost(value: Tensor, axes: int) -> Tensor:
    """Return the sums over the last axes."""
    return value.reshape(*value.shape[: len(value.shape) - axes], -1).sum(-1) if axes else value


class Transform:
    """An invertible function, as ``torch.distributions.Transform``.

    Args:
        cache_size: accepted for PyTorch's sake; nothing is kept.

    Example:
        >>> import funcgrad.torch as torch
        >>> t = torch.distributions.ExpTransform()
        >>> t.inv(t(torch.tensor(2.0)))
        tensor(2.)
    """

    bijective = False
    domain: Any
    codomain: Any
    sign: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size

    @property
    def inv(self) -> Any:
        """The inverse."""
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the transform: nothing is kept."""
        del cache_size
        return self

    def __call__(self, x: Tensor) -> Any:
        return self._call(x)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the absolute value of the derivative's determinant."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the result for a shape of the argument."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the argument for a shape of the result."""
        return shape

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self).keys() == vars(other).keys() and self._equals(other)

    def _equals(self, other: Any) -> bool:
        return all(bool(np.all(np.asarray(vars(other)[k] == v))) for k, v in vars(self).items())

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (as in PyTorch)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform
        self.domain, self.codomain = transform.codomain, transform.domain
        self.bijective = transform.bijective

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        return self._inv.sign

    @property
    def inv(self) -> Any:
        """The transform itself."""
        return self._inv

    def __call__(self, x: Tensor) -> Any:
        return self._inv._inverse(x)  # noqa: SLF001  (the other half of this pair)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return minus that of the transform."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the result for a shape of the argument."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the argument for a shape of the result."""
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [*parts]
        self._inv: ComposeTransform | None = None

    @property
    def bijective(self) -> bool:
        """Whether all parts are bijective."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        return reduce(mul, [part.sign for part in self.parts], 1)

    @property
    def domain(self) -> Any:
        """The arguments, with as many axes as one part needs."""
        if not self.parts:
            return constraints.real
        needed = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        first = self.parts[0].domain
        return constraints.independent(first, needed - first.event_dim) if needed > first.event_dim else first

    @property
    def codomain(self) -> Any:
        """The results, with as many axes as one part needs."""
        if not self.parts:
            return constraints.real
        needed = self.parts[0].domain.event_dim
        for part in self.parts:
            needed = max(needed + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        last = self.parts[-1].codomain
        return constraints.independent(last, needed - last.event_dim) if needed > last.event_dim else last

    @property
    def inv(self) -> Any:
        """The inverses in the opposite order."""
        made = ComposeTransform([part.inv for part in reversed(self.parts)]) if self._inv is None else self._inv
        made._inv = self  # noqa: SLF001  (the other half of this pair)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    def __call__(self, x: Tensor) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return self.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum of those of the parts."""
        if not self.parts:
            return fnp.zeros_like(x)
        xs = [x]
        for part in self.parts[:-1]:
            xs.append(part(xs[-1]))
        xs.append(y)
        total: Any = 0
        axes = self.domain.event_dim
        for part, before, after in zip(self.parts, xs[:-1], xs[1:], strict=True):
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after), axes - part.domain.event_dim)
            axes += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the result for a shape of the argument."""
        return reduce(lambda held, part: part.forward_shape(held), self.parts, shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the argument for a shape of the result."""
        return reduce(lambda held, part: part.inverse_shape(held), reversed(self.parts), shape)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of the elements along the last axes, which belong to one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)
        self.bijective = base_transform.bijective

    @property
    def sign(self) -> Any:
        """The sign of the derivative."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sums of those of the elements."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Another shape for the last axes."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(*self.forward_shape(tuple(x.shape)))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(*self.inverse_shape(tuple(y.shape)))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return zeros."""
        del y
        return x.new_full(x.shape[: len(x.shape) - len(self.in_shape)], 0.0)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the result for a shape of the argument."""
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of the argument for a shape of the result."""
        return self._exchanged(shape, self.out_shape, self.in_shape)

    def _exchanged(self, shape: Sequence[int], old: tuple[int, ...], new: tuple[int, ...]) -> Any:
        cut = len(shape) - len(old)
        if cut < 0:
            raise ValueError("Too few dimensions on input")
        if tuple(shape[cut:]) != old:
            raise ValueError(f"Shape mismatch: expected {tuple(shape[cut:])} but got {old}")
        return (*shape[:cut], *new)


class _Elementwise(Transform):
    domain = constraints.real
    codomain = constraints.real
    bijective = True
    sign = 1


class ExpTransform(_Elementwise):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return ``x``."""
        del y
        return x


class PowerTransform(_Elementwise):
    """``x ** exponent`` of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent: Any = exponent if is_tensor(exponent) else tensor(float(exponent))

    @property
    def sign(self) -> Tensor:
        """The sign of the exponent."""
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape that the exponent and the argument broadcast to."""
        return np.broadcast_shapes(tuple(shape), tuple(self.exponent.shape))

    inverse_shape = forward_shape


class SigmoidTransform(_Elementwise):
    """``1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        kind = np.finfo(x.dtype)
        return x.sigmoid().clamp(float(kind.tiny), 1.0 - float(kind.eps))

    def _inverse(self, y: Tensor) -> Tensor:
        kind = np.finfo(y.dtype)
        y = y.clamp(float(kind.tiny), 1.0 - float(kind.eps))
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative."""
        del y
        return -special.softplus(-x) - special.softplus(x)


class SoftplusTransform(_Elementwise):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return special.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative."""
        del y
        return -special.softplus(-x)


class TanhTransform(_Elementwise):
    """``tanh(x)``."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the derivative."""
        del y
        return 2.0 * (math.log(2.0) - x - special.softplus(-2.0 * x))
