"""``scipy.linalg`` for arrays of either engine and for tracers.

SciPy's functions offer no hook for other arrays: call the ones here. A singular matrix, or one that is not positive
definite, is a ``LinAlgError`` on NumPy, as in SciPy; on XLA the result is infinite or NaN, as in JAX.
"""

from __future__ import annotations

from typing import Any

from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.linalg import exponential, factor
from funcgrad._ops.linalg.matrices import adjoint
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._public import publish
from funcgrad.numpy.extend import squares, systems
from funcgrad.numpy.linalg import det, inv, solve

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "expm",
    "inv",
    "lu_factor",
    "lu_solve",
    "solve",
    "solve_triangular",
]

_FORMS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _form(name: str, trans: Any) -> dict[str, bool]:
    """What is done with the matrix before the system is solved."""
    if trans not in _FORMS:
        raise ValueError(
            f"scipy.linalg.{name}: trans is {trans!r}; needed 0 or 'N' (as it is), 1 or 'T' (transposed), 2 or 'C' "
            "(conjugate and transposed). Pass one of these."
        )
    return {"transpose_a": _FORMS[trans] > 0, "conjugate_a": _FORMS[trans] == 2}


def _shaped(y: Any, vector: bool) -> Any:
    return reshape(y, y.shape[:-1]) if vector else y


def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """Solve ``a x = b``, where ``a`` is triangular.

    Args:
        a: f[..., n, n], of which one triangle is read; its derivative is zero in the other.
        b: f[n] or f[..., n, m].
        trans: 0 or ``'N'`` for ``a x = b``, 1 or ``'T'`` for ``a.T x = b``, 2 or ``'C'`` for ``a.conj().T x = b``.
        lower: whether the lower triangle is read, rather than the upper one.
        unit_diagonal: whether the diagonal counts as ones, and is not read.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Raises:
        LinAlgError: on NumPy, where the diagonal has a zero. On XLA the result is infinite or NaN then.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
        >>> b = np.array([2.0, 9.0])
        >>> fg.scipy.linalg.solve_triangular(a, b, lower=True)
        array([1., 2.])
        >>> fg.grad(lambda b: np.sum(fg.scipy.linalg.solve_triangular(a, b, lower=True)))(b)
        array([0.375, 0.25 ])

    Rule: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 2.3, with the cotangent of ``a`` cut to the triangle that is read.
    """
    form = _form("solve_triangular", trans)
    a, b, vector = systems("scipy.linalg.solve_triangular", a, b)
    return _shaped(triangular_solve(a, b, lower=bool(lower), unit_diagonal=bool(unit_diagonal), **form), vector)


def cholesky(a: Any, lower: bool = False) -> Any:
    """Factor a Hermitian positive definite matrix: ``a = U^H U`` with ``U`` upper triangular, or ``L L^H``.

    Args:
        a: f[..., n, n], of which the triangle that is returned is read; its derivative is that of a Hermitian matrix,
            by all elements, as PyTorch's.
        lower: whether to return the lower triangular ``L``.

    Returns:
        f[..., n, n], zero in the other triangle.

    Raises:
        LinAlgError: on NumPy, where a matrix is not positive definite. On XLA the result is NaN then.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
        array([[2., 0.],
               [1., 2.]])

    Rule: Murray, "Differentiation of the Cholesky decomposition", 2016, equations 8 and 10.
    """
    a = squares("scipy.linalg.cholesky", a)
    return factor.cholesky(a) if lower else adjoint(factor.cholesky(adjoint(a)))


def cho_factor(a: Any, lower: bool = False) -> tuple[Any, bool]:
    """Factor a Hermitian positive definite matrix for `cho_solve`; see `cholesky`.

    SciPy leaves numbers without meaning in the other triangle; here it is zero.

    Returns:
        the factor and ``lower``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> factored = linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
        >>> linalg.cho_solve(factored, np.array([8.0, 12.0]))
        array([1., 2.])
    """
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Any:
    """Solve ``a x = b`` from the Cholesky factor of ``a``, as `cho_factor` or `cholesky` gives it.

    Args:
        c_and_lower: the factor, f[..., n, n], and whether it is the lower one.
        b: f[n] or f[..., n, m].

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> lower = np.array([[2.0, 0.0], [1.0, 2.0]])
        >>> linalg.cho_solve((lower, True), np.array([8.0, 12.0]))
        array([1., 2.])
    """
    c, lower = c_and_lower
    c, b, vector = systems("scipy.linalg.cho_solve", c, b)
    turned = {"transpose_a": True, "conjugate_a": True}
    first, second = ({}, turned) if lower else (turned, {})
    y = triangular_solve(c, b, lower=bool(lower), **first)
    return _shaped(triangular_solve(c, y, lower=bool(lower), **second), vector)


def lu_factor(a: Any) -> tuple[Any, Any]:
    """Factor a square matrix with exchange of rows, for `lu_solve`.

    Args:
        a: f[..., n, n].

    Returns:
        both triangular factors in one matrix, f[..., n, n] (without the ones on the diagonal of the lower one), and
        for each row the one that it was exchanged with, i32[..., n].

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> factored = linalg.lu_factor(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> linalg.lu_solve(factored, np.array([2.0, 9.0]))
        array([2., 1.])
    """
    factors, pivots, _ = factor.lu(squares("scipy.linalg.lu_factor", a))
    return factors, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0) -> Any:
    """Solve ``a x = b`` from the factors of ``a``, as `lu_factor` gives them.

    Args:
        lu_and_piv: the factors and the pivots.
        b: f[n] or f[..., n, m].
        trans: 0 or ``'N'`` for ``a x = b``, 1 or ``'T'`` for ``a.T x = b``, 2 or ``'C'`` for ``a.conj().T x = b``.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> factored = linalg.lu_factor(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> linalg.lu_solve(factored, np.array([4.0, 4.0]), trans=1)
        array([1.5, 1. ])
    """
    form = _form("lu_solve", trans)
    factors, pivots = lu_and_piv
    permutation = factor.permutation_of_pivots(pivots)
    factors, b, vector = systems("scipy.linalg.lu_solve", factors, b)
    permutation = broadcast_to(permutation, factors.shape[:-1])
    return _shaped(factor.lu_solve(factors, permutation, b, **form), vector)


def expm(A: Any) -> Any:  # noqa: N803  (SciPy's name)
    """Compute the exponential of a square matrix, the sum of ``A^k / k!``.

    Args:
        A: f[..., n, n]. On XLA the result is NaN where its 1-norm is beyond 350,000.

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> turn = lambda angle: fg.scipy.linalg.expm(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))
        >>> np.round(turn(np.pi / 2), 6) + 0.0
        array([[ 0., -1.],
               [ 1.,  0.]])
        >>> print(round(float(fg.grad(lambda angle: turn(angle)[1, 0])(0.0)), 6))
        1.0

    Rule: Najfeld and Havel, "Derivatives of the matrix exponential and their computation", 1995: a block of the
    exponential of a matrix twice as large.
    """
    return exponential.expm(squares("scipy.linalg.expm", A, "A"))


__dir__ = publish(__name__)
