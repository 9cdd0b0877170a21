"""``minimize``, with the arguments and results of ``jax.scipy.optimize``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from funcgrad._transforms.derivative.reverse import grad
from funcgrad._types import ArrayLike
from funcgrad.jax._array import arrays, plain
from funcgrad.jax._immutable import immutably
from funcgrad.jax._names import publish_as_jax
from funcgrad.scipy import optimize

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """``jax.scipy.optimize.OptimizeResults``: the minimum, and how it was found."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """``jax.scipy.optimize.minimize``: find a minimum by SciPy's method of that name, with gradients of ours."""
    f = immutably(fun)
    found = optimize.minimize(f, plain(x0), args=args, method=method, jac=grad(f), tol=tol, options=options)
    fields = [arrays(getattr(found, name, None)) for name in OptimizeResults._fields]
    return OptimizeResults(*fields)


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
