"""Matrix equations of ``scipy.linalg``: Sylvester's and Lyapunov's."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.linalg.matrices import adjoint, conjugated, identity_like, product
from funcgrad._ops.linalg.sylvester import sylvester
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import promote
from funcgrad.scipy.linalg._arguments import array, refuse_infinite, squares

# SciPy solves larger systems with a bilinear map, and smaller ones as one linear system.
_SMALL = 10


def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Array:
    """Solve ``a x + x b = q``.

    Args:
        a: f[..., m, m].
        b: f[..., n, n].
        q: f[..., m, n].

    Returns:
        f[..., m, n].

    Raises:
        LinAlgError: on NumPy, where an eigenvalue of ``a`` and one of ``b`` add up to 0. XLA has it on CPUs.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve_sylvester(np.diag([1.0, 2.0]), np.eye(1), np.array([[4.0], [6.0]]))
        array([[2.],
               [2.]])

    Source: Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972.
    """
    name = "scipy.linalg.solve_sylvester"
    refuse_infinite("solve_sylvester", True, a, b)
    a, b, q = promote(squares(name, a), squares(name, b, "b"), array(q))
    if len(q.shape) < 2 or q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ValueError(
            f"{name}: q is {type_text(q.shape, q.dtype)} for {type_text(a.shape, a.dtype)} and "
            f"{type_text(b.shape, b.dtype)}; needed the rows of a and the columns of b. Transpose it."
        )
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    return sylvester(*[broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b, q)])


def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Array:
    """Solve ``a x + x a^H = q``.

    Args:
        a: f[..., n, n].
        q: f[..., n, n].

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve_continuous_lyapunov(np.diag([1.0, 2.0]), np.eye(2))
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    a = squares("scipy.linalg.solve_continuous_lyapunov", a)
    return solve_sylvester(a, adjoint(a), squares("scipy.linalg.solve_continuous_lyapunov", q, "q"))


def solve_lyapunov(a: ArrayLike, q: ArrayLike) -> Any:
    """Solve ``a x + x a^H = q``: `solve_continuous_lyapunov`."""
    return solve_continuous_lyapunov(a, q)


def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike, method: str | None = None) -> Array:
    """Solve ``a x a^H - x + q = 0``.

    Args:
        a: f[..., n, n].
        q: f[..., n, n].
        method: 'direct', one system of ``n**2`` equations, or 'bilinear'; if left out, the former where n < 10.

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve_discrete_lyapunov(np.diag([0.5, 0.0]), np.eye(2)).round(6)
        array([[1.333333, 0.      ],
               [0.      , 1.      ]])

    Source: Hamilton, "Time series analysis", 1994, pages 265 and 729; Gajic and Qureshi, "Lyapunov matrix equation in
    system stability and control", 2008.
    """
    name = "scipy.linalg.solve_discrete_lyapunov"
    refuse_infinite("solve_discrete_lyapunov", True, a, q)
    # SciPy's identity is one of doubles.
    a, q, _ = promote(squares(name, a), squares(name, q, "q"), np.zeros(()))
    size = a.shape[-1]
    method = method or ("direct" if size < _SMALL else "bilinear")
    if method not in ("direct", "bilinear"):
        raise ValueError(f"{name}: the method is {method!r}; needed 'direct' or 'bilinear'. Leave it out.")
    identity = identity_like(a)
    if method == "bilinear":
        moved = fnp.linalg.inv(adjoint(a) + identity)
        b = product(adjoint(a) - identity, moved)
        c = 2 * product(product(fnp.linalg.inv(a + identity), q), moved)
        return solve_continuous_lyapunov(adjoint(b), -c)
    # The rows of x one after the other: the Kronecker product of a and its conjugate maps them.
    grown = a[..., :, None, :, None] * conjugated(a)[..., None, :, None, :]
    stack = a.shape[:-2]
    system = np.eye(size * size, dtype=a.dtype) - fnp.reshape(grown, (*stack, size * size, size * size))
    return fnp.reshape(fnp.linalg.solve(system, fnp.reshape(q, (*stack, size * size, 1))), (*stack, size, size))
