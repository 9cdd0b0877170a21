"""Matrices that ``scipy.linalg`` builds from vectors and other matrices, and linear systems with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._core.lazy import is_since
from funcgrad._ops.linalg.matrices import conjugated
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import known_value, promote
from funcgrad.scipy.linalg._arguments import array, embedded, refuse, refuse_infinite, widened
from funcgrad.scipy.linalg._systems import solve


def _vector(name: str, x: ArrayLike) -> Array:
    x = array(x)
    if not x.shape:
        return fnp.reshape(x, (1,))
    return x


def _along(numbers: ArrayLike, places: np.ndarray) -> Array:
    """Return the elements at these indices of the last axis."""
    return fnp.take(numbers, places, axis=-1)


def toeplitz(c: ArrayLike, r: ArrayLike = None) -> Array:
    """Make a matrix with constant diagonals.

    Args:
        c: [..., m], the first column.
        r: [..., n], the first row, whose first number is not read; the conjugate of ``c`` if left out.

    Returns:
        [..., m, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.toeplitz([1, 2, 3], [1, 4])
        array([[1, 4],
               [2, 1],
               [3, 2]])
    """
    c = _vector("toeplitz", c)
    c, r = promote(c, conjugated(c) if r is None else _vector("toeplitz", r))
    rows, columns = c.shape[-1], r.shape[-1]
    numbers = fnp.concatenate([r[..., :0:-1], c], axis=-1)
    return _along(numbers, columns - 1 + np.subtract.outer(np.arange(rows), np.arange(columns)))


def hankel(c: ArrayLike, r: ArrayLike = None) -> Array:
    """Make a matrix with constant antidiagonals.

    Args:
        c: [m], the first column.
        r: [n], the last row, whose first number is not read; zeros if left out.

    Returns:
        [m, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.hankel([1, 2, 3])
        array([[1, 2, 3],
               [2, 3, 0],
               [3, 0, 0]])
    """
    c = _vector("hankel", c)
    c, r = promote(c, fnp.zeros_like(c) if r is None else _vector("hankel", r))
    numbers = fnp.concatenate([c, r[..., 1:]], axis=-1)
    return _along(numbers, np.add.outer(np.arange(c.shape[-1]), np.arange(r.shape[-1])))


def circulant(c: ArrayLike) -> Array:
    """Make a matrix whose columns are the first one, shifted circularly.

    Args:
        c: [..., n], the first column.

    Returns:
        [..., n, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.circulant([1, 2, 3])
        array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]])
    """
    c = _vector("circulant", c)
    places = np.arange(c.shape[-1])
    return _along(c, np.subtract.outer(places, places) % max(c.shape[-1], 1))


def companion(a: ArrayLike) -> Array:
    """Make the companion matrix of a polynomial.

    Args:
        a: f[..., n], its coefficients; the first must not be 0.

    Returns:
        f[..., n - 1, n - 1].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.companion(np.array([1.0, -10.0, 31.0, -30.0]))
        array([[ 10., -31.,  30.],
               [  1.,   0.,   0.],
               [  0.,   1.,   0.]])
    """
    a = array(a)
    if not a.shape or a.shape[-1] < 2:
        raise ValueError(f"scipy.linalg.companion: a has shape {a.shape}; needed at least two coefficients. Add one.")
    first = fnp.negative(a[..., 1:]) / (1.0 * a[..., :1])
    return _under(first, np.ones(first.shape[-1] - 1, first.dtype))


def _under(first: ArrayLike, below: ArrayLike) -> Array:
    """Return a matrix with a first row and numbers on the diagonal below the main one."""
    row = widened(fnp.swapaxes(first[..., None, :], -1, -2), 0, first.shape[-1] - 1)
    return fnp.swapaxes(row, -1, -2) + embedded(below, -1)


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Make a Leslie matrix: fecundities in the first row, survivals below the diagonal.

    Args:
        f: f[..., n].
        s: f[..., n - 1].

    Returns:
        f[..., n, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.leslie([0.1, 2.0], [0.2])
        array([[0.1, 2. ],
               [0.2, 0. ]])
    """
    f, s = promote(_vector("leslie", f), _vector("leslie", s))
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError(
            f"scipy.linalg.leslie: f is {type_text(f.shape, f.dtype)} and s {type_text(s.shape, s.dtype)}, and the "
            "length of s must be one less than that of f. Leave the last survival out."
        )
    return _under(f, s)


def fiedler(a: ArrayLike) -> Array:
    """Make the matrix of the distances between numbers.

    Args:
        a: f[..., n].

    Returns:
        f[..., n, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.fiedler([1, 4])
        array([[0, 3],
               [3, 0]])
    """
    a = _vector("fiedler", a)
    if a.shape == (0,) and not is_since("scipy", "1.18.0"):
        # Earlier releases of SciPy give a vector back.
        return a
    return fnp.absolute(a[..., :, None] - a[..., None, :])


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Make the matrix that multiplies a vector like ``numpy.convolve`` with ``a``.

    Args:
        a: f[..., m].
        n: the length of the vector.
        mode: 'full', 'valid' or 'same'.

    Returns:
        f[..., k, n], with as many rows as the convolution has numbers.

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.convolution_matrix([1, 2], 3)
        array([[1, 0, 0],
               [2, 1, 0],
               [0, 2, 1],
               [0, 0, 2]])
    """
    a = array(a)
    if n <= 0 or not a.shape or not a.shape[-1] or mode not in ("full", "valid", "same"):
        raise ValueError(
            f"scipy.linalg.convolution_matrix: a has shape {a.shape}, n is {n} and the mode {mode!r}; needed at least "
            "one number, n >= 1, and 'full', 'valid' or 'same'. Change what differs."
        )
    m = a.shape[-1]
    whole = toeplitz(widened(a, 0, n - 1), fnp.zeros_like(a, shape=(*a.shape[:-1], n)))
    if mode == "full":
        return whole
    cut = min(m, n) - 1 if mode == "valid" else (min(m, n) - 1) // 2
    kept = max(m, n) - min(m, n) + 1 if mode == "valid" else max(m, n)
    return whole[..., cut : cut + kept, :]


def block_diag(*arrs: Any) -> Array:
    """Put matrices along the diagonal of one that is zero elsewhere.

    Args:
        arrs: [..., m, n] each; a vector counts as a row, a number as one of one.

    Returns:
        [..., M, N], with the sums of the rows and columns.

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.block_diag([[1, 2]], 3)
        array([[1, 2, 0],
               [0, 0, 3]])
    """
    blocks = promote(*[_at_least_matrix(each) for each in arrs]) if arrs else [np.zeros((1, 0))]
    stack = np.broadcast_shapes(*[each.shape[:-2] for each in blocks])
    width = sum(each.shape[-1] for each in blocks)
    rows, before = [], 0
    for each in blocks:
        after = width - before - each.shape[-1]
        rows.append(widened(fnp.broadcast_to(each, (*stack, *each.shape[-2:])), before, after))
        before += each.shape[-1]
    return fnp.concatenate(rows, axis=-2)


def _at_least_matrix(x: ArrayLike) -> Array:
    x = array(x)
    return x if len(x.shape) > 1 else fnp.reshape(x, (1, x.shape[0] if x.shape else 1))


def khatri_rao(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute the Kronecker products of the columns of two matrices.

    Args:
        a: f[..., m, n].
        b: f[..., k, n].

    Returns:
        f[..., m k, n].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.khatri_rao([[1, 2]], [[3, 4], [5, 6]])
        array([[ 3,  8],
               [ 5, 12]])
    """
    a, b = array(a), array(b)
    if len(a.shape) < 2 or len(b.shape) < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"scipy.linalg.khatri_rao: a is {type_text(a.shape, a.dtype)} and b {type_text(b.shape, b.dtype)}; needed "
            "matrices with as many columns. Transpose one of them."
        )
    y = a[..., :, None, :] * b[..., None, :, :]
    return fnp.reshape(y, (*y.shape[:-3], y.shape[-3] * y.shape[-2], y.shape[-1]))


def _first_column_and_row(name: str, c_or_cr: ArrayLike) -> Array:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


def solve_toeplitz(c_or_cr: ArrayLike, b: ArrayLike, check_finite: bool = True) -> Array:
    """Solve ``T x = b`` with a matrix of constant diagonals, as a general system.

    Args:
        c_or_cr: f[n], the first column, or a pair of it and the first row.
        b: f[n] or f[n, m].
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[n] or f[n, m], like ``b``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve_toeplitz(np.array([2.0, 1.0]), np.array([3.0, 3.0]))
        array([1., 1.])
    """
    refuse_infinite("solve_toeplitz", check_finite, c_or_cr, b)
    return solve(_in_double(_first_column_and_row("solve_toeplitz", c_or_cr)), _in_double(array(b)))


def matmul_toeplitz(c_or_cr: ArrayLike, x: ArrayLike, check_finite: bool = False, workers: int | None = None) -> Array:
    """Compute ``T x`` with a matrix of constant diagonals, as a product with the whole matrix.

    Args:
        c_or_cr: f[m], the first column, or a pair of it and the first row, f[n].
        x: f[n] or f[n, k].
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.
        workers: SciPy's.

    Returns:
        f[m] or f[m, k], like ``x``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.matmul_toeplitz(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
        array([3., 3.])
    """
    del workers
    refuse_infinite("matmul_toeplitz", check_finite, c_or_cr, x)
    t, x = _first_column_and_row("matmul_toeplitz", c_or_cr), array(x)
    return fnp.matmul(_in_double(t), _in_double(x))


def _in_double(x: Any) -> Array:
    """Return an array in double precision, in which SciPy's functions of Toeplitz matrices compute."""
    return fnp.astype(x, np.result_type(x.dtype, np.float64))


def solve_circulant(  # noqa: PLR0917  (SciPy's arguments)
    c: ArrayLike,
    b: ArrayLike,
    singular: str = "raise",
    tol: float | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Array:
    """Solve ``C x = b`` with a circulant matrix, by Fourier transforms.

    Args:
        c: f[..., n], the first column.
        b: f[n, ...].
        singular: 'raise'; the least squares solution, 'lstsq', is refused.
        tol: up to this a transformed number of ``c`` counts as zero; the rounding of the greatest if left out.
        caxis: along which axis of ``c``.
        baxis: along which axis of ``b``.
        outaxis: where that axis of the result is put.

    Returns:
        the solution, of the broadcast shape of the other axes.

    Raises:
        LinAlgError: where the matrix is near singular, as far as its numbers are known.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.solve_circulant(np.array([2.0, 1.0]), np.array([3.0, 3.0]))
        array([1., 1.])
    """
    if singular != "raise":
        refuse("solve_circulant", f"singular={singular!r} was asked for", "Leave it out, or use lstsq of circulant(c).")
    shape = array(b).shape
    c, b = fnp.moveaxis(array(c), caxis, -1), fnp.moveaxis(array(b), baxis, -1)
    if c.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"scipy.linalg.solve_circulant: shapes of c, {c.shape}, and b, {b.shape}, with their axes last, are "
            "incompatible; needed the same length. Give caxis and baxis."
        )
    if not math.prod(b.shape):
        like = solve_circulant(np.ones(1, c.dtype), np.ones(1, b.dtype))
        return fnp.zeros(shape, like.dtype)
    found = fnp.fft.fft(c)
    _refuse_singular(found, tol)
    y = fnp.fft.ifft(fnp.fft.fft(b) / found)
    if c.dtype.kind != "c" and b.dtype.kind != "c":
        y = fnp.real(y)
    return fnp.moveaxis(y, -1, outaxis)


def _refuse_singular(found: Any, tol: float | None) -> None:
    known = known_value(found)
    if known is None:
        return
    sizes = np.abs(np.asarray(known))
    if not sizes.size:
        return
    least = sizes.max() * sizes.shape[-1] * np.finfo(sizes.dtype).eps if tol is None else tol
    if (sizes <= least).any():
        raise np.linalg.LinAlgError("near singular circulant matrix.")
