"""``torch.distributions.constraint_registry``: transforms of all numbers to the values that a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._public import publish
from funcgrad.torch.distributions import _transforms_more as more
from funcgrad.torch.distributions import constraints, transforms

Maker = Callable[[Any], Any]


class ConstraintRegistry:
    """Transforms by the kind of a constraint.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.biject_to(torch.distributions.constraints.positive)
        ExpTransform()
    """

    def __init__(self) -> None:
        self._makers: dict[type, Maker] = {}

    def register(self, constraint: Any, factory: Maker | None = None) -> Any:
        """Register a function that makes the transform of a constraint; without one, return a decorator."""
        if factory is None:
            return lambda made: self.register(constraint, made)
        self._makers[constraint if isinstance(constraint, type) else type(constraint)] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return the transform to the values that a constraint allows."""
        maker = self._makers.get(type(constraint))
        if maker is None:
            name = type(constraint).__name__
            raise NotImplementedError(f"Cannot transform {name} constraints")
        return maker(constraint)


def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), more.AffineTransform(low, high - low)])


def _above(constraint: Any) -> Any:
    if constraint.lower_bound == 0:
        return transforms.ExpTransform()
    parts = [transforms.ExpTransform(), more.AffineTransform(constraint.lower_bound, 1)]
    return transforms.ComposeTransform(parts)


def _below(constraint: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), more.AffineTransform(constraint.upper_bound, -1)])


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()
for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda _: transforms.identity_transform)
    for _kind in (constraints.positive, constraints.nonnegative):
        _registry.register(_kind, _above)
    _registry.register(constraints.less_than, _below)
    for _kind in (constraints.interval, constraints.half_open_interval):
        _registry.register(_kind, _between)
    _registry.register(constraints.lower_cholesky, lambda _: more.LowerCholeskyTransform())
    _registry.register(constraints.positive_definite, lambda _: more.PositiveDefiniteTransform())
    _registry.register(constraints.positive_semidefinite, lambda _: more.PositiveDefiniteTransform())
    _registry.register(constraints.corr_cholesky, lambda _: more.CorrCholeskyTransform())
    _registry.register(
        constraints.independent,
        lambda c, _registry=_registry: transforms.IndependentTransform(
            _registry(c.base_constraint), c.reinterpreted_batch_ndims
        ),
    )
biject_to.register(constraints.simplex, lambda _: more.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: more.SoftmaxTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

__dir__ = publish(__name__)
