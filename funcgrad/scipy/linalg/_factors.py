"""Factors of ``scipy.linalg``: Cholesky's, triangular ones, orthonormal ones, and the polar form."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.linalg import factor
from funcgrad._ops.linalg.matrices import adjoint, identity_like
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy.linalg._arguments import array, lapack, lapack_squares, refuse, refuse_infinite


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Factor a Hermitian positive definite matrix: ``a = U^H U`` with ``U`` upper triangular, or ``L L^H``.

    Args:
        a: f[..., n, n]; only the triangle that is returned is read. The derivative is that of a Hermitian matrix, with
            respect to all elements, as in PyTorch.
        lower: whether to return the lower triangular ``L``.
        overwrite_a: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[..., n, n], zero in the other triangle.

    Raises:
        LinAlgError: on NumPy, if a matrix is not positive definite; on XLA the result is NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
        array([[2., 0.],
               [1., 2.]])

    Rule: Murray, "Differentiation of the Cholesky decomposition", 2016, equations 8 and 10.
    """
    del overwrite_a
    refuse_infinite("cholesky", check_finite, a)
    a = lapack_squares("scipy.linalg.cholesky", a)
    return factor.cholesky(a) if lower else adjoint(factor.cholesky(adjoint(a)))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Factor a Hermitian positive definite matrix for `cho_solve`; see `cholesky`.

    SciPy leaves numbers without meaning in the other triangle; here it is zero.

    Returns:
        the factor and ``lower``, once for each matrix of a stack.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> factored = linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
        >>> linalg.cho_solve(factored, np.array([8.0, 12.0]))
        array([1., 2.])
    """
    del overwrite_a
    refuse_infinite("cho_factor", check_finite, a)
    found = cholesky(a, lower)
    # For a stack, SciPy gives a flag for each matrix.
    return found, np.full(found.shape[:-2], lower) if len(found.shape) > 2 else lower


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Factor a square matrix with exchange of rows, for `lu_solve`.

    Args:
        a: f[..., n, n].
        overwrite_a: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

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
    del overwrite_a
    refuse_infinite("lu_factor", check_finite, a)
    factors, pivots, _ = factor.lu(lapack_squares("scipy.linalg.lu_factor", a))
    return factors, pivots


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Any, ...]:
    """Factor square matrices as ``a = p l u``, with ones on the diagonal of ``l``.

    Args:
        a: f[..., n, n]; SciPy's takes others.
        permute_l: whether to return ``p l`` and ``u``.
        overwrite_a: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        p_indices: whether ``p`` is given as the order of rows, so that ``a = l[p] u``.

    Returns:
        ``p``, ``l`` and ``u``; the permutation carries no derivative.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> p, l, u = linalg.lu(np.array([[0.0, 2.0], [4.0, 1.0]]))
        >>> p @ l @ u
        array([[0., 2.],
               [4., 1.]])
    """
    del overwrite_a
    refuse_infinite("lu", check_finite, a)
    a = array(a)
    if len(a.shape) > 1 and a.shape[-1] != a.shape[-2]:
        refuse("lu", f"the factors of matrices that are not square, {a.shape}, were asked for", "Use qr.")
    factors, _, order = factor.lu(lapack_squares("scipy.linalg.lu", a))
    lower, upper = fnp.tril(factors, -1) + identity_like(factors), fnp.triu(factors)
    size = a.shape[-1]
    moved = fnp.equal(order[..., None, :], np.arange(size)[:, None])
    if permute_l:
        return fnp.matmul(fnp.astype(moved, factors.dtype), lower), upper
    if p_indices:
        return fnp.astype(fnp.argsort(order, axis=-1), np.dtype(int) if size == 1 else order.dtype), lower, upper
    # For matrices of one element SciPy makes the permutation by ones_like.
    return fnp.astype(moved, factors.dtype if size == 1 else fnp.real(factors).dtype), lower, upper


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Factor matrices as ``a = q r``, with orthonormal columns and an upper triangle.

    Args:
        a: f[..., m, n].
        overwrite_a: ignored; no argument is overwritten.
        lwork: SciPy's.
        mode: 'economic', 'r', or 'full', SciPy's default. 'full' is refused for more rows than columns, because the
            columns that complete a basis are not unique.
        pivoting: refused.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        ``(q, r)``, or ``(r,)`` in the mode 'r'.

    Raises:
        UnsupportedFunctionError: pivoting, the mode 'raw', or 'full' if it adds columns.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> q, r = linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> (q @ r).round(6)
        array([[3., 1.],
               [4., 2.]])

    Rule: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2012.
    """
    del overwrite_a, lwork
    refuse_infinite("qr", check_finite, a)
    return _qr("qr", a, mode, pivoting)


def _qr(name: str, a: ArrayLike, mode: str, pivoting: bool) -> tuple[Any, ...]:
    a = lapack(a)
    rows, columns = a.shape[-2:]
    if pivoting:
        refuse(name, "pivoting was asked for, an order that depends on the numbers", "Leave it out.")
    if mode not in ("full", "economic", "r"):
        refuse(name, f"the mode is {mode!r}", "Use 'economic' or 'r'.")
    if mode == "r":
        r = fnp.linalg.qr(a, mode="r")
        missing = rows - r.shape[-2]
        return (fnp.pad(r, [(0, 0)] * (len(r.shape) - 2) + [(0, missing), (0, 0)]) if missing else r,)
    if mode == "full" and rows > columns:
        refuse(name, f"a basis was to be completed, for {a.shape}, in the mode 'full'", "Pass mode='economic'.")
    q, r = fnp.linalg.qr(a)
    return q, r


def rq(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Factor matrices as ``a = r q``, with an upper triangle and orthonormal rows.

    Args:
        a: f[m, n].
        overwrite_a: ignored; no argument is overwritten.
        lwork: SciPy's.
        mode: 'economic', 'r', or 'full', which is refused for more columns than rows.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        ``(r, q)``, or ``r`` in the mode 'r'.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import linalg
        >>> r, q = linalg.rq(np.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> (r @ q).round(6)
        array([[3., 1.],
               [4., 2.]])
    """
    del overwrite_a, lwork
    refuse_infinite("rq", check_finite, a)
    # Turned around in both axes and transposed, it is the other factorisation: LAPACK's reflectors are the same then.
    found = _qr("rq", adjoint(_turned(array(a))), mode, False)
    first, *rest = [_turned(adjoint(each)) for each in reversed(found)]
    return (first, *rest) if rest else first


def _turned(a: ArrayLike) -> Array:
    return a[..., ::-1, ::-1]
