"""Fixed points whose derivatives do not differentiate the iteration, as in ``autograd.misc.fixed_points``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import funcgrad.numpy as fnp
from funcgrad._public import publish
from funcgrad._types import ArrayLike, Value
from funcgrad.interop.autograd.differential_operators import make_vjp
from funcgrad.interop.autograd.extend import defvjp, primitive
from funcgrad.tree import map as tree_map

__all__ = ["fixed_point"]

Distance = Callable[[Any, Any], Any]


@primitive
def _fixed_point(f: Callable[..., Any], a: ArrayLike, x0: ArrayLike, distance: Distance, tol: float) -> Any:
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _pull(
    ans: Value, f: Callable[..., Any], a: ArrayLike, x0: ArrayLike, distance: Distance, tol: float
) -> Callable[[Any], Any]:
    """Return the cotangent of the parameters: solve ``u = x_bar + u dstep/dx``, a fixed point too, and pull it back."""
    del x0

    def pull(x_bar: ArrayLike) -> Any:
        by_x, _ = make_vjp(f(a))(ans)
        by_a, _ = make_vjp(lambda a: f(a)(ans))(a)

        def backward(x_bar: ArrayLike) -> Callable[[Any], Any]:
            return lambda u: tree_map(fnp.add, x_bar, by_x(u))

        return by_a(fixed_point(backward, x_bar, tree_map(fnp.zeros_like, x_bar), distance, tol))

    return pull


defvjp(_fixed_point, _pull, None, argnums=[1, 2])


def fixed_point(f: Callable[..., Any], a: ArrayLike, x0: ArrayLike, distance: Distance, tol: float) -> Any:
    """Iterate ``x = f(a)(x)`` to convergence, and differentiate the fixed point with respect to ``a``.

    Args:
        f: a function of the parameters that returns the step, a function of ``x``.
        a: the parameters, a tree of arrays and numbers.
        x0: the start; the fixed point does not depend on it.
        distance: ``distance(x, previous_x)``, a number.
        tol: stop at this distance, in units of ``distance``; the iteration of the cotangents uses it too.

    Returns:
        The fixed point.

    Example:
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.misc.fixed_points import fixed_point
        >>> def root(a):  # Newton's iteration for the square root
        ...     return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-12)
        >>> round(float(grad(root)(4.0)), 6)
        0.25

    Source: Christianson, *Reverse accumulation and attractive fixed points* (1994).
    """
    return _fixed_point(f, a, x0, distance, tol)


__dir__ = publish(__name__)
