"""Check what the implicit function theorem assumes at a solution: convergence, a regular matrix, a smooth function.

A Newton step from the solution tells all three. Its matrix is the one of the derivative. The step is short where the
solver converged, and a second step is shorter by far where the function is smooth. These lengths, relative to the
solution, do not depend on the units of the function (Deuflhard, *Newton Methods for Nonlinear Problems*, 2004,
section 2.1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import LinearTogether
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.batch import shared
from funcgrad._ops.program.custom import instantiated
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import ImplicitRuleError

# The longest Newton steps, relative to the solution, after a solver that reports success and after one that does not.
_CONVERGED, _FAILED = 0.1, 1e-3
# The condition number, with rows and columns of equal size, from which on a matrix counts as singular.
_SINGULAR = 1 / (4 * np.finfo(float).eps)


class SolutionWords(NamedTuple):
    """The words of a message, for roots or for minima."""

    solution: str
    equation: str
    matrix: str
    remedy: str


ROOT = SolutionWords(
    "root",
    "function",
    "Jacobian",
    "Search where the function is smooth and crosses 0, or take the root from fg.stop_gradient(x).",
)
MINIMUM = SolutionWords(
    "minimizer",
    "gradient",
    "matrix of second derivatives",
    "Where abs, maximum or where has a kink, solve for the kink with a root finder (brentq, root), or give the "
    "residuals to least_squares.",
)


class SolutionCheck(NamedTuple):
    """A check on plain numbers, which raises where the theorem does not hold.

    Args:
        name: the solver's function, for messages.
        kind: the words for messages.
        again: takes the solution, a step and operands; returns the equation's values behind the step.
    """

    name: str
    kind: SolutionWords
    again: Callable[..., np.ndarray]

    def __call__(self, x: Any, success: Any, matrix: Any, values: Any, *operands: Any) -> None:
        """Check a solution.

        Args:
            x: the solution, a real vector.
            success: whether the solver converged.
            matrix: the derivatives of the equation, one column for each unknown; a vector for a diagonal matrix.
            values: those of the equation at ``x``.
            operands: further arguments of ``again``.
        """
        if not x.size or not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(values))):
            # The derivative is NaN.
            return
        solve = _solver(matrix)
        if solve is None:
            raise self._error(f"its {self.kind.matrix} is singular there", self.kind.remedy)
        scale = 1 + np.abs(x)
        step = solve(values)
        length = _length(step, scale)
        if not success and not length <= _FAILED:
            remedy = "Give more iterations (maxiter), a nearer start or a looser tolerance."
            raise self._error(f"the solver did not converge (success is False), {_far(length)}", remedy)
        if not length <= _CONVERGED:
            largest = np.max(np.abs(values))
            what = f"the {self.kind.equation} does not vanish there: it is {largest:.2g}, {_far(length)}"
            raise self._error(what, self.kind.remedy)
        if length <= _noise(operands):
            return
        with np.errstate(all="ignore"):
            second = solve(self.again(x, step, *operands))
        if not _length(second, scale) <= length / 2:
            what = f"the {self.kind.equation} is not smooth there: a Newton step does not make it smaller"
            raise self._error(what, self.kind.remedy)

    def _error(self, what: str, remedy: str) -> ImplicitRuleError:
        return ImplicitRuleError(
            f"{self.name}: the derivative of the {self.kind.solution} was asked for, but {what}. The implicit function "
            f"theorem needs a converged solution, a smooth function and a regular {self.kind.matrix}. {remedy}"
        )


def _far(length: float) -> str:
    return f"and a Newton step moves the solution by {length:.2g} times its size"


def _length(step: np.ndarray, scale: np.ndarray) -> float:
    """Return the length of a step relative to the solution; multipliers behind the unknowns do not count."""
    return float(np.max(np.abs(step[: scale.size]) / scale))


def _noise(operands: Sequence[Any]) -> float:
    """Return the length below which rounding may decide a step."""
    eps = [np.finfo(x.dtype).eps for x in operands if x.dtype.kind in "fc"]
    return float(max([*eps, np.finfo(float).eps])) ** 0.5


def _solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function that solves with a matrix; ``None`` if the matrix is singular."""
    if matrix.ndim == 1:
        return None if not np.all(matrix) else lambda values: values / matrix
    rows = np.max(np.abs(matrix), 1)
    if not np.all(rows):
        return None
    columns = np.max(np.abs(matrix / rows[:, None]), 0)
    if not np.all(columns):
        return None
    even = matrix / rows[:, None] / columns
    try:
        inverse = np.linalg.inv(even)
    except np.linalg.LinAlgError:
        return None
    if not np.linalg.norm(even, 1) * np.linalg.norm(inverse, 1) < _SINGULAR:
        return None
    return lambda values: inverse @ (values / rows) / columns


class _MappedCheck(NamedTuple):
    """A check of each element of a batch; ``batched`` says which operands have an axis for it."""

    check: Callable[..., None]
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *known: Any) -> None:
        for i in range(self.size):
            self.check(*[x[i] if flag else x for x, flag in zip(known, self.batched, strict=True)])


def _run(asked: Any, *known: Any, check: Callable[..., None]) -> list[np.ndarray]:
    if np.any(asked):
        with untraced():
            check(*map(np.asarray, known))
    return [np.zeros((), np.float32)]


def _numpy(x_dot: Value, total: Value, *known: Value, check: Callable[..., None], backward: bool) -> list[Any]:
    if not backward:
        _run(*known, check=check)
    return [x_dot, np.zeros_like(total)[()]]


def _xla(lax: Lax, x_dot: Array, total: Array, *known: Array, check: Callable[..., None], backward: bool) -> list[Any]:
    if backward:
        return [x_dot, 0 * total]
    aval = Aval((), np.dtype(np.float32))
    (zero,) = lax.pure_callback(functools.partial(_run, check=check), (aval,), *known)
    zero = zero.astype(total.dtype)
    # The compiler cannot know this zero, so the check stays in programs whose derivative is 0.
    return [x_dot + (zero + zero * total).astype(x_dot.dtype), zero + 0 * total]


class _CheckedDerivative(LinearTogether):
    """The identity, unchecked; with ``backward`` its transpose checks if the cotangent is not 0."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        x_dot, total, _, *known = primals
        avals, backward = (aval_of(x_dot), aval_of(total)), params["backward"]

        def pull(y_bars: list, *kept: Any) -> list:
            x_bar, total_bar = instantiated(y_bars, avals)
            if backward:
                asked = reduce_sum(abs(x_bar), tuple(range(len(avals[0].shape))))
                x_bar, total_bar = primitive(x_bar, total_bar, asked, *kept, check=params["check"], backward=False)
            return [x_bar, total_bar if backward else None, *[None] * (1 + len(known))]

        return [x_dot, zeros_like(total)], pull, tuple(known) if backward else ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals, **params), [tangents[0], None]


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    # One element that asks is enough: the zeros of the others are the derivative anyway.
    check = _MappedCheck(params["check"], size, batched[3:]) if any(batched[3:]) else params["check"]
    return shared(primitive(*operands, check=check, backward=params["backward"]), batched[:2])


# Returns the tangent ``x_dot`` and 0. The numbers ``known`` are checked in forward mode or, with ``backward``, in the
# backward pass. The map from ``x_dot`` and ``total`` is its own transpose: ``x_dot`` counts once, ``total`` not at all.
checked_p = Primitive(
    "checked",
    operands=("x_dot", "total", "asked", "*known"),
    numpy=_numpy,
    xla=_xla,
    aval=lambda x_dot, total, *_, **__: [Aval(x_dot.shape, x_dot.dtype), Aval(total.shape, total.dtype)],
    derivative=_CheckedDerivative(),
    batch=_batch,
    cost=lambda y, *xs, **_: 0,
    multiple_results=True,
)


def checked_solution(
    solve: Callable[[Any], Any], values: Any, dots: Sequence[Any], check: SolutionCheck, *known: Any
) -> Any:
    """Return the tangent of a solution, which is checked before it is computed, in forward and in reverse mode.

    Args:
        solve: solves with the matrix, linear.
        values: the tangent of the equation.
        dots: the tangents that it depends on, perhaps with the factor 0; ``None`` for constants.
        check: the check.
        known: its arguments.
    """
    total: Any = 0.0
    for dot in dots:
        if dot is not None:
            part = reduce_sum(dot, tuple(range(len(aval_of(dot).shape))))
            total = total + cast(part.real if aval_of(dot).dtype.kind == "c" else part, np.dtype(float))
    constants = np.ones((), np.float32), *[stop_gradient_p(each) for each in known]
    values, _ = checked_p(values, total, *constants, check=check, backward=False)
    try:
        x_dot = solve(values)
    except np.linalg.LinAlgError:
        # Reverse mode solves here before it knows whether the derivative is used. The backward pass raises.
        x_dot = values * np.nan
    return checked_p(x_dot, total, *constants, check=check, backward=True)[0]
