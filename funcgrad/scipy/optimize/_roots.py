"""``root``, ``fsolve`` and ``fixed_point``: systems of equations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Arguments, Array, ArrayLike
from funcgrad.errors import TreeMismatchError, UnsupportedFunctionError
from funcgrad.numpy.extend import as_value
from funcgrad.scipy._closed import (
    ReadsTracedError,
    close,
    nothing_traced,
    plainly,
    refuse_traced,
    settled_array,
    traced_leaves,
)
from funcgrad.scipy._implicit import Root, answer, parts_jacobian_of
from funcgrad.scipy.optimize._result import solution

theirs = LazyModule("scipy.optimize")

# These methods return a vector for every shape of the guess; the others keep its shape.
_FLAT = ("hybr", "lm")


def start_of(x0: ArrayLike) -> Array:
    """Return the start of a search, in double precision."""
    x = fnp.asarray(as_value(x0))
    return fnp.astype(x, np.dtype(complex if x.dtype.kind == "c" else float))


def is_replaced(derivative: Any) -> bool:
    """Return whether the exact derivative takes the place of this argument for one.

    SciPy's complex step ("cs") needs a function of complex numbers. The exact derivative has the same digits.
    """
    return callable(derivative) or (isinstance(derivative, str) and derivative == "cs")


def as_tuple(args: Arguments) -> tuple:
    """Return SciPy's ``args`` as a tuple; a single argument is allowed."""
    return args if isinstance(args, tuple) else (args,)


def residuals(name: str, x: Aval, *, first: bool = False) -> Callable[[Any], list[Any]]:
    """Return the result of a function, with as many numbers as its argument; the first of a pair with ``first``."""

    def settle(y: ArrayLike) -> list[Any]:
        y = settled_array(y[0] if first else y)
        if aval_of(y).size != x.size:
            raise TreeMismatchError(
                f"{name}: the function returned {aval_of(y)} for {x}; needed as many equations as unknowns. Use "
                "fg.scipy.optimize.least_squares where there are more."
            )
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            raise TypeError(
                f"{name}: the function returned {aval_of(y)} for real {x}; needed real numbers, or a complex guess. "
                "Pass x0 as a complex number."
            )
        return [fnp.reshape(fnp.astype(y, x.dtype), x.shape)]

    return settle


def root(  # noqa: PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: Arguments = (),
    method: str = "hybr",
    jac: Any = None,
    tol: ArrayLike = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """``scipy.optimize.root``: where a function of a vector is 0; the root is differentiable.

    SciPy finds the root on plain numbers. The derivatives of ``x`` with respect to ``args`` and the closure of ``fun``
    follow from the implicit function theorem at this root. The derivative with respect to ``x0`` is 0. A derivative
    that is used is checked as that of `minimize`: SciPy converged, ``fun`` vanishes and is smooth at ``x``, and its
    Jacobian is regular.

    Args:
        fun: a function of a vector and ``args`` that returns as many numbers. It may branch on its argument: the
            derivative is that of the branch at the solution. Under `jit` and `vmap`, where the solution is not known, a
            function that branches must get traced values in ``args``.
        x0: f64[n], the start of the search.
        args: further arguments, pytrees.
        method: one of SciPy's.
        jac: SciPy's; a function is replaced by the exact Jacobian if a value is traced.
        tol: the tolerance.
        callback: called after each iteration, by some methods.
        options: SciPy's further options; they have no derivative.

    Returns:
        SciPy's result with ``x`` and ``fun``, and the other fields without derivative. Under `jit` and `vmap`
        ``success`` is traced, and there is no message.

    Raises:
        TreeMismatchError: there are more equations than unknowns, or fewer.
        NotDifferentiableError: an option is traced; or ``fun`` branches on numbers and closes over traced ones, under
            `jit` or `vmap`.
        ImplicitRuleError: a derivative is used that the theorem does not give (in programs on XLA, as JAX's error with
            this text).

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def cube_root(a):
        ...     return fg.scipy.optimize.root(lambda x, a: x**3 - a, 1.5, a).x[0]
        >>> print(np.round([cube_root(8.0), fg.grad(cube_root)(8.0), fg.grad(fg.grad(cube_root))(8.0)], 6))
        [ 2.        0.083333 -0.006944]

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 15.
    """
    name = "scipy.optimize.root"
    if nothing_traced(x0, args):
        return theirs.root(fun, x0, args, method, jac, tol, callback, options)
    start = start_of(x0)
    if str(method).lower() in _FLAT:
        start = fnp.reshape(start, (-1,))
    x = aval_of(start)
    f, rest = close(name, fun, (x,), as_tuple(args), residuals(name, x, first=jac is True))
    if not rest and not traced_leaves(x0):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs.root(plainly(name, fun, f.why), x0, args, method, jac, tol, callback, options)
    refuse_traced(name, {"tol": tol, "options": options})

    def find(solver: Root, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        slope = jac
        if jac is True or callable(jac):
            slope = solver.bound(solver.made(parts_jacobian_of, rest), rest)
        found = theirs.root(solver.bound(f, rest), given[0], (), method, slope, tol, callback, options)
        return found.x, found.success, found

    solver = Root(name, f, find, x, 1, len(rest))
    found, success, result = answer(solver, (start, *rest))
    if result is None:
        return solution(None, x=found, fun=f.at(found, *rest)[0], success=success)
    return solution(result, x=found)


def fsolve(  # noqa: PLR0917  (SciPy's arguments)
    func: Callable[..., Any],
    x0: ArrayLike,
    args: Arguments = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    band: ArrayLike = None,
    epsfcn: ArrayLike = None,
    factor: float = 100,
    diag: ArrayLike = None,
) -> Any:
    """``scipy.optimize.fsolve``: where a function of a vector is 0; differentiable as `root` is.

    Args:
        func: a function of a vector and ``args`` that returns as many numbers.
        x0: f64[n], the start of the search.
        args: further arguments, pytrees.
        fprime: the Jacobian; replaced by the exact one if a value is traced.
        full_output: not supported with traced values.
        col_deriv: whether ``fprime`` returns columns.
        xtol: the tolerance.
        maxfev: the largest number of function calls.
        band: the numbers of nonzero diagonals of the Jacobian.
        epsfcn: the step of differences.
        factor: the first step.
        diag: factors of the unknowns.

    Returns:
        The root; SciPy warns if it finds none.

    Raises:
        UnsupportedFunctionError: ``full_output`` with traced values.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = lambda a: fg.scipy.optimize.fsolve(lambda x: x * np.exp(x) - a, 1.0)[0]
        >>> print(round(fg.grad(f)(np.e), 6))
        0.18394
    """
    name = "scipy.optimize.fsolve"
    options = {"xtol": xtol, "maxfev": maxfev, "band": band, "epsfcn": epsfcn, "factor": factor, "diag": diag}

    def theirs_of(func: Callable[..., Any]) -> Any:
        return theirs.fsolve(func, x0, args, fprime, full_output, col_deriv, **options)

    if nothing_traced(x0, args):
        return theirs_of(func)
    start = fnp.reshape(start_of(x0), (-1,))
    x = aval_of(start)
    f, rest = close(name, func, (x,), as_tuple(args), residuals(name, x))
    if not rest and not traced_leaves(x0):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs_of(plainly(name, func, f.why))
    refuse_traced(name, options)
    if full_output:
        raise UnsupportedFunctionError(
            f"{name}: full_output was asked for with traced values; needed 0. Use fg.scipy.optimize.root, whose result "
            "has all of it."
        )

    def find(solver: Root, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        slope = None if fprime is None else solver.bound(solver.made(parts_jacobian_of, rest), rest)
        return theirs.fsolve(solver.bound(f, rest), given[0], (), slope, **options), True, None

    return answer(Root(name, f, find, x, 1, len(rest)), (start, *rest))[0]


def fixed_point(
    func: Callable[..., Any],
    x0: ArrayLike,
    args: Arguments = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """``scipy.optimize.fixed_point``: find ``x`` with ``func(x) = x``; differentiable as `root` is.

    Args:
        func: takes an array and ``args``, and returns an array of its shape.
        x0: the start of the search.
        args: further arguments, pytrees.
        xtol: the tolerance.
        maxiter: the largest number of iterations.
        method: 'del2' or 'iteration'.

    Returns:
        The fixed point, of the shape of ``x0``.

    Raises:
        RuntimeError: SciPy does not converge.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> root = lambda a: fg.scipy.optimize.fixed_point(lambda x: 0.5 * (x + a / x), 1.0)
        >>> print(round(float(fg.grad(root)(4.0)), 6))
        0.25
    """
    name = "scipy.optimize.fixed_point"
    options = {"xtol": xtol, "maxiter": maxiter, "method": method}
    if nothing_traced(x0, args):
        return theirs.fixed_point(func, x0, args, **options)
    start = start_of(x0)
    x = aval_of(start)
    settle = residuals(name, x)
    f, rest = close(name, lambda x, *args: settle(func(x, *args))[0] - x, (x,), as_tuple(args), lambda y: [y])
    if not rest and not traced_leaves(x0):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs.fixed_point(plainly(name, func, f.why), x0, args, **options)
    refuse_traced(name, options)

    def find(solver: Root, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        step = solver.bound(f, rest)
        return theirs.fixed_point(lambda x: step(x) + x, given[0], **options), True, None

    return answer(Root(name, f, find, x, 1, len(rest)), (start, *rest))[0]
