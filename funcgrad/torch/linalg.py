"""PyTorch's linear algebra: the functions of ``torch.linalg``, of tensors."""

import functools as _functools
import math as _math
import re as _re
from collections.abc import Callable as _Callable
from typing import Any as _Any

from numpy import arange as _arange
from numpy import asarray as _asarray
from numpy import dtype as _dtype
from numpy.linalg import LinAlgError as _Error
from numpy.linalg import matrix_rank as _matrix_rank

from funcgrad import numpy as _fnp
from funcgrad._public import publish as _publish
from funcgrad.autograd.extend import RETURN_TYPES as _RETURN_TYPES
from funcgrad.autograd.extend import TRACE as _TRACE
from funcgrad.scipy import linalg as _scipy
from funcgrad.torch import _names
from funcgrad.torch._factors import LINALG as _LINALG
from funcgrad.torch._functions import of_tensors as _of_tensors
from funcgrad.torch._functions import pivoted_rows as _pivoted_rows


class LinAlgError(_Error, RuntimeError):
    """``torch.linalg.LinAlgError``: a matrix has no result. It is NumPy's error and, as in PyTorch, a RuntimeError."""


def _in_words(name: str, text: str) -> str:
    """Return PyTorch's message for one of NumPy's."""
    found = _re.search(r"is \w+\[(?:\d+,)*?(\d+),(\d+)\]; needed square matrices", text)
    if found:
        return f"linalg.{name}: A must be batches of square matrices, but they are {found[1]} by {found[2]} matrices"
    return text if text.startswith(f"linalg.{name}:") else f"linalg.{name}: {text}"


def _published(function: _Callable[..., _Any]) -> _Callable[..., _Any]:
    made = _of_tensors(function)
    made.__doc__ = f"``torch.linalg.{function.__name__}``: {function.__doc__}"

    @_functools.wraps(made)
    def called(*args: _Any, **options: _Any) -> _Any:
        try:
            return made(*args, **options)
        except _Error as error:
            raise LinAlgError(_in_words(function.__name__, str(error))) from None

    return called


def _plain(name: str, ours: str = "", result: str = "") -> _Callable[..., _Any]:
    """Return NumPy's function, with PyTorch's named tuple of results."""
    function = getattr(_fnp.linalg, ours or name)

    def called(*args: _Any, **options: _Any) -> _Any:
        y = function(*args, **options)
        return _RETURN_TYPES[result](*y) if result else y

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"the tensor that ``numpy.linalg.{ours or name}`` gives."
    return _published(called)


det = _plain("det")
inv = _plain("inv")
matrix_power = _plain("matrix_power")
svdvals = _plain("svdvals")


@_published
def eigvals(A: _Any) -> _Any:  # noqa: N803  (PyTorch's name)
    """The eigenvalues of square matrices, which are complex numbers."""
    return _as_complex(_fnp.linalg.eigvals(A))


slogdet = _plain("slogdet", result="linalg_slogdet")


@_published
def eig(A: _Any) -> _Any:  # noqa: N803  (PyTorch's name)
    """The eigenvalues and eigenvectors of square matrices, which are complex."""
    return _RETURN_TYPES["linalg_eig"](*map(_as_complex, _fnp.linalg.eig(A)))


def _as_complex(x: _Any) -> _Any:
    return x if x.dtype.kind == "c" else x.to(_dtype(f"c{2 * x.dtype.itemsize}"))


tensorinv = _plain("tensorinv")
cond = _plain("cond")


@_published
def cholesky(A: _Any, *, upper: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The Cholesky factor of positive definite matrices."""
    return A.cholesky(upper)


@_published
def cholesky_ex(A: _Any, *, upper: bool = False, check_errors: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The Cholesky factor, and 0 for each matrix that is positive definite."""
    del check_errors
    return _RETURN_TYPES["linalg_cholesky_ex"](A.cholesky(upper), A.new_zeros(*A.shape[:-2], dtype="int32"))


@_published
def inv_ex(A: _Any, *, check_errors: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The inverse, and 0 for each matrix that has one."""
    del check_errors
    return _RETURN_TYPES["linalg_inv_ex"](_fnp.linalg.inv(A), A.new_zeros(*A.shape[:-2], dtype="int32"))


@_published
def solve(A: _Any, B: _Any, *, left: bool = True) -> _Any:  # noqa: N803  (PyTorch's names)
    """The solutions of ``A @ X == B``, or of ``X @ A == B``."""
    if not left:
        return _fnp.linalg.solve(A.mT, B.mT).mT
    is_vector = len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and B.shape == A.shape[:-1])
    return _fnp.linalg.solve(A, B.unsqueeze(-1)).squeeze(-1) if is_vector else _fnp.linalg.solve(A, B)


@_published
def solve_triangular(A: _Any, B: _Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> _Any:  # noqa: N803  (PyTorch's names)
    """The solutions of triangular systems."""
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    return _scipy.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular)


@_published
def eigh(A: _Any, UPLO: _Any = "L") -> _Any:  # noqa: N803  (PyTorch's names)
    """The eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return _RETURN_TYPES["linalg_eigh"](*_fnp.linalg.eigh(A, UPLO))


@_published
def eigvalsh(A: _Any, UPLO: _Any = "L") -> _Any:  # noqa: N803  (PyTorch's names)
    """The eigenvalues of symmetric or Hermitian matrices."""
    return _fnp.linalg.eigvalsh(A, UPLO)


@_published
def qr(A: _Any, mode: str = "reduced") -> _Any:  # noqa: N803  (PyTorch's name)
    """An orthogonal and an upper triangular matrix whose product is the matrix."""
    if mode == "r":
        return _RETURN_TYPES["linalg_qr"](A.new_zeros(0), _fnp.linalg.qr(A, "r"))
    return _RETURN_TYPES["linalg_qr"](*_fnp.linalg.qr(A, mode))


@_published
def svd(A: _Any, full_matrices: bool = True, *, driver: _Any = None) -> _Any:  # noqa: N803  (PyTorch's name)
    """The singular value decomposition, ``U @ diag(S) @ Vh``."""
    del driver
    return _RETURN_TYPES["linalg_svd"](*_fnp.linalg.svd(A, full_matrices=full_matrices))


@_published
def lstsq(A: _Any, B: _Any, rcond: _Any = None, *, driver: _Any = None) -> _Any:  # noqa: N803  (PyTorch's names)
    """The solutions of least squares."""
    del driver
    found = _fnp.linalg.lstsq(A, B, rcond=rcond)
    rank = _TRACE.constant(_asarray(found[2]))
    return _RETURN_TYPES["linalg_lstsq"](found[0], found[1], rank, A.new_zeros(0))


@_published
def pinv(A: _Any, *, atol: _Any = None, rtol: _Any = None, hermitian: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The pseudoinverse of matrices."""
    del atol
    return _fnp.linalg.pinv(A, hermitian=hermitian) if rtol is None else _fnp.linalg.pinv(A, rtol, hermitian)


@_published
def matrix_rank(A: _Any, *, atol: _Any = None, rtol: _Any = None, hermitian: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The number of singular values that are not 0."""
    rank = _matrix_rank(_asarray(A.detach()), atol, hermitian, rtol=rtol)
    return _TRACE.constant(_asarray(rank, "int64"))


@_published
def norm(A: _Any, ord: _Any = None, dim: _Any = None, keepdim: bool = False, *, dtype: _Any = None) -> _Any:  # noqa: A002, N803  (PyTorch's names)
    """The norm of vectors or matrices; of all elements by default."""
    A = A if dtype is None else A.to(dtype)  # noqa: N806  (PyTorch's name)
    if ord is None and dim is None:
        return _vector_norm(A, 2, None, keepdim)
    if isinstance(dim, int) or (dim is None and len(A.shape) == 1) or (ord is None):
        return _vector_norm(A, 2 if ord is None else ord, dim, keepdim)
    return _matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim)


@_published
def vector_norm(x: _Any, ord: _Any = 2, dim: _Any = None, keepdim: bool = False, *, dtype: _Any = None) -> _Any:  # noqa: A002  (PyTorch's name)
    """The norm of vectors, of any order."""
    return _vector_norm(x if dtype is None else x.to(dtype), ord, dim, keepdim)


def _vector_norm(x: _Any, order: float, dim: _Any, keepdim: bool) -> _Any:
    if order in (1, 2, _math.inf, -_math.inf):
        return x.norm(order, dim, keepdim)
    if order == 0:
        return (x != 0).to(x.dtype).sum(dim, keepdim)
    total = (x.abs() ** order).sum(dim, keepdim)
    return _fnp.where(total == 0, 0.0, _fnp.where(total == 0, 1.0, total) ** (1 / order))


@_published
def matrix_norm(A: _Any, ord: _Any = "fro", dim: _Any = (-2, -1), keepdim: bool = False, *, dtype: _Any = None) -> _Any:  # noqa: A002, N803  (PyTorch's names)
    """The norm of matrices."""
    return _matrix_norm(A if dtype is None else A.to(dtype), ord, dim, keepdim)


def _matrix_norm(x: _Any, order: _Any, dim: _Any, keepdim: bool) -> _Any:
    return _fnp.linalg.norm(x, order, tuple(dim), keepdim)


@_published
def matrix_exp(A: _Any) -> _Any:  # noqa: N803  (PyTorch's name)
    """The exponential of matrices."""
    return A.matrix_exp()


@_published
def multi_dot(tensors: _Any) -> _Any:
    """The product of matrices, in the fastest order."""
    function: _Any = _fnp.linalg.multi_dot
    return function(tensors)


@_published
def matmul(input: _Any, other: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
    """The product of matrices."""
    return input @ other


@_published
def cross(input: _Any, other: _Any, *, dim: int = -1) -> _Any:  # noqa: A002  (PyTorch's name)
    """The cross products of vectors of three elements."""
    sizes = [x.shape[dim] if -len(x.shape) <= dim < len(x.shape) else 3 for x in (input, other)]
    if sizes != [3, 3]:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    return _fnp.cross(input, other, axis=dim)


@_published
def vecdot(x: _Any, y: _Any, *, dim: int = -1) -> _Any:
    """The inner products along an axis."""
    return ((x.conj() if x.dtype.kind == "c" else x) * y).sum(dim)


@_published
def diagonal(A: _Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> _Any:  # noqa: N803  (PyTorch's name)
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


@_published
def tensorsolve(A: _Any, B: _Any, dims: _Any = None) -> _Any:  # noqa: N803  (PyTorch's names)
    """The solution of a system of tensors."""
    function: _Any = _fnp.linalg.tensorsolve
    return function(A, B, dims)


@_published
def lu_factor(A: _Any, *, pivot: bool = True) -> _Any:  # noqa: N803  (PyTorch's name)
    """Both triangular factors in one matrix, and the rows that were exchanged, counted from 1."""
    if not pivot:
        raise NotImplementedError(
            "linalg.lu_factor: pivot=False was asked for, and is a GPU's option in PyTorch. Leave it out."
        )
    factors, pivots = _scipy.lu_factor(A)
    counted = _asarray(pivots.detach() if hasattr(pivots, "detach") else pivots).astype("int32") + 1
    return _RETURN_TYPES["linalg_lu_factor"](factors, _TRACE.constant(counted))


@_published
def lu_factor_ex(A: _Any, *, pivot: bool = True, check_errors: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The result of `lu_factor`, and 0 for each matrix."""
    del check_errors
    found = lu_factor(A, pivot=pivot)
    return _RETURN_TYPES["linalg_lu_factor_ex"](*found, A.new_zeros(*A.shape[:-2], dtype="int32"))


@_published
def lu_solve(LU: _Any, pivots: _Any, B: _Any, *, left: bool = True, adjoint: bool = False) -> _Any:  # noqa: N803  (PyTorch's names)
    """The solution of ``A X = B``, or of ``X A = B``, by the result of `lu_factor`."""
    eye = LU.new_tensor(_asarray(_fnp.eye(LU.shape[-1])))
    lower, upper = LU.tril(-1) + eye, LU.triu()
    rows = eye.expand(*LU.shape)
    order = _pivoted_rows(pivots, LU.shape[-1])
    permutation = rows.gather(-2, _TRACE.constant(order).unsqueeze(-1).expand(*LU.shape))
    whole = permutation.mT @ lower @ upper
    whole = whole.mH if adjoint else whole
    return _fnp.linalg.solve(whole, B) if left else _fnp.linalg.solve(whole.mT, B.mT).mT


@_published
def solve_ex(A: _Any, B: _Any, *, left: bool = True, check_errors: bool = False) -> _Any:  # noqa: N803  (PyTorch's name)
    """The solution of ``A X = B``, and 0 for each matrix that has an inverse."""
    del check_errors
    y = _fnp.linalg.solve(A, B) if left else _fnp.linalg.solve(A.mT, B.mT).mT
    return _RETURN_TYPES["linalg_solve_ex"](y, A.new_zeros(*A.shape[:-2], dtype="int32"))


@_published
def lu(A: _Any, *, pivot: bool = True) -> _Any:  # noqa: N803  (PyTorch's name)
    """A permutation, a lower and an upper triangular matrix whose product is the matrix."""
    if not pivot:
        raise NotImplementedError(
            "linalg.lu: pivot=False was asked for, and is a GPU's option in PyTorch. Leave it out."
        )
    return _RETURN_TYPES["linalg_lu"](*_scipy.lu(A))


@_published
def vander(x: _Any, *, N: int | None = None) -> _Any:  # noqa: N803  (PyTorch's name)
    """The matrix of ascending powers of vectors."""
    powers = _arange(x.shape[-1] if N is None else N)
    return x.unsqueeze(-1) ** _TRACE.constant(powers)


globals().update(_LINALG)


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.linalg", name, globals())


__dir__ = _publish(__name__)
