"""``least_squares`` and ``curve_fit``."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Arguments, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value
from funcgrad.numpy.linalg import cholesky, inv
from funcgrad.scipy._closed import (
    Closed,
    Flat,
    ReadsTracedError,
    close,
    nothing_traced,
    plainly,
    refuse_traced,
    settled_array,
    traced_leaves,
)
from funcgrad.scipy._implicit import answer, parts_jacobian_of
from funcgrad.scipy.linalg import solve_triangular
from funcgrad.scipy.optimize._minimize import Bounded
from funcgrad.scipy.optimize._result import solution
from funcgrad.scipy.optimize._roots import is_replaced, start_of

theirs = LazyModule("scipy.optimize")


def _huber(z: ArrayLike) -> Any:
    # Both branches must be finite, also where they are not selected, so that derivatives have no NaN.
    return fnp.where(z <= 1, z, 2 * fnp.sqrt(fnp.where(z <= 1, 1.0, z)) - 1)


# The losses of a squared residual; Triggs et al., *Bundle Adjustment - A Modern Synthesis* (1999), as in SciPy.
_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (fnp.sqrt(1 + z) - 1),
    "huber": _huber,
    "cauchy": fnp.log1p,
    "arctan": fnp.arctan,
}


def _cost_of(evaluate: Flat, loss: str, scale: float) -> Flat:
    """Return half the sum of the losses."""

    def cost(*xs: ArrayLike) -> list[Any]:
        (r,) = evaluate(*xs)
        if loss == "linear":
            return [0.5 * fnp.sum(r * r)]
        return [0.5 * scale**2 * fnp.sum(_LOSSES[loss]((r / scale) ** 2))]

    return cost


def _row(name: str) -> Callable[[Any], list[Any]]:
    def settle(y: ArrayLike) -> list[Any]:
        y = settled_array(y)
        if y.dtype.kind == "c":
            raise TypeError(
                f"{name}: the function returned {aval_of(y)}; needed real numbers. Return the real and imaginary "
                "parts in one array."
            )
        return [fnp.atleast_1d(fnp.astype(y, float))]

    return settle


def _sides(bounds: ArrayLike) -> tuple[Any, Any]:
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    return low, high


def _broad(side: ArrayLike, n: int) -> Any:
    return fnp.broadcast_to(fnp.astype(fnp.asarray(as_value(side)), float), (n,))


def least_squares(  # noqa: PLR0913, PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    x0: ArrayLike,
    jac: Any = "2-point",
    bounds: ArrayLike = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: ArrayLike = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    diff_step: ArrayLike = None,
    tr_solver: str | None = None,
    tr_options: Any = None,
    jac_sparsity: ArrayLike = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: Arguments = (),
    kwargs: Any = None,
    **options: Any,
) -> Any:
    """``scipy.optimize.least_squares``: where a sum of squares is least; the place is differentiable.

    As for `minimize`, SciPy finds the minimizer on plain numbers. Its derivative follows from the implicit function
    theorem with all second derivatives, not only the Gauss-Newton part. A component held by a bound moves as the bound
    does. A derivative that is used is checked as that of `minimize`.

    Args:
        fun: takes a vector, ``args`` and ``kwargs``, and returns the residuals.
        x0: f64[n], the start of the search; the solution does not depend on it.
        jac: SciPy's; a function, or "cs", is replaced by the exact Jacobian if a value is traced.
        bounds: the lowest and the highest values, or SciPy's ``Bounds``; differentiable.
        method: one of SciPy's.
        ftol: the tolerance of the sum.
        xtol: the tolerance of the unknowns.
        gtol: the tolerance of the gradient.
        x_scale: how large the unknowns are.
        loss: one of SciPy's names of losses; a function is not supported with traced values.
        f_scale: between small residuals and large ones.
        diff_step: the step of differences.
        tr_solver: how SciPy solves in its regions.
        tr_options: options of that.
        jac_sparsity: where the Jacobian is not 0.
        max_nfev: the largest number of function calls.
        verbose: the amount of output that SciPy prints.
        args: further arguments, pytrees.
        kwargs: further named arguments, pytrees.
        options: further options of the installed SciPy.

    Returns:
        SciPy's result with ``x``, ``cost`` and ``fun``; and the other fields without derivative.

    Raises:
        UnsupportedFunctionError: ``loss`` is a function, and something is traced.
        NotDifferentiableError: an option is traced; or ``fun`` branches on numbers and closes over traced ones, under
            `jit` or `vmap`.
        ImplicitRuleError: a derivative is used that the theorem does not give, as in `minimize`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> t = np.arange(5.0)
        >>> def rate(counts):
        ...     return fg.scipy.optimize.least_squares(lambda k: np.exp(-k[0] * t) - counts, 0.5).x[0]
        >>> fg.grad(rate)(np.exp(-0.3 * t)).round(3) + 0.0
        array([ 0.   , -0.158, -0.234, -0.26 , -0.257])

    Source: as for `minimize`.
    """
    name = "scipy.optimize.least_squares"
    options |= {"ftol": ftol, "xtol": xtol, "gtol": gtol, "diff_step": diff_step, "tr_solver": tr_solver}
    options |= {"tr_options": tr_options, "jac_sparsity": jac_sparsity, "max_nfev": max_nfev, "verbose": verbose}
    if x_scale is not None:
        # The defaults differ between releases of SciPy, so unset options are not passed.
        options["x_scale"] = x_scale
    given = {"loss": loss, "f_scale": f_scale, "args": args, "kwargs": kwargs, **options}
    sides = _sides(bounds)
    if nothing_traced(x0, sides, args, kwargs):
        return theirs.least_squares(fun, x0, jac, bounds, method, **given)
    start = fnp.atleast_1d(start_of(x0))
    x = aval_of(start)
    named = {} if kwargs is None else kwargs
    r, rest = close(name, lambda x, args, named: fun(x, *args, **named), (x,), (tuple(args), named), _row(name))
    if not rest and not traced_leaves((x0, sides)):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs.least_squares(plainly(name, _with(fun, given), r.why), x0, jac, bounds, method, **given)
    refuse_traced(name, {"f_scale": f_scale, **options})
    if loss not in _LOSSES:
        raise UnsupportedFunctionError(
            f"{name}: loss is {loss!r} with traced values; needed one of {', '.join(_LOSSES)}. Write another one with "
            "fg.scipy.optimize.minimize."
        )
    operands = [start, *[_broad(side, x.size) for side in sides]]

    def find(solver: Bounded, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        slope = jac
        if is_replaced(jac):
            slope = solver.bound(r.derived(parts_jacobian_of, (x, *map(aval_of, rest)), x), rest)
        more = {"loss": loss, "f_scale": f_scale, **options}
        found = theirs.least_squares(solver.bound(r, rest), given[0], slope, tuple(given[1:3]), method, **more)
        return found.x, found.success, found

    cost = r.derived(_cost_of, (x, *map(aval_of, rest)), loss, float(f_scale))
    solver = Bounded(name, cost, find, x, 3, len(rest))
    found, success, result = answer(solver, (*operands, *rest))
    fields = {"cost": cost.evaluate(found, *rest)[0], "fun": r.evaluate(found, *rest)[0]}
    return solution(result, x=found, success=success if result is None else None, **fields)


def _with(fun: Callable[..., Any], given: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of positional arguments only, with SciPy's named arguments bound."""
    named = given.pop("kwargs", None) or {}
    return lambda *xs: fun(*xs, **named)


def curve_fit(  # noqa: PLR0917  (SciPy's arguments)
    f: Callable[..., Any],
    xdata: ArrayLike,
    ydata: ArrayLike,
    p0: ArrayLike = None,
    sigma: ArrayLike = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: ArrayLike = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """``scipy.optimize.curve_fit``: parameters of a model fitted to data; differentiable as `least_squares` is.

    Args:
        f: the model: takes ``xdata`` and the parameters, and returns as many numbers as ``ydata`` has.
        xdata: where the data were taken; differentiable.
        ydata: f64[m], the data; differentiable.
        p0: f64[n], the start of the search; the solution does not depend on it.
        sigma: a number, f64[m] or the covariance f64[m, m] of the data; differentiable.
        absolute_sigma: whether ``sigma`` has the units of the data (True), or is only relative.
        check_finite: whether data are looked through.
        bounds: the lowest and the highest parameters, or SciPy's ``Bounds``; differentiable.
        method: one of SciPy's.
        jac: the model's Jacobian; a function, or "cs", is replaced by the exact one if a value is traced.
        full_output: not supported with traced values.
        nan_policy: not supported with traced values.
        kwargs: SciPy's further options.

    Returns:
        The parameters and their covariance; with traced values, the covariance follows from the exact Jacobian.

    Raises:
        UnsupportedFunctionError: ``full_output`` or ``nan_policy`` with traced values.
        RuntimeError: SciPy finds no parameters.
        ImplicitRuleError: a derivative is used that the theorem does not give, as in `minimize`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.arange(4.0)
        >>> line = lambda x, a, b: a * x + b
        >>> fit = lambda y: fg.scipy.optimize.curve_fit(line, x, y)[0][0]
        >>> fg.grad(fit)(np.array([1.0, 2.5, 4.5, 7.0])).round(6) + 0.0
        array([-0.3, -0.1,  0.1,  0.3])

    Source: as for `minimize`.
    """
    name = "scipy.optimize.curve_fit"
    sides = _sides(bounds)

    def theirs_of(f: Callable[..., Any], p0: ArrayLike) -> Any:
        more = {"full_output": full_output, "nan_policy": nan_policy, **kwargs}
        return theirs.curve_fit(f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, jac, **more)

    if nothing_traced(xdata, ydata, p0, sigma, sides):
        return theirs_of(f, p0)
    count = len(inspect.signature(f).parameters) - 1 if p0 is None else aval_of(fnp.asarray(as_value(p0))).size
    start = fnp.reshape(np.ones(count) if p0 is None else start_of(p0), (-1,))
    x = aval_of(start)
    data = fnp.astype(fnp.asarray(as_value(ydata)), float)
    places = fnp.asarray(as_value(xdata)) if isinstance(xdata, list | tuple) else xdata
    model, model_rest = close(name, lambda p: f(places, *p), (x,), (), _row(name))
    whiten = _whitener(sigma, data)
    r, rest = close(name, lambda p: whiten(f(places, *p) - data), (x,), (), _row(name))
    if not rest and not traced_leaves((p0, sides)):
        with untraced():
            return theirs_of(
                plainly(name, f, model.why), _middle(*[_broad(side, count) for side in sides]) if p0 is None else p0
            )
    refuse_traced(name, kwargs)
    if full_output or nan_policy is not None:
        raise UnsupportedFunctionError(
            f"{name}: full_output or nan_policy was given with traced values; needed neither. Use "
            "fg.scipy.optimize.least_squares for more than the parameters, and leave out data that are NaN before."
        )
    errors = [] if sigma is None else [fnp.asarray(as_value(sigma))]
    operands = [start, *[_broad(side, x.size) for side in sides], data, *errors, *model_rest]

    def find(solver: Bounded, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        guess, low, high, y, *more = given
        spread, read = (more[0], more[1:]) if errors else (None, more)
        at = solver.bound(model, read)
        slope = jac
        if is_replaced(jac):
            matrix = solver.bound(model.derived(parts_jacobian_of, (x, *map(aval_of, read)), x), read)
            slope = lambda _, *p: matrix(p)  # noqa: E731  (one line)
        start = _middle(low, high) if p0 is None else guess
        options = {"method": method, "jac": slope, "check_finite": check_finite, **kwargs}
        found = theirs.curve_fit(
            lambda _, *p: at(p), np.zeros(1), y, start, spread, absolute_sigma, bounds=(low, high), **options
        )
        return found[0], True, found

    cost = r.derived(_cost_of, (x, *map(aval_of, rest)), "linear", 1.0)
    found, _, _ = answer(Bounded(name, cost, find, x, len(operands), len(rest)), (*operands, *rest))
    return found, _covariance(r, found, rest, absolute=absolute_sigma)


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return SciPy's default start within the bounds."""
    below, above = np.isfinite(low), np.isfinite(high)
    low, high = np.where(below, low, 0.0), np.where(above, high, 0.0)
    return np.where(below & above, 0.5 * (low + high), np.where(below, low + 1, np.where(above, high - 1, 1.0)))


def _whitener(sigma: ArrayLike, data: ArrayLike) -> Callable[[Any], Any]:
    """Return the function that transforms residuals to independent ones of equal error."""
    if sigma is None:
        return lambda r: r
    spread = fnp.asarray(as_value(sigma))
    if aval_of(spread).size == 1 or spread.shape == data.shape:
        return lambda r: r / spread
    factor = cholesky(spread)
    return lambda r: solve_triangular(factor, r, lower=True)


def _covariance(r: Closed, x: ArrayLike, rest: Sequence[Any], *, absolute: bool) -> Any:
    slopes = r.derived(parts_jacobian_of, (aval_of(x), *map(aval_of, rest)), aval_of(x))
    (jacobian,) = slopes.evaluate(x, *rest)
    m, n = jacobian.shape
    if m <= n and not absolute:
        return np.full((n, n), np.inf)
    covariance = inv(jacobian.T @ jacobian)
    if absolute:
        return covariance
    (residual,) = r.evaluate(x, *rest)
    return covariance * (fnp.sum(residual * residual) / (m - n))
