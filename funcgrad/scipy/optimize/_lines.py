"""``brent``, ``fminbound`` and ``golden``: SciPy's older names of methods of `minimize_scalar`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._types import Arguments, ArrayLike
from funcgrad.scipy.optimize._minimize import minimize_scalar


def _answer(found: Any, full_output: Any, names: tuple[str, ...]) -> Any:
    return (found.x, found.fun, *[found[name] for name in names]) if full_output else found.x


def brent(
    func: Callable[..., Any],
    args: Arguments = (),
    brack: ArrayLike = None,
    tol: float = 1.48e-8,
    full_output: Any = 0,
    maxiter: int = 500,
) -> Any:
    """``scipy.optimize.brent``: where a function of a number is least, with the derivative of `minimize_scalar`.

    Args:
        func: a function of a number and ``args`` that returns a number, written with NumPy.
        args: further arguments, pytrees.
        brack: two or three numbers around the minimum; the minimum does not depend on them.
        tol: the relative tolerance.
        full_output: whether to return the value and the numbers of rounds and calls, too; not under `jit`.
        maxiter: the largest number of rounds.

    Returns:
        The number.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> least = lambda a: fg.scipy.optimize.brent(lambda x: np.cosh(x - a**2))
        >>> print(round(float(fg.grad(least)(1.5)), 6))
        3.0
    """
    options = {"xtol": tol, "maxiter": maxiter}
    found = minimize_scalar(func, brack, args=args, method="brent", options=options)
    return _answer(found, full_output, ("nit", "nfev"))


def golden(
    func: Callable[..., Any],
    args: Arguments = (),
    brack: ArrayLike = None,
    tol: float = 1.4901161193847656e-08,
    full_output: Any = 0,
    maxiter: int = 5000,
) -> Any:
    """``scipy.optimize.golden``: as `brent`, by golden sections.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> least = lambda a: fg.scipy.optimize.golden(lambda x: np.cosh(x - a**2))
        >>> print(round(float(fg.grad(least)(1.5)), 6))
        3.0
    """
    options = {"xtol": tol, "maxiter": maxiter}
    found = minimize_scalar(func, brack, args=args, method="golden", options=options)
    return _answer(found, full_output, ("nfev",))


def fminbound(  # noqa: PLR0917  (SciPy's arguments)
    func: Callable[..., Any],
    x1: ArrayLike,
    x2: ArrayLike,
    args: Arguments = (),
    xtol: float = 1e-5,
    maxfun: int = 500,
    full_output: Any = 0,
    disp: int = 1,
) -> Any:
    """``scipy.optimize.fminbound``: as `brent`, between two numbers.

    Args:
        func: as in `brent`.
        x1: the lowest number.
        x2: the highest number.
        args: further arguments, pytrees.
        xtol: the absolute tolerance.
        maxfun: the largest number of calls.
        full_output: whether to return the value, whether it failed, and the number of calls, too; not under `jit`.
        disp: SciPy's; messages are left out.

    Returns:
        The number.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> least = lambda a: fg.scipy.optimize.fminbound(lambda x: np.cosh(x - a**2), 0.0, 5.0, xtol=1e-9)
        >>> print(round(float(fg.grad(least)(1.5)), 6))
        3.0
    """
    del disp
    options = {"xatol": xtol, "maxiter": maxfun}
    found = minimize_scalar(func, bounds=(x1, x2), args=args, method="bounded", options=options)
    return _answer(found, full_output, ("status", "nfev"))
