"""Linear systems of ``scipy.linalg``, with general, triangular, definite and circulant matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import in_our_words
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.linalg import factor
from funcgrad._ops.linalg.matrices import identity_like, swapped
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import systems
from funcgrad.scipy.linalg._arguments import (
    array,
    floats,
    lapack,
    lapack_squares,
    mirrored,
    one_flag,
    refuse_infinite,
    squares,
)
from funcgrad.scipy.linalg._factors import cholesky

_FORMS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _form(name: str, trans: Any) -> dict[str, bool]:
    """Return the operation on the matrix before the system is solved."""
    if trans not in _FORMS:
        raise ValueError(
            f"scipy.linalg.{name}: trans is {trans!r}; needed 0 or 'N' (as it is), 1 or 'T' (transposed), 2 or 'C' "
            "(conjugate and transposed). Pass one of these."
        )
    return {"transpose_a": _FORMS[trans] > 0, "conjugate_a": _FORMS[trans] == 2}


def _shaped(y: ArrayLike, vector: bool) -> Array:
    return reshape(y, y.shape[:-1]) if vector else y


def solve_triangular(  # noqa: PLR0917  (SciPy's arguments)
    a: ArrayLike,
    b: ArrayLike,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b``, where ``a`` is triangular.

    Args:
        a: f[..., n, n]; only one triangle is read, and the derivative is zero in the other.
        b: f[n] or f[..., n, m].
        trans: 0 or ``'N'`` for ``a x = b``, 1 or ``'T'`` for ``a.T x = b``, 2 or ``'C'`` for ``a.conj().T x = b``.
        lower: whether the lower triangle is read, rather than the upper one.
        unit_diagonal: whether the diagonal counts as ones, and is not read.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Raises:
        LinAlgError: on NumPy, if the diagonal has a zero; on XLA the result is infinite or NaN.

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
    del overwrite_b
    refuse_infinite("solve_triangular", check_finite, a, b)
    form = _form("solve_triangular", trans)
    a, b, vector = systems("scipy.linalg.solve_triangular", lapack(a), lapack(b))
    return _shaped(triangular_solve(a, b, lower=bool(lower), unit_diagonal=bool(unit_diagonal), **form), vector)


@in_our_words
def cho_solve(c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solve ``a x = b`` from the Cholesky factor of ``a``, as `cho_factor` or `cholesky` gives it.

    Args:
        c_and_lower: the factor, f[..., n, n], and whether it is the lower one.
        b: f[n] or f[..., n, m].
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> lower = np.array([[2.0, 0.0], [1.0, 2.0]])
        >>> linalg.cho_solve((lower, True), np.array([8.0, 12.0]))
        array([1., 2.])
    """
    del overwrite_b
    refuse_infinite("cho_solve", check_finite, c_and_lower[0], b)
    c, lower = c_and_lower[0], one_flag(c_and_lower[1])
    c, b, vector = systems("scipy.linalg.cho_solve", lapack(c), lapack(b))
    turned = {"transpose_a": True, "conjugate_a": True}
    first, second = ({}, turned) if lower else (turned, {})
    y = triangular_solve(c, b, lower=bool(lower), **first)
    return _shaped(triangular_solve(c, y, lower=bool(lower), **second), vector)


@in_our_words
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """Solve ``a x = b`` from the factors of ``a``, as `lu_factor` gives them.

    Args:
        lu_and_piv: the factors and the pivots.
        b: f[n] or f[..., n, m].
        trans: 0 or ``'N'`` for ``a x = b``, 1 or ``'T'`` for ``a.T x = b``, 2 or ``'C'`` for ``a.conj().T x = b``.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> factored = linalg.lu_factor(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> linalg.lu_solve(factored, np.array([4.0, 4.0]), trans=1)
        array([1.5, 1. ])
    """
    del overwrite_b
    refuse_infinite("lu_solve", check_finite, b)
    form = _form("lu_solve", trans)
    factors, pivots = lu_and_piv
    factors, b, vector = systems("scipy.linalg.lu_solve", lapack(factors), lapack(b))
    pivots = array(pivots)
    if not pivots.shape[-1]:
        # SciPy's pivots of an empty matrix are floats.
        pivots = fnp.astype(pivots, np.int32)
    permutation = broadcast_to(factor.permutation_of_pivots(pivots), factors.shape[:-1])
    return _shaped(factor.lu_solve(factors, permutation, b, **form), vector)


_TRIANGULAR = {"upper triangular": False, "lower triangular": True}
_SYMMETRIC = {"sym": False, "symmetric": False, "her": True, "hermitian": True}
_DEFINITE = frozenset({"pos", "positive definite"})
_DIAGONALS = {"diagonal": 0, "tridiagonal": 1}
_GENERAL = frozenset({None, "gen", "general", "banded"})


def _structured(name: str, a: ArrayLike, assume_a: str | None, lower: bool) -> Array:
    """Return the matrix without the parts that its structure says are not read."""
    if assume_a in _GENERAL:
        return a
    if assume_a in _DIAGONALS:
        width = _DIAGONALS[assume_a]
        return fnp.triu(fnp.tril(a, width), -width)
    if assume_a in _SYMMETRIC:
        return mirrored(a, lower, conjugate=_SYMMETRIC[assume_a])
    if assume_a in _DEFINITE:
        return mirrored(a, lower, conjugate=True)
    if assume_a in _TRIANGULAR:
        return fnp.tril(a) if _TRIANGULAR[assume_a] else fnp.triu(a)
    known = ", ".join(map(repr, [*_DIAGONALS, *_SYMMETRIC, *sorted(_DEFINITE), *_TRIANGULAR, "general"]))
    raise ValueError(f"scipy.linalg.{name}: {assume_a} is not a recognized matrix structure. Use one of {known}.")


def solve(  # noqa: PLR0917  (SciPy's arguments)
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Array:
    """Solve ``a x = b``.

    Args:
        a: f[..., n, n].
        b: f[n] or f[..., n, m].
        lower: which triangle is read where ``assume_a`` says that the other one mirrors it.
        overwrite_a: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        assume_a: the structure of ``a``: 'diagonal', 'tridiagonal', 'banded', 'upper triangular', 'lower triangular',
            'symmetric', 'hermitian', 'positive definite' or 'general'. The derivative is zero in the parts that are not
            read; for a positive definite matrix it is that of a Hermitian one, with respect to all elements.
        transposed: whether to solve ``a.T x = b``.

    Returns:
        f[n] or f[..., n, m], like ``b``.

    Raises:
        LinAlgError: on NumPy, if a matrix is singular; on XLA the result is infinite or NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), assume_a="lower triangular")
        array([1., 2.])

    Rule: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 2.3.
    """
    del overwrite_a, overwrite_b
    refuse_infinite("solve", check_finite, a, b)
    a, b, vector = systems("scipy.linalg.solve", floats(a), floats(b))
    if assume_a in _TRIANGULAR:
        y = triangular_solve(a, b, lower=_TRIANGULAR[assume_a], transpose_a=transposed)
    elif assume_a in _DEFINITE and not (transposed and a.dtype.kind == "c"):
        y = cho_solve((cholesky(a, lower), lower), b)
    else:
        a = _structured("solve", a, assume_a, lower)
        y = fnp.linalg.solve(swapped(a) if transposed else a, b)
    return _shaped(y, vector)


def inv(
    a: ArrayLike,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Array:
    """Invert square matrices; ``assume_a`` and ``lower`` as in `solve`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.inv(np.array([[2.0, 0.0], [1.0, 4.0]]))
        array([[ 0.5  ,  0.   ],
               [-0.125,  0.25 ]])
    """
    del overwrite_a
    refuse_infinite("inv", check_finite, a)
    a = lapack_squares("scipy.linalg.inv", a)
    if assume_a in _TRIANGULAR or assume_a in _DEFINITE:
        return solve(a, identity_like(a), lower=lower, assume_a=assume_a)
    return fnp.linalg.inv(_structured("inv", a, assume_a, lower))


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Compute the determinant; its first and second derivatives are there for singular matrices too.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = np.array([[2.0, 1.0], [1.0, 4.0]])
        >>> fg.grad(fg.scipy.linalg.det)(a)
        array([[ 4., -1.],
               [-1.,  2.]])
    """
    del overwrite_a
    refuse_infinite("det", check_finite, a)
    a = squares("scipy.linalg.det", a)
    # SciPy multiplies in double precision.
    return fnp.linalg.det(fnp.astype(a, np.result_type(a.dtype, float)))
