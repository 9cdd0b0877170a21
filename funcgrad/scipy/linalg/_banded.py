"""Banded systems of ``scipy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.linalg.banded import banded_solve, diagonals, shifted, stacked, transposed
from funcgrad._ops.linalg.factor import cholesky
from funcgrad._ops.linalg.matrices import conjugated
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import promote
from funcgrad.scipy.linalg._arguments import floats, lapack, mirrored, of_bands, refuse_infinite


def _inexact(x: ArrayLike) -> Array:
    x = floats(x)
    return x if x.dtype.kind in "fc" else fnp.astype(x, np.dtype(float))


def _system(name: str, bands: ArrayLike, b: ArrayLike, count: int | None) -> tuple[Any, Any, bool]:
    """Return diagonals and right sides in one dtype and leading shape, and whether there is one right side."""
    bands, b = promote(_inexact(bands), _inexact(b))
    vector = len(b.shape) == 1
    b = b[:, None] if vector else b
    given = f"{type_text(bands.shape, bands.dtype)} and b {type_text(b.shape, b.dtype)}"
    if len(bands.shape) < 2 or b.shape[-2] != bands.shape[-1]:
        raise ValueError(
            f"scipy.linalg.{name}: shapes of ab and b are not compatible: ab is {given}, counting a vector as one "
            "column; needed as many rows of b as ab has columns. Transpose one of them."
        )
    if count is not None and bands.shape[-2] != count:
        raise ValueError(
            f"scipy.linalg.{name}: invalid values for the number of lower and upper diagonals: l+u+1 ({count}) does "
            f"not equal ab.shape[0] ({bands.shape[-2]}). Give the numbers of diagonals below and above the main one."
        )
    stack = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
    return broadcast_to(bands, (*stack, *bands.shape[-2:])), broadcast_to(b, (*stack, *b.shape[-2:])), vector


def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b`` with a banded matrix, in time and memory that grow with its diagonals.

    Args:
        l_and_u: the numbers of diagonals below and above the main one.
        ab: f[l + u + 1, n], the diagonals as rows, ``ab[u + i - j, j] = a[i, j]``; its derivative is zero in the
            corners that are not read.
        b: f[n] or f[n, m].
        overwrite_ab: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[n, m], like ``b``.

    Raises:
        LinAlgError: on NumPy, if the matrix is singular; on XLA the result is infinite or NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> ab = np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 0.0]])
        >>> fg.scipy.linalg.solve_banded((1, 1), ab, np.array([3.0, 3.0]))
        array([1., 1.])

    Rule: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 2.3, cut to the diagonals.
    """
    del overwrite_ab, overwrite_b
    refuse_infinite("solve_banded", check_finite, ab, b)
    if any(map(np.ndim, l_and_u)):
        raise ValueError(
            "scipy.linalg.solve_banded: l_and_u has lists of numbers, for a stack; needed two numbers. Solve "
            "matrices with other numbers of diagonals separately."
        )
    lower, upper = map(int, l_and_u)
    ab, b, vector = _system("solve_banded", ab, b, lower + upper + 1)
    y = banded_solve(ab, b, lower=lower, upper=upper)
    return y[..., 0] if vector else y


def _both_sides(bands: ArrayLike, lower: bool) -> Array:
    """Return all diagonals of a Hermitian matrix, from those on one side."""
    rows = diagonals(bands)
    main, *beside = rows if lower else rows[::-1]
    if main.dtype.kind == "c":
        main = fnp.astype(fnp.real(main), main.dtype)
    if lower:
        others = [shifted(conjugated(row), -k) for k, row in enumerate(beside, 1)]
        return stacked([*others[::-1], main, *beside])
    others = [shifted(conjugated(row), k) for k, row in enumerate(beside, 1)]
    return stacked([*beside[::-1], main, *others])


def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b`` with a Hermitian banded matrix, as a general one.

    Args:
        ab: f[u + 1, n], the diagonals as rows: of the upper triangle, the main one last, or of the lower one.
        b: f[n] or f[n, m].
        overwrite_ab: ignored; no argument is overwritten.
        overwrite_b: ignored; no argument is overwritten.
        lower: which triangle it is.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[n, m], like ``b``. A matrix that is not positive definite is solved too; SciPy refuses it.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solveh_banded(np.array([[2.0, 2.0], [1.0, 0.0]]), np.array([3.0, 3.0]), lower=True)
        array([1., 1.])
    """
    del overwrite_ab, overwrite_b
    refuse_infinite("solveh_banded", check_finite, ab, b)
    ab, b, vector = _system("solveh_banded", lapack(ab), lapack(b), None)
    if not b.shape[-2]:
        return b[..., 0] if vector else b
    count = ab.shape[-2] - 1
    y = banded_solve(_both_sides(ab, lower), b, lower=count, upper=count)
    return y[..., 0] if vector else y


def cholesky_banded(ab: ArrayLike, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Array:
    """Factor a Hermitian positive definite banded matrix, computed as a whole one.

    Args:
        ab: f[u + 1, n], the diagonals as rows, as in `solveh_banded`.
        overwrite_ab: ignored; no argument is overwritten.
        lower: which triangle it is, and is returned.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[u + 1, n], the diagonals of the factor; zero in the corners that are not read.

    Raises:
        LinAlgError: on NumPy, if the matrix is not positive definite; on XLA the result is NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)
        array([[2., 2.],
               [1., 0.]])
    """
    del overwrite_ab
    refuse_infinite("cholesky_banded", check_finite, ab)
    ab = lapack(ab)
    if 0 in ab.shape:
        return ab
    factor = cholesky(mirrored(of_bands(ab, lower), lower, conjugate=True))
    below = [_padded(fnp.diagonal(factor, -k, -2, -1), k) for k in range(ab.shape[-2])]
    if lower:
        return stacked(below)
    return stacked([shifted(conjugated(row), -k) for k, row in enumerate(below)][::-1])


def _padded(row: ArrayLike, k: int) -> Array:
    return fnp.pad(row, [(0, 0)] * (len(row.shape) - 1) + [(0, k)])


def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """Solve ``a x = b`` from the banded Cholesky factor of ``a``, as `cholesky_banded` gives it.

    Args:
        cb_and_lower: the diagonals of the factor, f[u + 1, n], and whether it is the lower one.
        b: f[n] or f[n, m].
        overwrite_b: ignored; no argument is overwritten.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> factor = np.array([[2.0, 2.0], [1.0, 0.0]])
        >>> fg.scipy.linalg.cho_solve_banded((factor, True), np.array([6.0, 7.0]))
        array([1., 1.])
    """
    del overwrite_b
    refuse_infinite("cho_solve_banded", check_finite, cb_and_lower[0], b)
    bands, lower = cb_and_lower
    bands, b, vector = _system("cho_solve_banded", bands, b, None)
    if not b.shape[-2]:
        return b[..., 0] if vector else b
    count = bands.shape[-2] - 1
    below, above = (count, 0) if lower else (0, count)
    turned = conjugated(transposed(bands, below, above))
    first, second = (bands, turned) if lower else (turned, bands)
    y = banded_solve(second, banded_solve(first, b, lower=count, upper=0), lower=0, upper=count)
    return y[..., 0] if vector else y
