"""Least squares and pseudoinverses of ``scipy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.linalg.matrices import product
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import known_value, promote
from funcgrad.scipy.linalg._arguments import lapack, lapack_squares, mirrored, refuse, refuse_infinite


def lstsq(  # noqa: PLR0917  (SciPy's arguments)
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Find the least squares solution of least norm; the derivative holds while the rank does not change.

    Args:
        a: f[..., m, n].
        b: f[m] or f[..., m, k].
        cond: singular values up to this, relative to the greatest, count as zero.
        overwrite_a: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        lapack_driver: SciPy's; there is one way here.

    Returns:
        the solution, the sums of squared residuals (one number for a vector; none if the matrix does not have more rows
        than columns, or the rank is smaller), the rank and the singular values.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> fg.scipy.linalg.lstsq(a, np.array([1.0, 2.0, 3.0]))[0].round(6)
        array([1., 1.])

    Rule: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973.
    """
    del overwrite_a, overwrite_b, lapack_driver
    refuse_infinite("lstsq", check_finite, a, b)
    a, b = promote(lapack(a), lapack(b))
    if len(a.shape) > 2 or len(b.shape) > 2:
        return _lstsq_of_stacks(a, b, cond)
    x, left, rank, values = fnp.linalg.lstsq(a, b, -1 if cond is None else cond)
    if not left.shape[0]:
        left = fnp.astype(left, x.dtype) if 0 not in a.shape else left
    elif len(x.shape) == 1:
        left = left[0]
    return x, left, fnp.astype(rank, np.dtype(int)), values


def _lstsq_of_stacks(a: ArrayLike, b: ArrayLike, cond: float | None) -> tuple[Any, Any, Any, Any]:
    """Find the solutions for stacks of matrices. All need the same rank, which decides the shape of the residuals."""
    vector = len(b.shape) == 1
    b = b[:, None] if vector else b
    if len(a.shape) < 2 or a.shape[-2] != b.shape[-2]:
        raise ValueError(
            f"scipy.linalg.lstsq: Shape mismatch: a and b should have the same number of rows ({a.shape[-2:-1]} != "
            f"{b.shape[-2:-1]}). Give a vector without other axes, or a column b[..., None]."
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    cutoff = float(np.finfo(a.dtype).eps) if cond is None else float(cond)
    x = product(fnp.linalg.pinv(a, cutoff), b)
    rank = fnp.linalg.matrix_rank(a, rtol=cutoff)
    full = rank == a.shape[-1]
    known = known_value(full)
    sums = fnp.sum(abs(b - product(a, x)) ** 2, axis=-2)
    left = fnp.where(full[..., None], sums, np.nan)
    if a.shape[-2] <= a.shape[-1] or (known is not None and known.size and not known.any()):
        left = fnp.zeros((*batch, 0), x.dtype)
    elif vector:
        left = left[..., 0]
    elif known is not None and not known.all():
        raise ValueError(
            "scipy.linalg.lstsq: some matrices of the stack have full rank and others have not, so that the sums of "
            "residuals have several shapes; needed the same rank. Solve them separately."
        )
    return x[..., 0] if vector else x, left, rank, fnp.linalg.svdvals(a)


def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the pseudoinverse; its derivative holds while the rank does not change.

    Args:
        a: f[..., m, n].
        atol: refused but for 0.
        rtol: singular values up to this, relative to the greatest, count as zero; ``max(m, n)`` units of rounding.
        return_rank: whether to return the rank too.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[..., n, m], or a pair of it and the rank.

    Raises:
        UnsupportedFunctionError: an absolute cutoff was given.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.pinv(np.array([[2.0], [0.0]]))
        array([[0.5, 0. ]])

    Rule: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973,
    equation 4.12.
    """
    refuse_infinite("pinv", check_finite, a)
    a = lapack(a)
    if atol:
        refuse("pinv", f"atol is {atol}, a cutoff that is not relative to the singular values", "Pass rtol instead.")
    found = fnp.linalg.pinv(a, rtol=rtol)
    return (found, fnp.linalg.matrix_rank(a, rtol=rtol)) if return_rank else found


def pinvh(
    a: ArrayLike,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the pseudoinverse of a Hermitian matrix; only one triangle is read. Otherwise as `pinv`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.pinvh(np.array([[2.0, 7.0], [0.0, 4.0]])).round(6) + 0.0
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
    """
    refuse_infinite("pinvh", check_finite, a)
    a = mirrored(lapack_squares("scipy.linalg.pinvh", a), lower, conjugate=True)
    return pinv(a, atol=atol, rtol=rtol, return_rank=return_rank, check_finite=False)
