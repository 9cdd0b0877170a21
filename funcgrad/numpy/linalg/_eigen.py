"""Eigenvalues, singular values, orthonormal columns and functions of these, as in ``numpy.linalg``.

If eigenvalues or singular values are equal, the derivative of their vectors is NaN.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.lazy import is_since
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.arithmetic import eq_p, ne_p
from funcgrad._ops.elementwise.cast import cast, real_p
from funcgrad._ops.elementwise.logic import isfinite_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg import general, orthogonal, spectral
from funcgrad._ops.linalg.matrices import adjoint, product
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.concrete import concrete_value, known_value
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode, refuse_option
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._contract.products import matmul
from funcgrad.numpy._reduce.reductions import INDEX, all_, any_, as_array, count_nonzero, max_, min_
from funcgrad.numpy._reduce.statistics import squared
from funcgrad.numpy.linalg._matrices import matrices, numbers, squares
from funcgrad.numpy.linalg._norms import norm
from funcgrad.numpy.linalg._systems import inv

# NumPy has no public names for the types of these results.
_ONE = np.ones((1, 1))
_EigResult = type(np.linalg.eig(_ONE))
_EighResult = type(np.linalg.eigh(_ONE))
_SVDResult = type(np.linalg.svd(_ONE))
_QRResult = type(np.linalg.qr(_ONE))

_UNSET: Any = object()
Triangle = Literal["L", "U", "l", "u"]


@implements(np.linalg.eigh)
def eigh(a: ArrayLike, UPLO: Triangle = "L") -> Any:  # noqa: N803  (NumPy's name)
    """Return ``numpy.linalg.eigh``, which reads one triangle of each matrix.

    The derivative is that of a Hermitian matrix, by all elements, as in PyTorch. The derivative of the vectors is NaN
    if eigenvalues are equal.
    """
    return _EighResult(*_eigh("linalg.eigh", a, UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: ArrayLike, UPLO: Triangle = "L") -> Array:  # noqa: N803  (NumPy's name)
    """Return ``numpy.linalg.eigvalsh``, which reads one triangle of each matrix; see `eigh`."""
    return _eigh("linalg.eigvalsh", a, UPLO)[0]


def _eigh(name: str, a: ArrayLike, triangle: str) -> tuple[Any, Any]:
    if triangle not in ("L", "U", "l", "u"):
        raise ValueError(
            f"{name}: UPLO is {shown(triangle)}; needed 'L' or 'U', the triangle that is read. Leave it out for "
            "the lower."
        )
    return spectral.eigh(squares(name, a), lower=triangle in ("L", "l"))


@beside_numpys(np.linalg.eig)
def eig(a: ArrayLike) -> Any:
    """Return ``numpy.linalg.eig``. Before NumPy 2.5 its dtype depends on the eigenvalues of a real matrix.

    There a real matrix has to be known: under ``jit`` write ``a.astype(complex)``. The vectors are LAPACK's, of length
    1 and with a real largest component. If eigenvalues are equal, their derivative is NaN. XLA supports it on CPUs.
    """
    a = squares("linalg.eig", a)
    w, v = general.eig(a)
    whole = is_since("numpy", "2.5.0") or not _all_real("linalg.eig", a, w)
    return _EigResult(w, v) if whole else _EigResult(*[bind(real_p, (x,), NO_PARAMS) for x in (w, v)])


@beside_numpys(np.linalg.eigvals)
def eigvals(a: ArrayLike) -> Array:
    """``numpy.linalg.eigvals``; see `eig`."""
    return (
        general.eig(squares("linalg.eigvals", a))[0]
        if is_since("numpy", "2.5.0")
        else real_eigvals("linalg.eigvals", a)
    )


def real_eigvals(name: str, a: ArrayLike) -> Array:
    """Return the eigenvalues of known matrices: real ones, if the matrices and all eigenvalues are real."""
    a = squares(name, a)
    w = general.eig(a)[0]
    return bind(real_p, (w,), NO_PARAMS) if _all_real(name, a, w) else w


def _all_real(name: str, a: ArrayLike, w: ArrayLike) -> bool:
    if a.dtype.kind == "c":
        return False
    asked = f"numpy.{name} of a real matrix, whose dtype depends on them (a.astype(complex) has one),"
    return bool(concrete_value(np.all(np.imag(w) == 0), asked))


@implements(np.linalg.svd)
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return ``numpy.linalg.svd``. The derivative of the vectors is NaN if singular values are equal.

    If the matrices are not square, ``full_matrices=True`` adds vectors that complete a basis. One real vector has a
    derivative. Several, and complex ones, are not unique: their derivative is refused, or NaN where the numbers are
    not known yet and in forward mode. The other vectors and the values have theirs.
    """
    a = matrices("linalg.svd", a)
    _refuse_hermitian("linalg.svd", hermitian)
    if not compute_uv:
        return spectral.svd(a)[1]
    return _SVDResult(*(spectral.full_svd if full_matrices else spectral.svd)(a))


def _refuse_hermitian(name: str, hermitian: bool) -> None:
    if hermitian:
        refuse_option(name, "hermitian=True", "Leave it out: the result is the same.")


@implements(np.linalg.svdvals)
def svdvals(x: ArrayLike, /) -> Array:
    """``numpy.linalg.svdvals``."""
    return spectral.svd(matrices("linalg.svdvals", x, "x"))[1]


@implements(np.linalg.qr)
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Return ``numpy.linalg.qr`` in the modes 'reduced' and 'r', and 'complete' if that is the same as 'reduced'."""
    a = matrices("linalg.qr", a)
    rows, columns = a.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and rows <= columns):
        refuse_option("linalg.qr", f"mode={mode!r}", "Use 'reduced' or 'r'.")
    if rows < columns:
        # The columns beyond the square do not influence q.
        axis = len(a.shape) - 1
        q, r = orthogonal.qr(slice_axis(a, axis, 0, rows))
        r = concatenate([r, product(adjoint(q), slice_axis(a, axis, rows, columns))], axis)
    else:
        q, r = orthogonal.qr(a)
    return r if mode == "r" else _QRResult(q, r)


@implements(np.linalg.pinv)
def pinv(a: ArrayLike, rcond: float | None = None, hermitian: bool = False, *, rtol: ArrayLike = _UNSET) -> Array:
    """Return ``numpy.linalg.pinv``, with one cutoff for all matrices. The derivative assumes a constant rank."""
    a = matrices("linalg.pinv", a)
    _refuse_hermitian("linalg.pinv", hermitian)
    if rcond is not None and rtol is not _UNSET:
        raise ValueError("linalg.pinv: both rcond and rtol were given; needed one of them, which are the same.")
    cutoff: Any = rcond
    if rcond is None:
        cutoff = 1e-15 if rtol is _UNSET else _precision(a) if rtol is None else rtol
    if np.shape(cutoff):
        refuse_option("linalg.pinv", "rtol for each matrix on its own", "Pass one number.")
    return orthogonal.pinv(a, float(cutoff))


def _precision(a: ArrayLike) -> float:
    """Return NumPy's cutoff, relative to the greatest singular value, below which a value counts as zero."""
    return max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)


@implements(np.linalg.lstsq)
@in_numpys_mode
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """Return ``numpy.linalg.lstsq``: the solution, sums of squared residuals, rank and singular values.

    NumPy leaves the sums out if the rank is less than the number of columns. If the numbers are not known, as under
    ``jit``, the length of the result cannot depend on them, and the sums are NaN instead.
    """
    a, b = promote(matrices("linalg.lstsq", a), numbers("linalg.lstsq", b, "b"))
    if len(a.shape) != 2 or len(b.shape) not in (1, 2) or a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError(
            f"linalg.lstsq: a is {type_text(a.shape, a.dtype)} and b {type_text(b.shape, b.dtype)}; needed a matrix, "
            "and a vector or a matrix with as many rows. For stacks, use linalg.pinv, or vmap."
        )
    cutoff = _precision(a) if rcond is None else float(np.finfo(a.dtype).eps) if rcond == -1 else float(rcond)
    x = matmul(orthogonal.pinv(a, cutoff), b)
    values = spectral.svd(a)[1]
    # LAPACK counts in the integers of C.
    rank = cast(matrix_rank(a, rtol=cutoff), np.dtype(np.intc))
    left = squared(b - matmul(a, x))
    known = known_value(rank)
    short = known is not None and int(known) < a.shape[1]
    if a.shape[0] <= a.shape[1] or short:
        return x, np.empty(0, left.dtype), rank, values
    columns = left if len(b.shape) == 2 else expand_dims(left, (1,))
    sums = reduce_sum(columns, (0,))
    return x, select(rank == a.shape[1], sums, np.nan), rank, values


@implements(np.linalg.matrix_rank)
@in_numpys_mode
def matrix_rank(A: ArrayLike, tol: ArrayLike = None, hermitian: bool = False, *, rtol: ArrayLike = None) -> Array:  # noqa: N803  (NumPy's name)
    """Return ``numpy.linalg.matrix_rank``, a count without derivative."""
    if tol is not None and rtol is not None:
        raise ValueError("linalg.matrix_rank: both tol and rtol were given; needed one of them.")
    _refuse_hermitian("linalg.matrix_rank", hermitian)
    a = numbers("linalg.matrix_rank", A, "A")
    if len(a.shape) < 2:
        return cast(any_(bind(ne_p, (a, 0), NO_PARAMS)), INDEX)
    values = spectral.svd(a)[1]
    if tol is None:
        relative = _precision(a) if rtol is None else _column(rtol)
        tol = max_(values, -1, keepdims=True, initial=0.0) * relative
    else:
        tol = _column(tol)
    return count_nonzero(values > tol, -1)


def _column(x: ArrayLike) -> Array:
    """Return a number for each matrix, for comparison with each of its singular values."""
    x = as_array(x)
    return expand_dims(x, (len(x.shape),))


@implements(np.linalg.cond)
@in_numpys_mode
def cond(x: ArrayLike, p: ArrayLike = None) -> Any:
    """Return ``numpy.linalg.cond``.

    For a singular matrix it is infinite for the orders 2 and -2, else an error on NumPy.
    """
    x = matrices("linalg.cond", x, "x")
    if not x.shape[-2] or not x.shape[-1]:
        raise np.linalg.LinAlgError(
            f"linalg.cond: the argument x is {type_text(x.shape, x.dtype)}; needed matrices that are not empty."
        )
    if p not in (None, 2, -2):
        return norm(x, p, axis=(-2, -1)) * norm(inv(x), p, axis=(-2, -1))
    # LAPACK may refuse infinite elements.
    finite = all_(bind(isfinite_p, (x,), NO_PARAMS), (-2, -1))
    # LAPACK gives -0.0 for some singular values, and the quotient by 0.0 is positive.
    values = abs(spectral.svd(select(expand_dims(finite, (len(x.shape) - 2, len(x.shape) - 1)), x, 1))[1])
    greatest, least = max_(values, -1), min_(values, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # As in NumPy, a singular matrix gives no warning.
        ratio = select(finite, least / greatest if p == -2 else greatest / least, np.nan)
    # If the matrix has no NaN, NumPy calls it singular.
    known = all_(bind(eq_p, (x, x), NO_PARAMS), (-2, -1))
    return select(known & bind(ne_p, (ratio, ratio), NO_PARAMS), np.inf, ratio)
