"""Solutions of ordinary differential equations as functions of all operands.

With ``y' = f(t, y, p)`` and ``y(t0) = y0``, the derivatives of ``y(t)`` by ``y0``, ``p`` and ``t0`` (the sensitivities
``s``) obey a linear equation of their own::

    s' = (df/dy) s + df/dp        s(t0) = dy0/dp, or the unit vectors by y0, or -f(t0, y0) by t0

SciPy solves it together with ``y``, for all directions, with the same method and tolerances. The derivative with
respect to the time of a result is ``f`` there. The equation of ``y`` and ``s`` is itself such an equation; its
sensitivities are second derivatives, and so on.

Source: Hairer, Nørsett and Wanner, *Solving Ordinary Differential Equations I*, 2nd edition (1993), section I.14.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.graph.same import same_value
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.batch import mapped
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.scipy._closed import Closed, Flat, Solver, close, settled_array, solved
from funcgrad.scipy._tangents import all_directions, all_rows, count_of, directions_of, moves, parts_of

TIME = Aval((), np.dtype(float))
# Above this ratio of directions to unknowns, the directions are not processed all at once.
_MANY = 4


class Plain(NamedTuple):
    """An equation in plain numbers: its right side, the first and last time, the times, the value and the operands."""

    f: Callable[[Any, np.ndarray], np.ndarray]
    span: tuple[float, float]
    times: np.ndarray | None
    y0: np.ndarray
    rest: Sequence[np.ndarray]


class Described:
    """Equals another object of its class with the same fields."""

    __hash__: Any = None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and same_value(vars(self), vars(other))


class Method(Protocol):
    """A solver of equations on plain arrays."""

    name: str

    def solve(self, equation: Plain) -> np.ndarray:
        """Return the solution: [times, unknowns]."""
        ...

    def widened(self, block: Closed, n: int, copies: int) -> Method:
        """Return the solver for this equation and several copies of it with the same block of the Jacobian."""
        ...


def closed_slope(
    name: str, fun: Callable[..., Any], y: Aval, args: tuple, *, vectorized: bool = False, tfirst: bool = True
) -> tuple[Closed, list[Any]]:
    """Return the right side of an equation, with its operands."""

    def settle(slope: ArrayLike) -> list[Any]:
        slope = settled_array(slope)
        if slope.dtype.kind == "c" and y.dtype.kind != "c":
            raise TypeError(
                f"{name}: fun returned {aval_of(slope)} for a real y {y}; needed a real slope, or a complex value to "
                "begin with. Pass y0 as complex numbers."
            )
        flat = fnp.reshape(slope, (-1,)) if vectorized or slope.shape == () else slope
        if aval_of(flat).size not in (1, y.size) or len(flat.shape) > 1:
            raise ValueError(
                f"{name}: fun returned {aval_of(slope)} for a y {y}; needed as many numbers as y has. Return them in "
                "one row."
            )
        return [fnp.broadcast_to(fnp.astype(flat, y.dtype), y.shape)]

    def plainly(t: ArrayLike, y: ArrayLike, *args: Any) -> Array:
        y = y[:, None] if vectorized else y
        return fun(t, y, *args) if tfirst else fun(y, t, *args)

    return close(name, plainly, (TIME, y), args, settle)


class Flow(Solver):
    """The solution at given times; its operands are t0, the end, the times, y0 and the values that ``f`` reads.

    Args:
        f: the right side, of ``t`` and ``y`` and the operands.
        method: the solver.
        y0: the type of the initial value.
        times: the number of times.
        rest: the number of operands of ``f``.
    """

    def __init__(self, f: Closed, method: Method, y0: Aval, times: int, rest: int) -> None:
        super().__init__(method.name, 4 + rest)
        self.f = f
        self.method = method
        self.y0 = y0
        self.times = times

    @property
    def avals(self) -> list[Aval]:
        return [Aval((self.times, *self.y0.shape), self.y0.dtype)]

    def solve(self, *xs: np.ndarray) -> list[np.ndarray]:
        return [self.method.solve(self.plain(xs))]

    def plain(self, xs: Sequence[np.ndarray]) -> Plain:
        """Return the equation in these plain numbers."""
        t0, end, times, y0, *rest = xs
        program = self.f.program()
        return Plain(lambda t, y: program(t, y, *rest)[0], (float(t0), float(end)), times, y0, rest)

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        ys = solved(self, xs)
        (y,) = ys
        t0, _, times, y0, *rest = xs
        t0_dot, _, times_dot, y0_dot, *rest_dots = x_dots
        y_dot = None
        sources = [(t0, t0_dot), (y0, y0_dot), *zip(rest, rest_dots, strict=True)]
        moving = tuple([moves(x, x_dot) for x, x_dot in sources])
        if any(moving):
            rows = fnp.concatenate(
                [parts_of(x_dot) for (_, x_dot), moved in zip(sources, moving, strict=True) if moved]
            )
            y_dot = fnp.tensordot(rows, self._sensitivities(xs, moving), 1)
        if moves(times, times_dot):
            along = times_dot[:, None] * self._slopes(times, y, rest)
            y_dot = along if y_dot is None else y_dot + along
        return ys, [zeros_like(y) if y_dot is None else y_dot]

    def _slopes(self, times: ArrayLike, y: ArrayLike, rest: Sequence[Any]) -> Array:
        (slopes,), (flag,) = mapped(lambda t, y: self.f.evaluate(t, y, *rest), self.times, [times, y], (True, True))
        return with_batch(slopes, self.times, flag)

    def _sensitivities(self, xs: Sequence[Any], moving: tuple[bool, ...]) -> Array:
        """Return the derivatives with respect to each active real and imaginary part: [directions, times, unknowns]."""
        t0, _, times, y0, *rest = xs
        n, dtype = self.y0.size, self.y0.dtype
        avals = tuple([aval_of(x) for x in rest])
        starts = []
        if moving[0]:
            starts.append(-self.f.evaluate(t0, y0, *rest)[0][None])
        if moving[1]:
            starts.append(np.eye(n, dtype=dtype))
        if moving[1] and dtype.kind == "c":
            starts.append(1j * np.eye(n, dtype=dtype))
        before = sum(len(start) for start in starts)
        behind = sum(count_of(aval) for aval, moved in zip(avals, moving[2:], strict=True) if moved)
        starts.append(np.zeros((behind, n), dtype))
        count = before + behind
        whole = fnp.concatenate([y0, fnp.reshape(fnp.concatenate(starts), (count * n,))])
        y_aval = Aval((n * (1 + count),), dtype)
        f = self.f.derived(_with_sensitivities, (TIME, y_aval, *avals), n, before, avals, moving[2:])
        block = self.f.derived(jacobian_of, (TIME, self.y0, *avals), n, dtype)
        method = self.method.widened(block, n, count)
        flow = Flow(f, method, y_aval, self.times, len(rest))
        (found,) = solved(flow, (t0, times[-1], times, whole, *rest))
        return fnp.moveaxis(fnp.reshape(found[:, n:], (self.times, count, n)), 1, 0)


def _with_sensitivities(evaluate: Flat, n: int, before: int, avals: tuple[Aval, ...], moving: tuple[bool, ...]) -> Flat:
    """Return the right side for ``y`` and its sensitivities, in one vector.

    With many more directions than unknowns, reverse mode computes the Jacobian: all directions at once would take
    memory that grows with their square.
    """
    behind = sum(aval.size for aval, moved in zip(avals, moving, strict=True) if moved)
    if behind > _MANY * n and not any(aval.dtype.kind == "c" for aval in avals):
        return _by_rows(evaluate, n, before, moving)
    directions = directions_of(avals, moving, before)

    def wide(t: ArrayLike, whole: ArrayLike, *rest: Any) -> list[Any]:
        y, s = whole[:n], fnp.reshape(whole[n:], (-1, n))
        count = aval_of(s).shape[0]
        (y_dot,), (s_dot,) = all_directions(evaluate, (t, y, *rest), (None, s, *directions), count)
        return [fnp.concatenate([y_dot, fnp.reshape(s_dot, (count * n,))])]

    return wide


def _by_rows(evaluate: Flat, n: int, before: int, moving: tuple[bool, ...]) -> Flat:
    def wide(t: ArrayLike, whole: ArrayLike, *rest: Any) -> list[Any]:
        y, s = whole[:n], fnp.reshape(whole[n:], (-1, n))
        y_dot, (by_y, *by_rest) = all_rows(evaluate, (t, y, *rest), (False, True, *moving))
        parts = [np.zeros((before, n)), *[fnp.swapaxes(fnp.reshape(rows, (n, -1)), 0, 1) for rows in by_rest]]
        s_dot = s @ fnp.swapaxes(by_y, 0, 1) + fnp.concatenate(parts, 0)
        return [fnp.concatenate([y_dot, fnp.reshape(s_dot, (-1,))])]

    return wide


def jacobian_of(evaluate: Flat, n: int, dtype: DTypeLike) -> Flat:
    """Return the Jacobian of the right side with respect to ``y``, as a function of the same arguments."""

    def jacobian(t: ArrayLike, y: ArrayLike, *rest: Any) -> list[Any]:
        _, (columns,) = all_directions(evaluate, (t, y, *rest), (None, np.eye(n, dtype=dtype), *[None] * len(rest)), n)
        return [fnp.swapaxes(columns, 0, 1)]

    return jacobian
