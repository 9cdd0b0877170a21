"""``torch.distributions.constraints``: the sets in which parameters and values lie."""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad._public import publish
from funcgrad._types import Tensor


class Constraint:
    """A set of tensors; ``event_dim`` axes from the right belong to one value.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.constraints.positive.check(torch.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Return which values lie in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _Dependent(Constraint):
    """A set that other parameters decide."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        """Refuse: the set is not known."""
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):  # noqa: N801  (PyTorch's name)
    """A property of a distribution that gives a constraint."""

    def __init__(self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> Any:
        """Return the property of a function."""
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Return whether other parameters decide a set, as ``torch.distributions.constraints.is_dependent``.

    Args:
        constraint: a set.

    Returns:
        A bool.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.real)
        False
    """
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Values whose elements along the last axes all lie in a set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Return which values lie in the set."""
        inside = self.base_constraint.check(value)
        axes = self.reinterpreted_batch_ndims
        if len(inside.shape) < axes:
            needed = self.base_constraint.event_dim + axes
            raise ValueError(f"Expected value.dim() >= {needed} but got {len(value.shape)}")
        return inside.reshape(*inside.shape[: len(inside.shape) - axes], -1).all(-1) if axes else inside

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Boolean(Constraint):
    """Zero and one."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Return which values are zero or one."""
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with a single one among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which vectors have a single one among zeros."""
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Bounded(Constraint):
    """The numbers of an interval; the bounds are inside where the texts say so."""

    def __init__(self, *bounds: Any) -> None:
        self._bounds = bounds
        for name, bound in zip(self._names, bounds, strict=True):
            setattr(self, name, bound)

    _names: tuple[str, ...]

    def __repr__(self) -> str:
        texts = [f"{name}={bound}" for name, bound in zip(self._names, self._bounds, strict=True)]
        return f"{type(self).__name__[1:]}({', '.join(texts)})"


class _IntegerInterval(_Bounded):
    """The integers between two bounds."""

    is_discrete = True
    _names = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        """Return which values are integers between the bounds."""
        low, high = self._bounds
        return (value % 1 == 0) & (value >= low) & (value <= high)


class _IntegerLessThan(_Bounded):
    """The integers up to a bound."""

    is_discrete = True
    _names = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        """Return which values are integers up to the bound."""
        return (value % 1 == 0) & (value <= self._bounds[0])


class _IntegerGreaterThan(_Bounded):
    """The integers from a bound on."""

    is_discrete = True
    _names = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        """Return which values are integers from the bound on."""
        return (value % 1 == 0) & (value >= self._bounds[0])


class _GreaterThan(_Bounded):
    """The numbers above a bound."""

    _names = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        """Return which values are above the bound."""
        return value > self._bounds[0]


class _GreaterThanEq(_Bounded):
    """The numbers from a bound on."""

    _names = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        """Return which values are not below the bound."""
        return value >= self._bounds[0]


class _LessThan(_Bounded):
    """The numbers below a bound."""

    _names = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        """Return which values are below the bound."""
        return value < self._bounds[0]


class _Interval(_Bounded):
    """The numbers between two bounds."""

    _names = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        """Return which values lie between the bounds."""
        return (value >= self._bounds[0]) & (value <= self._bounds[1])


class _HalfOpenInterval(_Interval):
    """The numbers between two bounds, without the upper one."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values lie between the bounds, below the upper one."""
        return (value >= self._bounds[0]) & (value < self._bounds[1])


class _Real(Constraint):
    """All numbers."""

    def check(self, value: Tensor) -> Tensor:
        """Return which values are numbers."""
        return value == value  # noqa: PLR0124  (NaN differs from itself)


class _Simplex(Constraint):
    """Probabilities that sum to one."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Return which vectors are probabilities that sum to one."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts whose sum has a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        """Return which vectors are counts up to the bound."""
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Matrices that are zero above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices are zero above the diagonal."""
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangles with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices are lower triangles with a positive diagonal."""
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlations."""

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices are Cholesky factors of correlations."""
        tolerance = 10.0 * value.shape[-1] * float(fnp.finfo(value.dtype).eps)
        return super().check(value) & ((fnp.linalg.norm(value, axis=-1) - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Return whether the matrices are square."""
        return value.new_full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices are symmetric."""
        if value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without a negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices have no negative eigenvalue."""
        inside = super().check(value)
        return inside & (fnp.linalg.eigvalsh(value) >= 0).all(-1) if bool(inside.all()) else inside


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Return which matrices have positive eigenvalues only."""
        inside = super().check(value)
        return inside & (fnp.linalg.eigvalsh(value) > 0).all(-1) if bool(inside.all()) else inside


class MixtureSameFamilyConstraint(Constraint):
    """The values of a mixture's components."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Return which values the components may have."""
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return inside.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "symmetric",
    "unit_interval",
]

__dir__ = publish(__name__)
