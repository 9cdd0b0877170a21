"""Eigenvalues and singular values of ``scipy.linalg``, of bands and pairs of matrices too.

Eigenvectors of equal eigenvalues have no derivative: it is NaN. The signs of vectors are LAPACK's; other drivers may
choose other signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.linalg import spectral
from funcgrad._ops.linalg.matrices import adjoint, product
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import promote
from funcgrad.scipy.linalg._arguments import (
    array,
    embedded,
    lapack,
    lapack_squares,
    mirrored,
    of_bands,
    picked,
    refuse,
    refuse_infinite,
)
from funcgrad.scipy.linalg._factors import cholesky

_TYPES = (1, 2, 3)


def eigh(
    a: ArrayLike,
    b: ArrayLike = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,  # noqa: A002  (SciPy's name)
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Find the eigenvalues of Hermitian matrices in ascending order, and the vectors as columns: ``a v = w b v``.

    Args:
        a: f[..., n, n]; only one triangle is read. Without ``b`` the derivative is that of a Hermitian matrix, with
            respect to all elements; with ``b`` it is zero in the other triangle.
        b: f[..., n, n], positive definite; only the same triangle is read. Its derivative is with respect to all
            elements.
        lower: whether the lower triangle is read.
        eigvals_only: whether to return only the values.
        overwrite_a: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        type: with ``b``: 1 for ``a v = w b v``, 2 for ``a b v = w v``, 3 for ``b a v = w v``.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        subset_by_index: the first and the last of the values to return.
        subset_by_value: refused: the number of values would depend on the numbers.
        driver: SciPy's; there is one way here.

    Returns:
        f[..., n], and f[..., n, n] unless ``eigvals_only`` is set.

    Raises:
        LinAlgError: on NumPy, if ``b`` is not positive definite; on XLA the result is NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a, b = np.array([[2.0, 0.0], [0.0, 3.0]]), np.array([[4.0, 0.0], [0.0, 1.0]])
        >>> fg.scipy.linalg.eigh(a, b, eigvals_only=True)
        array([0.5, 3. ])

    Rule: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 3.1, of the standard problem that the Cholesky factor of ``b`` makes of it.
    """
    del overwrite_a, overwrite_b, driver
    refuse_infinite("eigh", check_finite, a, b)
    w, v = _eigh(a, b, lower, type)
    kept = picked("eigh", w, subset_by_index, subset_by_value)
    return w[..., kept] if eigvals_only else (w[..., kept], v[..., kept])


def _eigh(a: ArrayLike, b: ArrayLike, lower: bool, kind: int) -> tuple[Any, Any]:
    a = lapack_squares("scipy.linalg.eigh", a)
    if kind not in _TYPES:
        raise ValueError(f"scipy.linalg.eigh: type is {kind}; needed 1, 2 or 3, the form of the problem. Pass one.")
    if b is None:
        return spectral.eigh(a, lower=bool(lower))
    a, b = promote(a, lapack_squares("scipy.linalg.eigh", b, "b"))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [fnp.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    factor = cholesky(a=b, lower=True) if lower else adjoint(cholesky(b, lower=False))
    whole = mirrored(a, lower, conjugate=True)
    if kind == 1:
        inner = triangular_solve(factor, whole)
        inner = triangular_solve(factor, inner, left_side=False, transpose_a=True, conjugate_a=True)
    else:
        inner = product(product(adjoint(factor), whole), factor)
    w, v = spectral.eigh(inner)
    if kind == 3:
        return w, product(factor, v)
    return w, triangular_solve(factor, v, transpose_a=True, conjugate_a=True)


def eigvalsh(
    a: ArrayLike,
    b: ArrayLike = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,  # noqa: A002  (SciPy's name)
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Array:
    """Find the eigenvalues of Hermitian matrices: `eigh` with ``eigvals_only``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(lambda a: fg.scipy.linalg.eigvalsh(a)[0])(np.array([[2.0, 0.0], [0.0, 3.0]]))
        array([[1., 0.],
               [0., 0.]])
    """
    del overwrite_a, overwrite_b, driver
    refuse_infinite("eigvalsh", check_finite, a, b)
    w = _eigh(a, b, lower, type)[0]
    return w[..., picked("eigvalsh", w, subset_by_index, subset_by_value)]


def eig(  # noqa: PLR0917  (SciPy's arguments)
    a: ArrayLike,
    b: ArrayLike = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Find the eigenvalues of square matrices, always complex, and the vectors as columns.

    Args:
        a: f[..., n, n]; of real matrices the vectors need known numbers, on which SciPy's dtype depends.
        b: f[..., n, n], invertible, for ``a v = w b v``; only for the values.
        left: refused.
        right: whether to return the vectors.
        overwrite_a: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        homogeneous_eigvals: refused.

    Returns:
        c[..., n], and f[..., n, n] or c[..., n, n] with ``right``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]), right=False).imag
        array([ 1., -1.])

    Rule: Giles, section 3.1; the vectors' lengths and phases are LAPACK's.
    """
    del overwrite_a, overwrite_b
    refuse_infinite("eig", check_finite, a, b)
    if left or homogeneous_eigvals:
        refuse("eig", "left vectors or homogeneous values were asked for", "Use eig(a) of the right ones.")
    a = lapack_squares("scipy.linalg.eig", a)
    if b is not None:
        if right:
            refuse("eig", "the vectors of a pair of matrices were asked for", "Pass right=False for the values alone.")
        a = fnp.linalg.solve(b, a)
    w, v = fnp.linalg.eig(a) if right else (fnp.linalg.eigvals(fnp.astype(a, np.result_type(a.dtype, 1j))), None)
    w = fnp.astype(w, np.result_type(w.dtype, np.complex64))
    return (w, v) if right else w


def eigvals(
    a: ArrayLike,
    b: ArrayLike = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Find the eigenvalues of square matrices: `eig` without vectors.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]])).imag
        array([ 1., -1.])
    """
    del overwrite_a
    refuse_infinite("eigvals", check_finite, a)
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


def eigh_tridiagonal(  # noqa: PLR0917  (SciPy's arguments)
    d: ArrayLike,
    e: ArrayLike,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Find the eigenvalues of real symmetric tridiagonal matrices, computed as those of whole ones.

    Args:
        d: f[n], the diagonal.
        e: f[n - 1], the entries next to the diagonal.
        eigvals_only: whether to return only the values.
        select: 'a' for all, 'i' for a range of them by number; 'v', by value, is refused.
        select_range: the first and the last number.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        tol: SciPy's.
        lapack_driver: SciPy's.

    Returns:
        f[n], and f[n, n] unless ``eigvals_only`` is set.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eigh_tridiagonal(np.array([1.0, 1.0]), np.array([0.5]), eigvals_only=True)
        array([0.5, 1.5])
    """
    del tol, lapack_driver
    refuse_infinite("eigh_tridiagonal", check_finite, d, e)
    d, e = promote(array(d), array(e))
    if d.dtype.kind == "c":
        raise TypeError(
            "scipy.linalg.eigh_tridiagonal: the diagonals are complex; Only real arrays currently supported. Use "
            "eig_banded, which takes Hermitian matrices."
        )
    return _banded("eigh_tridiagonal", embedded(d, 0) + embedded(e, -1), True, eigvals_only, (select, select_range))


def eigvalsh_tridiagonal(  # noqa: PLR0917  (SciPy's arguments)
    d: ArrayLike,
    e: ArrayLike,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Find the eigenvalues of real symmetric tridiagonal matrices: `eigh_tridiagonal` with ``eigvals_only``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eigvalsh_tridiagonal(np.array([1.0, 1.0]), np.array([0.5])).round(6)
        array([0.5, 1.5])
    """
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite, tol, lapack_driver)


def eig_banded(  # noqa: PLR0917  (SciPy's arguments)
    a_band: ArrayLike,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Find the eigenvalues of Hermitian banded matrices, computed as those of whole ones.

    Args:
        a_band: f[u + 1, n], the diagonals as rows: of the upper triangle, the main one last, or of the lower one.
        lower: which of these.
        eigvals_only: whether to return only the values.
        overwrite_a_band: ignored; no argument is overwritten.
        select: as in `eigh_tridiagonal`.
        select_range: the same.
        max_ev: SciPy's.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n], and f[n, n] unless ``eigvals_only`` is set.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eig_banded(np.array([[1.0, 1.0], [0.5, 0.0]]), lower=True, eigvals_only=True)
        array([0.5, 1.5])
    """
    del overwrite_a_band, max_ev
    refuse_infinite("eig_banded", check_finite, a_band)
    return _banded("eig_banded", of_bands(array(a_band), lower), lower, eigvals_only, (select, select_range))


def eigvals_banded(
    a_band: ArrayLike,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Array:
    """Find the eigenvalues of Hermitian banded matrices: `eig_banded` with ``eigvals_only``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.eigvals_banded(np.array([[1.0, 1.0], [0.5, 0.0]]), lower=True).round(6)
        array([0.5, 1.5])
    """
    return eig_banded(a_band, lower, True, overwrite_a_band, select, select_range, 0, check_finite)


def _banded(name: str, a: ArrayLike, lower: bool, eigvals_only: bool, chosen: tuple[str, Any]) -> Any:
    select, bounds = chosen
    by_value = bounds if select in ("v", "value", 1) else None
    by_index = bounds if select in ("i", "index", 2) else None
    w, v = spectral.eigh(mirrored(lapack_squares(f"scipy.linalg.{name}", a), lower, conjugate=True))
    kept = picked(name, w, by_index, by_value)
    return w[..., kept] if eigvals_only else (w[..., kept], v[..., kept])


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Find the singular values in descending order, and their vectors: ``a = u s vh``.

    Args:
        a: f[..., m, n].
        full_matrices: whether the vectors are a whole basis, SciPy's default. The derivative of vectors that complete
            it is as in ``numpy.linalg.svd``.
        compute_uv: whether to return the vectors.
        overwrite_a: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        lapack_driver: SciPy's.

    Returns:
        ``u, s, vh``, or ``s``.

    Raises:
        NotDifferentiableError: a derivative was asked of several vectors that complete a basis.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
        array([4., 3.])

    Rule: Townsend, "Differentiating the singular value decomposition", 2016.
    """
    del overwrite_a, lapack_driver
    refuse_infinite("svd", check_finite, a)
    found = fnp.linalg.svd(lapack(a), full_matrices=full_matrices, compute_uv=compute_uv)
    # SciPy's result is a plain tuple, NumPy's has names.
    return tuple(found) if compute_uv else found


def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Find the singular values in descending order.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
        array([4., 3.])
    """
    del overwrite_a
    refuse_infinite("svdvals", check_finite, a)
    return fnp.linalg.svdvals(lapack(a))
