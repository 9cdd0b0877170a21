"""``root_scalar``, ``brentq`` and its like, and ``newton``: equations of one unknown."""

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
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value
from funcgrad.scipy._closed import Flat, ReadsTracedError, close, nothing_traced, plainly, refuse_traced, traced_leaves
from funcgrad.scipy._implicit import Root, RootOfEach, answer, slopes_of
from funcgrad.scipy.optimize._result import solution
from funcgrad.scipy.optimize._roots import as_tuple, residuals, start_of

theirs = LazyModule("scipy.optimize")

# SciPy's own tolerance of its bracketing methods.
_RTOL = float(4 * np.finfo(float).eps)
_NUMBER = Aval((), np.dtype(float))
_MANY = 32


def _second_slopes_of(evaluate: Flat, x: Aval) -> Flat:
    return slopes_of(slopes_of(evaluate, x), x)


def _number(x: ArrayLike) -> Array:
    return fnp.reshape(fnp.astype(fnp.asarray(as_value(x)), float), ())


def root_scalar(  # noqa: PLR0917  (SciPy's arguments)
    f: Callable[..., Any],
    args: Arguments = (),
    method: str | None = None,
    bracket: ArrayLike = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: ArrayLike = None,
    x1: ArrayLike = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """``scipy.optimize.root_scalar``: where a function of a number is 0; the root is differentiable, as `root`'s is.

    Args:
        f: a function of a number and ``args`` that returns a number, written with NumPy. It may branch on its
            argument: the derivative is that of the branch at the solution. Under `jit` and `vmap` the solution is not
            known; there a function that branches must get traced values in ``args``.
        args: further arguments, pytrees.
        method: one of SciPy's.
        bracket: between which numbers to search; the root does not depend on them.
        fprime: the derivative; replaced by the exact one if a value is traced.
        fprime2: the second derivative; replaced by the exact one if a value is traced.
        x0: the start of the search; the root does not depend on it.
        x1: a second guess.
        xtol: the absolute tolerance.
        rtol: the relative tolerance.
        maxiter: the largest number of iterations.
        options: SciPy's further options.

    Returns:
        SciPy's result with ``root``; under `jit` and `vmap` it has only ``root`` and ``converged``.

    Raises:
        NotDifferentiableError: an option is traced; or ``f`` branches on numbers and closes over traced ones, under
            `jit` or `vmap`.
        ImplicitRuleError: a derivative is used that the theorem does not give, as in `root`: the function jumps at the
            root, say, or has no slope there.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def inverse(a):
        ...     return fg.scipy.optimize.root_scalar(lambda x: x + np.exp(x) - a, bracket=(-5, 5)).root
        >>> print(round(fg.grad(inverse)(1.0), 6))
        0.5
    """
    name = "scipy.optimize.root_scalar"
    options = {} if options is None else options
    plain = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}

    def theirs_of(f: Callable[..., Any]) -> Any:
        starts = {"bracket": bracket, "fprime": fprime, "fprime2": fprime2, "x0": x0, "x1": x1}
        return theirs.root_scalar(f, args, method, **starts, **plain)

    starts = (bracket, x0, x1)
    if nothing_traced(starts, args):
        return theirs_of(f)
    several = fprime is True or fprime2 is True
    x = _NUMBER if bracket is not None else Aval((), aval_of(start_of(x0)).dtype)
    closed, rest = close(name, f, (x,), as_tuple(args), residuals(name, x, first=several))
    if not rest and not traced_leaves(starts):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs_of(plainly(name, f, closed.why))
    refuse_traced(name, plain)
    ends = [] if bracket is None else [_number(end) for end in bracket]
    guesses = [fnp.reshape(start_of(guess), ()) for guess in (x0, x1) if guess is not None]

    def find(solver: Root, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        numbers = [each[()] for each in given]
        more: dict[str, Any] = {"bracket": tuple(numbers[: len(ends)])} if ends else {}
        more |= dict(zip(("x0", "x1"), numbers[len(ends) :], strict=False))
        for option, wanted, make in (("fprime", fprime, slopes_of), ("fprime2", fprime2, _second_slopes_of)):
            if wanted:
                more[option] = solver.bound(solver.made(make, rest), rest)
        found = theirs.root_scalar(solver.bound(closed, rest), (), method, **more, **plain)
        return found.root, found.converged, found

    solver = Root(name, closed, find, x, len(ends) + len(guesses), len(rest))
    found, success, result = answer(solver, (*ends, *guesses, *rest))
    return solution(result, root=found, converged=success if result is None else None)


def _bracketed(  # noqa: PLR0917  (SciPy's arguments)
    name: str,
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: Arguments,
    full_output: bool,
    options: dict[str, Any],
) -> Any:
    """Return the root between two numbers, from SciPy's function of this name."""
    search = getattr(theirs, name)
    name = f"scipy.optimize.{name}"
    if nothing_traced(a, b, args):
        return search(f, a, b, args, full_output=full_output, **options)
    closed, rest = close(name, f, (_NUMBER,), as_tuple(args), residuals(name, _NUMBER))
    if not rest and not traced_leaves((a, b)):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return search(plainly(name, f, closed.why), a, b, args, full_output=full_output, **options)
    refuse_traced(name, options)

    def find(solver: Root, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        low, high = [float(end) for end in given]
        x, report = search(solver.bound(closed, rest), low, high, full_output=True, **options)
        return x, report.converged, report

    solver = Root(name, closed, find, _NUMBER, 2, len(rest))
    found, success, result = answer(solver, (_number(a), _number(b), *rest))
    if not full_output:
        return found
    return found, solution(result, root=found, converged=success if result is None else None)


def _bracketing(name: str, text: str) -> Any:
    """Return the function of SciPy's bracketing method of this name; they share their arguments."""

    def search(  # noqa: PLR0917  (SciPy's arguments)
        f: Callable[..., Any],
        a: ArrayLike,
        b: ArrayLike,
        args: Arguments = (),
        xtol: float = 2e-12,
        rtol: float = _RTOL,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        options = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "disp": disp}
        return _bracketed(name, f, a, b, args, full_output, options)

    search.__name__ = search.__qualname__ = name
    search.__doc__ = text
    return search


brentq = _bracketing(
    "brentq",
    """``scipy.optimize.brentq``: the root of a function between two numbers; differentiable as `root_scalar` is.

    Args:
        f: takes a number and ``args``, and returns a number.
        a: where the function has one sign; the root has no derivative by it.
        b: where it has the other.
        args: further arguments, pytrees.
        xtol: the absolute tolerance.
        rtol: the relative tolerance.
        maxiter: how many iterations there may be.
        full_output: whether SciPy's report is returned too.
        disp: whether an error is raised where it does not converge.

    Returns:
        The root; with ``full_output`` the report too.

    Raises:
        ValueError: the function has the same sign at both ends.
        RuntimeError: SciPy does not converge.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> print(round(fg.grad(lambda a: fg.scipy.optimize.brentq(lambda x: x**3 - a, 0, 10))(8.0), 6))
        0.083333
    """,
)
brenth = _bracketing("brenth", "``scipy.optimize.brenth``: as `brentq`, with hyperbolic extrapolation.")
bisect = _bracketing("bisect", "``scipy.optimize.bisect``: as `brentq`, by halving the interval.")
ridder = _bracketing("ridder", "``scipy.optimize.ridder``: as `brentq`, by Ridder's method.")


def toms748(  # noqa: PLR0917  (SciPy's arguments)
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: Arguments = (),
    k: int = 1,
    xtol: float = 2e-12,
    rtol: float = _RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """``scipy.optimize.toms748``: as `brentq`, by algorithm 748; ``k`` Newton steps in each iteration."""
    options = {"k": k, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "disp": disp}
    return _bracketed("toms748", f, a, b, args, full_output, options)


def newton(  # noqa: PLR0917  (SciPy's arguments)
    func: Callable[..., Any],
    x0: ArrayLike,
    fprime: Any = None,
    args: Arguments = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: ArrayLike = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """``scipy.optimize.newton``: where a function is 0, each of its numbers by itself; differentiable as `root` is.

    Args:
        func: takes a number, or an array whose elements it takes each by itself, and ``args``.
        x0: the start of the search; the root does not depend on it.
        fprime: the derivative; replaced by the exact one if a value is traced.
        args: further arguments, pytrees.
        tol: the absolute tolerance.
        maxiter: the largest number of iterations.
        fprime2: the second derivative; replaced by the exact one if a value is traced.
        x1: a second guess.
        rtol: the relative tolerance.
        full_output: not supported with traced values.
        disp: whether to raise an error if it does not converge.

    Returns:
        The root, of the shape of ``x0``.

    Raises:
        RuntimeError: SciPy does not converge.
        UnsupportedFunctionError: ``full_output`` with traced values.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> roots = lambda a: fg.scipy.optimize.newton(lambda x: x**2 - a, np.ones(2))
        >>> fg.grad(lambda a: np.sum(roots(a)))(np.array([4.0, 16.0])).round(6)
        array([0.25 , 0.125])
    """
    name = "scipy.optimize.newton"
    options = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp}

    def theirs_of(func: Callable[..., Any]) -> Any:
        more = {"fprime": fprime, "fprime2": fprime2, "x1": x1}
        return theirs.newton(func, x0, args=args, full_output=full_output, **more, **options)

    if nothing_traced(x0, x1, args):
        return theirs_of(func)
    guesses = [start_of(guess) for guess in (x0, x1) if guess is not None]
    x = aval_of(guesses[0])
    f, rest = close(name, func, (x,), as_tuple(args), residuals(name, x))
    if not rest and not traced_leaves((x0, x1)):
        # What branches and closes over traced values goes on below.
        with contextlib.suppress(ReadsTracedError), untraced():
            return theirs_of(plainly(name, func, f.why))
    refuse_traced(name, options)
    if full_output:
        raise UnsupportedFunctionError(
            f"{name}: full_output was asked for with traced values; needed False. Use fg.scipy.optimize.root_scalar, "
            "whose result has all of it."
        )

    def find(solver: Any, given: Sequence[np.ndarray], rest: Sequence[np.ndarray]) -> tuple[Any, Any, Any]:
        starts = [each[()] for each in given]
        more: dict[str, Any] = dict(zip(("x1",), starts[1:], strict=False))
        for option, wanted, make in (("fprime", fprime, slopes_of), ("fprime2", fprime2, _second_slopes_of)):
            if wanted is not None:
                more[option] = solver.bound(solver.made(make, rest), rest)
        return theirs.newton(solver.bound(f, rest), starts[0], **more, **options), True, None

    # For few numbers the whole Jacobian is cheap, and right even if the function is not elementwise.
    kind = RootOfEach if x.size > _MANY and x.dtype.kind == "f" else Root
    return answer(kind(name, f, find, x, len(guesses), len(rest)), (*guesses, *rest))[0]
