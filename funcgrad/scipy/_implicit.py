"""Roots and minima as functions of what determines them, by the implicit function theorem.

Of a root, ``f(x, p) = 0``, the derivative is ``x_dot = -(df/dx)^-1 (df/dp) p_dot``, from one linear solve at ``x``,
however ``x`` was found. A minimum is a root of the gradient ``g``. Where a bound holds a component of it, the component
moves as the bound does, and the others go where the gradient by them stays 0. What SciPy returns is the ``x`` of these
formulas: the derivative is as far from that of the true solution as the solution is.

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 15; for bounds Fiacco, *Introduction
to Sensitivity and Stability Analysis in Nonlinear Programming* (1983), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._ops.layout.fill import ones_like, zeros_like
from funcgrad.numpy.extend import known_value
from funcgrad.numpy.linalg import solve
from funcgrad.scipy._closed import Closed, Flat, Solver, solved
from funcgrad.scipy._tangents import all_directions, directions_of, moves, parts_of, pushed

# ``find(solver, given, rest)``: SciPy's solution for plain numbers, whether it is one, and what else SciPy says.
Find = Callable[[Any, Sequence[np.ndarray], Sequence[np.ndarray]], tuple[Any, Any, Any]]

# How far from a bound, relative to it, a component may be that is held there; and one that its slope drives beyond it.
_AT, _NEAR = 1e-9, 1e-2


class _Implicit(Solver):
    """What is found; its operands are those that are given to SciPy beside the function, and what the function reads.

    Args:
        name: SciPy's function.
        f: the function, of ``x`` and what it reads.
        find: asks SciPy.
        x: the type of the solution.
        given: how many operands there are that the function does not read (a guess, bounds).
        rest: how many it reads.
    """

    def __init__(self, name: str, f: Closed, find: Find, x: Aval, given: int, rest: int) -> None:
        super().__init__(name, given + rest)
        self.f = f
        self.x = x
        self.given = given
        self._find = find

    @property
    def avals(self) -> list[Aval]:
        # Whether it is a solution is a number: JAX has tangents of another type for what is none.
        return [self.x, Aval((), np.dtype(float))]

    def ask(self, xs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], Any]:
        """What is found for plain operands, and all that SciPy says."""
        x, success, result = self._find(self, xs[: self.given], xs[self.given :])
        found = np.asarray(x).astype(self.x.dtype).reshape(self.x.shape)
        return [found, np.asarray(float(np.all(success)))], result

    def solve(self, *xs: np.ndarray) -> list[np.ndarray]:
        return self.ask(xs)[0]

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        ys = solved(self, xs)
        given, rest = xs[: self.given], xs[self.given :]
        given_dots, rest_dots = x_dots[: self.given], x_dots[self.given :]
        dots = [x_dot if moves(x, x_dot) else None for x, x_dot in zip(rest, rest_dots, strict=True)]
        held = [x_dot if moves(x, x_dot) else None for x, x_dot in zip(given, given_dots, strict=True)]
        x_dot = self.moved(ys[0], given, held, rest, dots)
        return ys, [zeros_like(ys[0]) if x_dot is None else x_dot, zeros_like(ys[1])]

    def moved(self, x: Any, given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]) -> Any:
        """The tangent of the solution; ``None`` where it does not move."""
        raise NotImplementedError

    def bound(self, closed: Closed, rest: Sequence[np.ndarray]) -> Callable[[Any], Any]:
        """A function of ``x`` alone, of plain arrays."""
        program, dtype = closed.program(), self.x.dtype
        return lambda x: program(np.asarray(x, dtype)[()], *rest)[0]

    def made(self, make: Callable[..., Flat], rest: Sequence[Any]) -> Closed:
        """A function of the same arguments that is made of the function."""
        return self.f.derived(make, (self.x, *map(aval_of, rest)), self.x)


def answer(solver: _Implicit, operands: Sequence[Any]) -> tuple[Any, Any, Any]:
    """The solution, whether it is one, and all that SciPy says; ``None`` where the operands are not known yet."""
    known = [known_value(x) for x in operands]
    result = None
    if not any(x is None for x in known):
        numbers = [np.asarray(x) for x in known]
        with untraced():
            found, result = solver.ask(numbers)
        solver.remember(numbers, found)
    x, success = solved(solver, operands)
    return x, success > 0, result


class Root(_Implicit):
    """Where a function is 0 that returns as many numbers as it takes."""

    def moved(self, x: Any, given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]) -> Any:
        if all(dot is None for dot in dots):
            return None
        (f_dot,) = pushed(self.f.evaluate, (x, *rest), (None, *dots))[1]
        (jacobian,) = self.made(parts_jacobian_of, rest).at(x, *rest)
        parts = -solve(jacobian, parts_of(f_dot))
        if self.x.dtype.kind == "c":
            parts = parts[: self.x.size] + 1j * parts[self.x.size :]
        return fnp.reshape(parts, self.x.shape)


class RootOfEach(_Implicit):
    """The same where each number that is returned depends on one of those that are taken, the one at its place."""

    def moved(self, x: Any, given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]) -> Any:
        if all(dot is None for dot in dots):
            return None
        (f_dot,) = pushed(self.f.evaluate, (x, *rest), (None, *dots))[1]
        (slopes,) = self.made(slopes_of, rest).at(x, *rest)
        known = known_value(slopes)
        if known is not None and not np.all(known):
            raise np.linalg.LinAlgError(
                f"{self.name}: the function has no slope at a root, which therefore has no derivative. Look at where "
                "it only touches 0, or take the root from fg.stop_gradient(x)."
            )
        return -f_dot / slopes


class Minimum(_Implicit):
    """Where a function of a vector is least; with ``bounded`` the second and third operands are bounds."""

    bounded = False

    def moved(self, x: Any, given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]) -> Any:
        if all(dot is None for dot in (*dots, *held[1:3])):
            return None
        gradient, hessian = self.made(gradient_of, rest), self.made(hessian_of, rest)
        (h,) = hessian.at(x, *rest)
        g_dot = zeros_like(x)
        if any(dot is not None for dot in dots):
            (g_dot,) = pushed(gradient.evaluate, (x, *rest), (None, *dots))[1]
        if not self.bounded:
            return -solve(h, g_dot)
        (g,) = gradient.at(x, *rest)
        low, high = (_is_held(x, g, h, bound, sign) for bound, sign in zip(given[1:3], (1, -1), strict=True))
        free = fnp.astype(~(low | high), float)
        fixed = zeros_like(x)
        for flags, dot in zip((low, high), held[1:3], strict=True):
            if dot is not None:
                fixed = fixed + fnp.where(flags, dot, 0.0)
        # Held components have equations of their own, which say how they move; the others see them on the right.
        matrix = h * free[:, None] * free + np.eye(self.x.size) * (1 - free)
        return solve(matrix, fixed - free * (g_dot + h @ fixed))


def _is_held(x: Any, g: Any, h: Any, bound: Any, sign: int) -> Any:
    """Which components a bound holds: those on it that would go on, by their slope, and those that stop short of it.

    Methods that stay inside end close to it. There the least value along the component lies beyond the bound.
    """
    room, slope = sign * (x - bound), sign * g
    scale = fnp.maximum(1.0, fnp.abs(fnp.where(fnp.isfinite(bound), bound, 0.0)))
    curve = fnp.diagonal(h)
    at = room <= _AT * scale
    beyond = (curve > 0) & (room <= _NEAR * scale) & (slope > curve * fnp.where(fnp.isfinite(room), room, 0.0))
    return (slope > 0) & (at | beyond)


def parts_jacobian_of(evaluate: Flat, x: Aval) -> Flat:
    """The Jacobian by ``x``, of the real numbers on both sides."""
    (units,) = directions_of((x,), (True,), 0)
    assert units is not None

    def jacobian(x: Any, *rest: Any) -> list[Any]:
        _, (rows,) = all_directions(evaluate, (x, *rest), (units, *[None] * len(rest)), len(units))
        rows = fnp.reshape(rows, (len(units), -1))
        parts = fnp.concatenate([fnp.real(rows), fnp.imag(rows)], 1) if rows.dtype.kind == "c" else rows
        return [fnp.swapaxes(parts, 0, 1)]

    return jacobian


def slopes_of(evaluate: Flat, x: Aval) -> Flat:
    """The derivative of a function that takes each number by itself."""
    del x

    def slopes(x: Any, *rest: Any) -> list[Any]:
        return pushed(evaluate, (x, *rest), (ones_like(x), *[None] * len(rest)))[1]

    return slopes


def gradient_of(evaluate: Flat, x: Aval) -> Flat:
    """The gradient of a function that returns a number."""
    del x

    def gradient(x: Any, *rest: Any) -> list[Any]:
        reverse = ReverseTrace()
        with reverse:
            start = reverse.input(x)
            (y,) = evaluate(start, *rest)
        if not (type(y) is ReverseTracer and y.owner is reverse):
            return [zeros_like(x)]
        bar = backward_pass([(y.node, ones_like(y._value))]).get(start.node)
        return [zeros_like(x) if bar is None else bar]

    return gradient


def hessian_of(evaluate: Flat, x: Aval) -> Flat:
    """The second derivatives of a function that returns a number."""
    return parts_jacobian_of(gradient_of(evaluate, x), x)
