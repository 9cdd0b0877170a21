"""Minima with constraints: solve the Karush-Kuhn-Tucker conditions as an equation.

At a minimum there are multipliers ``u`` with ``df/dx = u dc/dx`` for the active constraints ``c``: the equalities, and
the inequalities that are 0 with a positive multiplier. Active constraints stay active, so ``x`` and ``u`` move as the
root of these conditions does.

Source: Fiacco, *Introduction to Sensitivity and Stability Analysis in Nonlinear Programming* (1983), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._ops.program.regular import MINIMUM, SolutionCheck, checked_solution
from funcgrad._types import ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.linalg import solve
from funcgrad.scipy._closed import Closed, Flat, settled_array
from funcgrad.scipy._implicit import Find, Minimum, gradient_of, hessian_of, parts_jacobian_of
from funcgrad.scipy._tangents import all_directions, pushed
from funcgrad.scipy.optimize._roots import as_tuple, is_replaced

# A constraint is active if its value is at most this and its multiplier is greater than this.
_AT = 1e-3


def listed(constraints: Any) -> list[Any]:
    """Return constraints as a list; SciPy accepts a single one too."""
    return list(constraints) if isinstance(constraints, list | tuple) else [constraints]


def checked(name: str, constraints: Any) -> list[dict[str, Any]]:
    """Return constraints as dictionaries, equalities first, as SciPy's SLSQP has them."""
    rows = listed(constraints)
    for row in rows:
        if not isinstance(row, dict) or row.get("type") not in ("eq", "ineq"):
            raise UnsupportedFunctionError(
                f"{name}: a constraint is {row.get('type') if isinstance(row, dict) else type(row).__name__!r} with "
                "traced values; needed dictionaries of type 'eq' or 'ineq'. Write it as one, with its fun."
            )
    return sorted(rows, key=lambda row: row["type"] != "eq")


def held_by(rows: Sequence[dict[str, Any]]) -> Callable[..., list[Any]]:
    """Return the functions of constraints as two vectors: equalities and inequalities."""

    def values(x: ArrayLike) -> list[Any]:
        found: dict[str, list[Any]] = {"eq": [np.zeros(0)], "ineq": [np.zeros(0)]}
        for row in rows:
            y = settled_array(row["fun"](x, *as_tuple(row.get("args", ()))))
            found[row["type"]].append(fnp.reshape(fnp.astype(y, float), (-1,)))
        return [fnp.concatenate(each) for each in found.values()]

    return values


def arguments_of(constraints: Any) -> list[Any]:
    """Return the further arguments of constraints."""
    return [row.get("args", ()) for row in listed(constraints) if isinstance(row, dict)]


def part_of(evaluate: Flat, which: int) -> Flat:
    """Return one of several results."""
    return lambda *xs: [evaluate(*xs)[which]]


def constraints_of(solver: Minimum, whole: Closed, rest: Sequence[Any], rows: Sequence[dict[str, Any]]) -> list[dict]:
    """Return constraints on plain numbers, as SciPy expects them."""
    avals = (solver.x, *map(aval_of, rest))
    found = []
    for which, kind in ((1, "eq"), (2, "ineq")):
        mine = [row for row in rows if row["type"] == kind]
        if mine:
            f = whole.derived(part_of, avals, which)
            row = {"type": kind, "fun": solver.bound(f, rest)}
            if any(is_replaced(each.get("jac")) for each in mine):
                row["jac"] = solver.bound(f.derived(parts_jacobian_of, avals, solver.x), rest)
            found.append(row)
    return found


def _sides_of(evaluate: Flat, x: Aval) -> Flat:
    """Return the equalities, then all inequalities, the bounds among them."""
    del x

    def sides(x: ArrayLike, low: ArrayLike, high: ArrayLike, *rest: Any) -> list[Any]:
        _, equal, above = evaluate(x, *rest)
        return [fnp.concatenate([equal, above, _room(x, low, 1.0), _room(x, high, -1.0)])]

    return sides


def _room(x: ArrayLike, bound: ArrayLike, sign: float) -> Any:
    """Return the distance to a bound; 1 without a bound."""
    there = fnp.isfinite(bound)
    return fnp.where(there, sign * (x - fnp.where(there, bound, 0.0)), 1.0)


def _lagrangian_of(evaluate: Flat, x: Aval) -> Flat:
    sides = _sides_of(evaluate, x)

    def lagrangian(x: ArrayLike, u: ArrayLike, low: ArrayLike, high: ArrayLike, *rest: Any) -> list[Any]:
        return [evaluate(x, *rest)[0] - fnp.sum(u * sides(x, low, high, *rest)[0])]

    return lagrangian


class Constrained(Minimum):
    """A minimum with constraints; the second and third operands are bounds.

    Args:
        whole: a pair: the function that returns objective, equalities and inequalities; and the number of equalities.
    """

    follows = False

    def __init__(self, name: str, f: Closed, find: Find, x: Aval, rest: int, whole: tuple[Closed, int]) -> None:
        super().__init__(name, f, find, x, 3, rest)
        self._whole, self._equal = whole

    def moved(
        self, ys: Sequence[Any], given: Sequence[Any], held: Sequence[Any], rest: Sequence[Any], dots: Sequence[Any]
    ) -> Any:
        if all(dot is None for dot in (*dots, *held[1:3])):
            return None
        x = ys[0]
        evaluate, n = self._whole.evaluate, self.x.size
        others, moving = (*given[1:3], *rest), (*held[1:3], *dots)
        sides = _sides_of(evaluate, self.x)
        (c,), (rows,) = all_directions(sides, (x, *others), (np.eye(n), *[None] * len(others)), n)
        c_dot = pushed(sides, (x, *others), (None, *moving))[1][0]
        (g,) = gradient_of(part_of(evaluate, 0), self.x)(x, *rest)
        matrix = fnp.swapaxes(rows, 0, 1)
        must = np.arange(aval_of(c).size) < self._equal
        near = must | (c <= _AT)
        active = must | (near & (_multipliers(matrix, g, near) > fnp.maximum(c, 0.0)))
        u = _multipliers(matrix, g, active)
        lagrangian = _lagrangian_of(evaluate, self.x)
        slope = gradient_of(lagrangian, self.x)
        g_dot = pushed(slope, (x, u, *others), (None, None, *moving))[1][0]
        (h,) = hessian_of(lagrangian, self.x)(x, u, *others)
        flags = fnp.astype(active, float)
        holding = matrix * flags[:, None]
        top = fnp.concatenate([h, -fnp.swapaxes(holding, 0, 1)], 1)
        bottom = fnp.concatenate([holding, np.eye(aval_of(c).size) * (1 - flags)], 1)
        whole = fnp.concatenate([top, bottom], 0)
        values = fnp.concatenate([g - fnp.swapaxes(holding, 0, 1) @ u, flags * c])
        check, known = (
            SolutionCheck(self.name, MINIMUM, self._behind_both),
            (x, ys[1], whole, values, u, flags, *others),
        )
        y_dot = fnp.concatenate([-g_dot, -flags * c_dot])
        return checked_solution(lambda y: solve(whole, y), y_dot, moving, check, *known)[:n]

    def _behind_both(
        self, x: np.ndarray, step: np.ndarray, u: np.ndarray, flags: np.ndarray, *others: np.ndarray
    ) -> np.ndarray:
        n = self.x.size
        at, more = x - step[:n], u - step[n:]
        slope = gradient_of(_lagrangian_of(self._whole.evaluate, self.x), self.x)
        with untraced():
            (g,), (c,) = slope(at, more, *others), _sides_of(self._whole.evaluate, self.x)(at, *others)
        return np.concatenate([g, flags * c + (1 - flags) * more])


def _multipliers(matrix: ArrayLike, g: ArrayLike, flags: ArrayLike) -> Any:
    """Return the multipliers of the flagged rows that fit the gradient best; 0 for the other rows."""
    rows = matrix * fnp.astype(flags, float)[:, None]
    gram = rows @ fnp.swapaxes(rows, 0, 1) + fnp.diag(fnp.where(flags, 0.0, 1.0))
    try:
        return solve(gram, rows @ g)
    except np.linalg.LinAlgError:
        # The constraints depend on each other; so do the rows of the matrix that is checked.
        return g[:1] * np.zeros(aval_of(gram).shape[0])
