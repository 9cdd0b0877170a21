"""``minimize`` and ``minimize_scalar``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Arguments, ArrayLike
from funcgrad.numpy.extend import as_value
from funcgrad.scipy._closed import (
    Closed,
    ReadsTracedError,
    close,
    nothing_traced,
    plainly,
    refuse_traced,
    settled_array,
    traced_leaves,
)
from funcgrad.scipy._implicit import Minimum, answer, gradient_of, hessian_of
from funcgrad.scipy.optimize._constraints import (
    Constrained,
    arguments_of,
    checked,
    constraints_of,
    held_by,
    listed,
    part_of,
)
from funcgrad.scipy.optimize._result import solution
from funcgrad.scipy.optimize._roots import as_tuple, is_replaced, start_of

theirs = LazyModule("scipy.optimize")


class Bounded(Minimum):
    """A minimum within bounds."""

    bounded = True


def cost(name: str, *, first: bool = False) -> Callable[[Any], list[Any]]:
    """Return the result of a function as a number; the first of a pair with ``first``."""

    def settle(y: ArrayLike) -> list[Any]:
        y = settled_array(y[0] if first else y)
        if aval_of(y).size != 1 or y.dtype.kind == "c":
            raise TypeError(
                f"{name}: the function returned {aval_of(y)}; needed a real number. Reduce it with np.sum or np.mean."
            )
        return [fnp.reshape(fnp.astype(y, float), ())]

    return settle


def bounds_of(name: str, bounds: ArrayLike, n: int) -> tuple[Any, Any]:
    """Return bounds in any of SciPy's forms as two vectors."""
    if bounds is None:
        pair = -np.inf, np.inf
    elif hasattr(bounds, "lb"):
        pair = bounds.lb, bounds.ub
    else:
        rows = list(bounds)
        if len(rows) != n or any(len(row) != 2 for row in rows):
            raise ValueError(
                f"{name}: bounds has {len(rows)} entries for {n} unknowns; needed a pair (lowest, highest) for each. "
                "Write None where there is no bound."
            )
        pair = (
            [-np.inf if low is None else low for low, _ in rows],
            [np.inf if high is None else high for _, high in rows],
        )
    low, high = [fnp.broadcast_to(fnp.astype(fnp.asarray(as_value(side)), float), (n,)) for side in pair]
    return low, high


def minimize(  # noqa: PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: Arguments = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: ArrayLike = None,
    constraints: Any = (),
    tol: ArrayLike = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """``scipy.optimize.minimize``: where a function of a vector is least; the place is differentiable.

    SciPy finds the minimizer on plain numbers, with the gradient from ``jac``. Without ``jac`` it uses differences, and
    the minimizer has about seven digits. The derivatives of ``x`` and ``fun`` with respect to ``args`` and the closure
    of ``fun`` follow from the implicit function theorem, with exact second derivatives at the minimizer. A component
    held by a bound moves as the bound does; a component on a bound with slope 0 counts as free. The derivative with
    respect to ``x0`` is 0.

    A derivative that is used is checked, when the numbers are known: the solver converged, the gradient vanishes at
    ``x``, the function is smooth there, and its second derivatives are regular. A minimum at a kink, such as that of
    ``abs(residual(x))``, has no such derivative: find the root of the residual instead. Forward mode checks at once,
    reverse mode in the backward pass, so that results of failed searches may be thrown away.

    Args:
        fun: a function of a vector and ``args`` that returns a number, written with NumPy. It may branch on its
            argument: the derivative is that of the branch at the solution. Under `jit` and `vmap` the solution is not
            known; there a function that branches must get traced values in ``args``.
        x0: f64[n], the start of the search.
        args: further arguments, pytrees.
        method: one of SciPy's.
        jac: SciPy's; a function, True or "cs" is replaced by the exact gradient if a value is traced.
        hess: SciPy's; a function, or "cs", is replaced by the exact matrix if a value is traced.
        hessp: the same.
        bounds: SciPy's; differentiable.
        constraints: SciPy's dictionaries; with traced values no other kind. Those that hold the minimum go on holding
            it as it moves; one that does so with a multiplier of 0 counts as free.
        tol: the tolerance.
        callback: called after each iteration.
        options: SciPy's further options; they have no derivative.

    Returns:
        SciPy's result with ``x`` and ``fun``, and the other fields without derivative. Under `jit` and `vmap`
        ``success`` is traced, and there is no message.

    Raises:
        UnsupportedFunctionError: a constraint is no dictionary, and a value is traced.
        NotDifferentiableError: an option is traced; or ``fun`` branches on numbers and closes over traced ones, under
            `jit` or `vmap` or with constraints.
        ImplicitRuleError: a derivative is used that the theorem does not give (in programs on XLA, as JAX's error with
            this text).

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def least(a):
        ...     bowl = lambda x: (x[0] - a) ** 2 + (x[1] - a * x[0]) ** 2
        ...     return fg.scipy.optimize.minimize(bowl, np.zeros(2), jac=fg.grad(bowl), tol=1e-10).x
        >>> fg.jacrev(least)(3.0).round(6)
        array([1., 6.])

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 15; for bounds and
    constraints Fiacco (1983), section 3.2.
    """
    name = "scipy.optimize.minimize"

    def theirs_of(fun: Callable[..., Any]) -> Any:
        return theirs.minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)

    pair = () if bounds is None else (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if nothing_traced(x0, args, pair, arguments_of(constraints)):
        return theirs_of(fun)
    start = fnp.atleast_1d(start_of(x0))
    x = aval_of(start)
    known = _are_dictionaries(constraints)
    rows = checked(name, constraints) if known else []
    whole, rest, f = _closed(name, fun, x, as_tuple(args), rows, first=jac is True)
    if not rest and not traced_leaves((x0, pair)):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs_of(plainly(name, fun, f.why))
    refuse_traced(name, {"tol": tol, "options": options})
    if not known:
        checked(name, constraints)
    given = [start, *bounds_of(name, bounds, x.size)] if rows or bounds is not None else [start]

    def find(solver: Minimum, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        slopes = {"jac": jac, "hess": hess, "hessp": None}
        if jac is True or is_replaced(jac):
            slopes["jac"] = solver.bound(solver.made(gradient_of, rest), rest)
        if is_replaced(hess) or callable(hessp):
            slopes["hess"] = solver.bound(solver.made(hessian_of, rest), rest)
        sides = None if bounds is None else theirs.Bounds(*given[1:])
        more = {"bounds": sides, "tol": tol, "callback": callback, "options": options}
        if rows:
            more["constraints"] = constraints_of(solver, whole, rest, rows)
        found = theirs.minimize(solver.bound(f, rest), given[0], (), method, **slopes, **more)
        return found.x, found.success, found

    if rows:
        equal = aval_of(whole.evaluate(np.zeros(x.size), *rest)[1]).size
        solver = Constrained(name, f, find, x, len(rest), (whole, equal))
    else:
        solver = (Minimum if bounds is None else Bounded)(name, f, find, x, len(given), len(rest))
    return least(f, solver, (*given, *rest), rest)


def _are_dictionaries(constraints: Any) -> bool:
    return all(isinstance(each, dict) for each in listed(constraints))


def _closed(
    name: str, fun: Callable[..., Any], x: Aval, args: tuple, rows: Sequence[dict[str, Any]], *, first: bool
) -> tuple[Closed, list[Any], Closed]:
    """Return the function with its constraints, their operands, and the function without constraints."""
    settle, held = cost(name, first=first), held_by(rows)
    if not rows:
        f, rest = close(name, fun, (x,), args, settle)
        return f, rest, f
    whole, rest = close(name, lambda x, *args: [*settle(fun(x, *args)), *held(x)], (x,), args, list)
    return whole, rest, whole.derived(part_of, (x, *map(aval_of, rest)), 0)


def least(f: Closed, solver: Minimum, operands: Sequence[Any], rest: Sequence[Any]) -> Any:
    """Return the minimizer and the minimum."""
    x, success, result = answer(solver, operands)
    return solution(result, x=x, fun=f.evaluate(x, *rest)[0], success=success if result is None else None)


def minimize_scalar(  # noqa: PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    bracket: ArrayLike = None,
    bounds: ArrayLike = None,
    args: Arguments = (),
    method: Any = None,
    tol: ArrayLike = None,
    options: Any = None,
) -> Any:
    """``scipy.optimize.minimize_scalar``: where a function of a number is least; differentiable as `minimize` is.

    Args:
        fun: a function of a number and ``args`` that returns a number, written with NumPy.
        bracket: two or three numbers around the minimum; the minimum does not depend on them.
        bounds: the lowest and the highest number; differentiable where one of them holds the minimum.
        args: further arguments, pytrees.
        method: one of SciPy's.
        tol: the tolerance.
        options: SciPy's further options.

    Returns:
        SciPy's result with ``x`` and ``fun``.

    Raises:
        ImplicitRuleError: a derivative is used that the theorem does not give, as in `minimize`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> least = lambda a: fg.scipy.optimize.minimize_scalar(lambda x: np.cosh(x - a**2), tol=1e-10).x
        >>> print(round(float(fg.grad(least)(1.5)), 6))
        3.0
    """
    name = "scipy.optimize.minimize_scalar"
    plain = {"method": method, "tol": tol, "options": options}
    if nothing_traced(bracket, bounds, args):
        return theirs.minimize_scalar(fun, bracket, bounds, args, **plain)
    x = Aval((1,), np.dtype(float))
    f, rest = close(name, lambda x, *args: fun(x[0], *args), (x,), as_tuple(args), cost(name))
    if not rest and not traced_leaves((bracket, bounds)):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs.minimize_scalar(plainly(name, fun, f.why), bracket, bounds, args, **plain)
    refuse_traced(name, plain)
    points = [] if bracket is None else [fnp.astype(fnp.asarray(as_value(each)), float) for each in bracket]
    sides = [] if bounds is None else [fnp.reshape(fnp.astype(fnp.asarray(as_value(b)), float), (1,)) for b in bounds]
    given = [np.zeros(1), *sides, *points]

    def find(solver: Minimum, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        value, count = solver.bound(f, rest), len(sides)
        around = tuple([float(each) for each in given[1 + count :]]) or None
        within = tuple([float(each[0]) for each in given[1 : 1 + count]]) or None
        found = theirs.minimize_scalar(lambda x: value([x]), around, within, **plain)
        return found.x, found.success, found

    solver = (Bounded if sides else Minimum)(name, f, find, x, len(given), len(rest))
    result = least(f, solver, (*given, *rest), rest)
    result.x = result.x[0]
    return result
