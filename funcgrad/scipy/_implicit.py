"""Differentiate roots and minima with the implicit function theorem.

A root of ``f(x, p) = 0`` has the derivative ``x_dot = -(df/dx)^-1 (df/dp) p_dot``, one linear solve at ``x``, for any
method that found ``x``. A minimum is a root of the gradient ``g``. A component held by a bound moves as the bound does,
and the gradient with respect to the other components stays 0. The formulas use the ``x`` that SciPy returns: the error
of the derivative is of the size of the error of ``x``. What the theorem assumes is checked at ``x``.

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 15; for bounds Fiacco, *Introduction
to Sensitivity and Stability Analysis in Nonlinear Programming* (1983), section 3.2.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._ops.layout.fill import ones_like, zeros_like
from funcgrad._ops.program.regular import MINIMUM, ROOT, SolutionCheck, checked_solution
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import known_value
from funcgrad.numpy.linalg import solve
from funcgrad.scipy._closed import Closed, Flat, Solver, on_path, refuse_closure, solved, traced_leaves
from funcgrad.scipy._tangents import all_directions, directions_of, moves, parts_of, pushed

# ``find(solver, given, rest)`` returns SciPy's solution for plain numbers, whether it converged, and SciPy's other
# results.
Find = Callable[[Any, Sequence[np.ndarray], Sequence[np.ndarray]], tuple[Any, Any, Any]]

# A component is held if it is closer to a bound than this, relative to the bound, and its slope points beyond the
# bound.
_AT, _NEAR = 1e-9, 1e-2


class _Implicit(Solver):
    """A solver whose operands are SciPy's further arguments, then the values that the function reads.

    Args:
        name: SciPy's function.
        f: the function, of ``x`` and the operands it reads.
        find: calls SciPy.
        x: the type of the solution.
        given: the number of operands that the function does not read (a guess, bounds).
        rest: the number of operands that it reads.
    """

    # Whether the derivative needs the function alone, so that it can be taken on the path of the solution.
    follows = True

    def __init__(self, name: str, f: Closed, find: Find, x: Aval, given: int, rest: int) -> None:
        super().__init__(name, given + rest)
        self.f = f
        self.x = x
        self.given = given
        # Whether the function branches on its numbers and gave values that an outer transform traces.
        self.reads_traced = False
        self._find = find

    @property
    def avals(self) -> list[Aval]:
        # Whether it converged is stored as a float: JAX gives booleans tangents of another type.
        return [self.x, Aval((), np.dtype(float))]

    def ask(self, xs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], Any]:
        """Return the solution for plain operands, and SciPy's whole result."""
        x, success, result = self._find(self, xs[: self.given], xs[self.given :])
        found = np.asarray(x).astype(self.x.dtype).reshape(self.x.shape)
        return [found, np.asarray(float(np.all(success)))], result

    def solve(self, *xs: np.ndarray) -> list[np.ndarray]:
        found = self.ask(xs)[0]
        if self.reads_traced:
            refuse_closure(self.name, self.f.why)
        return found

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        ys = solved(self, xs)
        given, rest = xs[: self.given], xs[self.given :]
        given_dots, rest_dots = x_dots[: self.given], x_dots[self.given :]
        dots = [x_dot if moves(x, x_dot) else None for x, x_dot in zip(rest, rest_dots, strict=True)]
        held = [x_dot if moves(x, x_dot) else None for x, x_dot in zip(given, given_dots, strict=True)]
        x_dot = self.moved(ys, given, held, rest, dots)
        return ys, [zeros_like(ys[0]) if x_dot is None else x_dot, zeros_like(ys[1])]

    def moved(
        self, ys: Sequence[Any], given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]
    ) -> Any:
        """Return the tangent of the solution ``ys[0]``; ``None`` if it is zero."""
        raise NotImplementedError

    def bound(self, closed: Closed, rest: Sequence[np.ndarray]) -> Callable[[Any], Any]:
        """Return the function of ``x`` alone, on plain arrays."""
        program, dtype = (
            self._on_numbers(closed) if self.follows and closed.graph is None else closed.program(),
            self.x.dtype,
        )
        return lambda x: program(np.asarray(x, dtype)[()], *rest)[0]

    def _on_numbers(self, closed: Closed) -> Flat:
        """Return a function that branches, on plain numbers; `answer` finds what the results depend on."""

        def run(*xs: ArrayLike) -> list[Any]:
            with untraced():
                ys = closed.evaluate(*xs)
            self.reads_traced = self.reads_traced or bool(traced_leaves(ys))
            numbers = [known_value(y) for y in ys]
            return refuse_closure(self.name, closed.why) if any(y is None for y in numbers) else numbers

        return run

    def on_path(self, x: np.ndarray, rest: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
        """Return the solver of the function's path at the solution, and the values that the function closes over."""
        solver = copy.copy(self)
        solver.f, hidden = on_path(self.f, x, *rest)
        solver.arity += len(hidden)
        solver.reads_traced = False
        return solver, hidden

    def made(self, make: Callable[..., Flat], rest: Sequence[Any]) -> Closed:
        """Return a function of the same arguments that is derived from this one."""
        return self.f.derived(make, (self.x, *map(aval_of, rest)), self.x)


def answer(solver: _Implicit, operands: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return the solution, whether it converged, and SciPy's result (``None`` while operands are unknown)."""
    known = [known_value(x) for x in operands]
    result = None
    if not any(x is None for x in known):
        numbers = [np.asarray(x) for x in known]
        with untraced():
            found, result = solver.ask(numbers)
        if solver.reads_traced:
            solver, hidden = solver.on_path(found[0], numbers[solver.given :])
            operands = [*operands, *hidden]
            numbers += [np.asarray(known_value(x)) for x in hidden]
        solver.remember(numbers, found)
    x, success = solved(solver, operands)
    return x, success > 0, result


class Root(_Implicit):
    """A root of a function from n numbers to n numbers."""

    def moved(
        self, ys: Sequence[Any], given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]
    ) -> Any:
        if all(dot is None for dot in dots):
            return None
        (f,), (f_dot,) = pushed(self.f.evaluate, (ys[0], *rest), (None, *dots))
        matrix = self._matrix(ys[0], rest)
        check, known = (
            SolutionCheck(self.name, ROOT, self._behind),
            (parts_of(ys[0]), ys[1], matrix, parts_of(f), *rest),
        )
        x_dot = checked_solution(lambda y: self._solve(matrix, y), -parts_of(f_dot), dots, check, *known)
        return fnp.reshape(self._whole(x_dot), self.x.shape)

    def _matrix(self, x: ArrayLike, rest: Sequence[Any]) -> Any:
        return self.made(parts_jacobian_of, rest).at(x, *rest)[0]

    def _solve(self, matrix: Array, parts: Array) -> Array:
        return solve(matrix, parts)

    def _whole(self, parts: ArrayLike) -> Any:
        return parts[: self.x.size] + 1j * parts[self.x.size :] if self.x.dtype.kind == "c" else parts

    def _behind(self, x: np.ndarray, step: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        return np.asarray(parts_of(self.bound(self.f, rest)(np.reshape(self._whole(x - step), self.x.shape))))


class RootOfEach(Root):
    """A root of an elementwise function."""

    def _matrix(self, x: ArrayLike, rest: Sequence[Any]) -> Any:
        return fnp.reshape(self.made(slopes_of, rest).at(x, *rest)[0], (-1,))

    def _solve(self, matrix: Array, parts: Array) -> Array:
        # A slope of 0 is named where the derivative is used.
        return parts / fnp.where(matrix == 0, np.nan, matrix)


class Minimum(_Implicit):
    """A minimum of a function of a vector; with ``bounded`` the second and third operands are bounds."""

    bounded = False

    def moved(
        self, ys: Sequence[Any], given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]
    ) -> Any:
        if all(dot is None for dot in (*dots, *held[1:3])):
            return None
        x = ys[0]
        gradient, hessian = self.made(gradient_of, rest), self.made(hessian_of, rest)
        (h,) = hessian.at(x, *rest)
        (g,) = gradient.at(x, *rest)
        g_dot = zeros_like(x)
        if any(dot is not None for dot in dots):
            (g_dot,) = pushed(gradient.evaluate, (x, *rest), (None, *dots))[1]
        free, fixed = ones_like(x), zeros_like(x)
        if self.bounded:
            flags = [_is_held(x, g, h, bound, sign) for bound, sign in zip(given[1:3], (1, -1), strict=True)]
            free = fnp.astype(~(flags[0] | flags[1]), float)
            for flag, dot in zip(flags, held[1:3], strict=True):
                if dot is not None:
                    fixed = fixed + fnp.where(flag, dot, 0.0)
        # Held components have their own equations for their motion; the other equations have them on the right side.
        matrix = h * free[:, None] * free + np.eye(self.x.size) * (1 - free)
        sides = given[1:3] if self.bounded else (zeros_like(x) - np.inf, zeros_like(x) + np.inf)
        values = fixed - free * (g_dot + h @ fixed)
        check, known = (
            SolutionCheck(self.name, MINIMUM, self._behind),
            (x, ys[1], matrix, free * g, free, *sides, *rest),
        )
        return checked_solution(lambda y: solve(matrix, y), values, (*dots, *held[1:3]), check, *known)

    def _behind(
        self, x: np.ndarray, step: np.ndarray, free: np.ndarray, low: np.ndarray, high: np.ndarray, *rest: np.ndarray
    ) -> np.ndarray:
        at = np.clip(x - step, low, high)
        # A component that a step moves to its bound has no equation there.
        return np.where(at == x - step, free, 0.0) * self.bound(self.made(gradient_of, rest), rest)(at)


def _is_held(x: ArrayLike, g: ArrayLike, h: ArrayLike, bound: ArrayLike, sign: int) -> Any:
    """Return which components a bound holds: those on it with a slope beyond it, and those that stop close to it.

    Methods that stay inside the bounds end close to them. Then the minimum along the component lies beyond the bound.
    """
    room, slope = sign * (x - bound), sign * g
    scale = fnp.maximum(1.0, fnp.abs(fnp.where(fnp.isfinite(bound), bound, 0.0)))
    curve = fnp.diagonal(h)
    at = room <= _AT * scale
    beyond = (curve > 0) & (room <= _NEAR * scale) & (slope > curve * fnp.where(fnp.isfinite(room), room, 0.0))
    return (slope > 0) & (at | beyond)


def parts_jacobian_of(evaluate: Flat, x: Aval) -> Flat:
    """Return the Jacobian with respect to ``x``, with complex numbers as pairs of real ones."""
    (units,) = directions_of((x,), (True,), 0)
    assert units is not None

    def jacobian(x: ArrayLike, *rest: Any) -> list[Any]:
        _, (rows,) = all_directions(evaluate, (x, *rest), (units, *[None] * len(rest)), len(units))
        rows = fnp.reshape(rows, (len(units), -1))
        parts = fnp.concatenate([fnp.real(rows), fnp.imag(rows)], 1) if rows.dtype.kind == "c" else rows
        return [fnp.swapaxes(parts, 0, 1)]

    return jacobian


def slopes_of(evaluate: Flat, x: Aval) -> Flat:
    """Return the derivative of an elementwise function."""
    del x

    def slopes(x: ArrayLike, *rest: Any) -> list[Any]:
        return pushed(evaluate, (x, *rest), (ones_like(x), *[None] * len(rest)))[1]

    return slopes


def gradient_of(evaluate: Flat, x: Aval) -> Flat:
    """Return the gradient of a function with one number as result."""
    del x

    def gradient(x: ArrayLike, *rest: Any) -> list[Any]:
        reverse = ReverseTrace()
        with reverse:
            start = reverse.input(x)
            (y,) = evaluate(start, *rest)
        if not (type(y) is ReverseTracer and y._owner is reverse):
            return [zeros_like(x)]
        bar = backward_pass([(y._node, ones_like(y._value))]).get(start._node)
        return [zeros_like(x) if bar is None else bar]

    return gradient


def hessian_of(evaluate: Flat, x: Aval) -> Flat:
    """Return the second derivatives of a function with one number as result."""
    return parts_jacobian_of(gradient_of(evaluate, x), x)
