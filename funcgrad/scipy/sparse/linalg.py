"""Systems with sparse matrices: ``scipy.sparse.linalg.spsolve``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._core.bind import Tracer
from funcgrad._core.trace.place import settled
from funcgrad._ops.linalg.sparse import sparse_solve
from funcgrad._public import publish
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value, is_sparse, promote
from funcgrad.scipy.sparse._array import SparseArray, as_sparse

__all__ = ["factorized", "spsolve"]

_ITERATIVE = (
    "an iterative solver stops somewhere near the solution. Use spsolve, or fg.implicit_root with it as the solver"
)
INSTEAD = {
    **dict.fromkeys(
        ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "lsmr", "lsqr", "minres", "qmr", "tfqmr"),
        f"{_ITERATIVE}.",
    ),
    "splu": "its factors are SciPy's own object. Use spsolve or factorized, or call it inside fg.intercept().",
    "spilu": "its factors are SciPy's own object. Use spsolve, or factorized.",
    "spsolve_triangular": "use spsolve, which finds that there is nothing to eliminate.",
    "inv": "the inverse of a sparse matrix is seldom sparse. Use spsolve.",
    "expm_multiply": "it has no derivative rule here. Use fg.scipy.linalg.expm of the whole matrix.",
    "eigsh": "it starts from random numbers. Use fg.scipy.linalg.eigh of the whole matrix.",
    "eigs": "it starts from random numbers. Use fg.scipy.linalg.eig of the whole matrix.",
    "svds": "it starts from random numbers. Use fg.scipy.linalg.svd of the whole matrix.",
}


def spsolve(A: ArrayLike, b: ArrayLike, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """Solve ``A x = b`` with a sparse matrix, by SuperLU on the host.

    Args:
        A: a sparse matrix of n rows and columns: SciPy's, of any format, which is a constant, or one of
            ``fg.scipy.sparse.coo_array``, whose elements have derivatives.
        b: f[n] or f[n, m].
        permc_spec: SciPy's; its default is taken.
        use_umfpack: SciPy's; SuperLU is taken.

    Returns:
        f[n] or f[n, m], like ``b``; f[n] of f[n, 1] too, as SciPy's.

    Raises:
        LinAlgError: on NumPy, if the matrix is singular; on XLA the result is NaN.

    Example:
        >>> import numpy as np
        >>> import scipy.sparse
        >>> import funcgrad as fg
        >>> a = scipy.sparse.csc_array(np.array([[2.0, 0.0], [1.0, 4.0]]))
        >>> fg.grad(lambda b: np.sum(fg.scipy.sparse.linalg.spsolve(a, b)))(np.array([2.0, 9.0]))
        array([0.375, 0.25 ])

    Rule: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 2.3, of the elements that are stored.
    """
    del permc_spec, use_umfpack
    a = as_sparse(A)
    if is_sparse(b) or isinstance(b, SparseArray):
        raise TypeError(f"scipy.sparse.linalg.spsolve: b is a sparse {b.shape}; needed an array. Take b.toarray().")
    b = fnp.asarray(as_value(b))
    if a.shape[0] != a.shape[1] or not 0 < len(b.shape) < 3 or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"scipy.sparse.linalg.spsolve: A is {a!r} and b {type_text(b.shape, b.dtype)}; needed a square matrix, and "
            "a vector or matrix with as many rows. Transpose b, or use fg.vmap for stacks."
        )
    data, b = promote(a.data, b)
    kind = np.result_type(data.dtype, np.float32 if data.dtype.kind == "f" else data.dtype)
    kind = kind if kind.kind in "fc" else np.dtype(float)
    y = sparse_solve(fnp.astype(data, kind), a.places, fnp.astype(b, kind))
    return y[:, 0] if len(y.shape) == 2 and y.shape[1] == 1 else y


def factorized(A: ArrayLike) -> Callable[[Any], Any]:  # noqa: N803  (SciPy's name)
    """Make the function that solves ``A x = b`` for each ``b`` it is called with, as `spsolve`.

    Example:
        >>> import numpy as np
        >>> import scipy.sparse
        >>> import funcgrad as fg
        >>> fg.scipy.sparse.linalg.factorized(scipy.sparse.eye_array(2))(np.array([3.0, 4.0]))
        array([3., 4.])
    """
    a = as_sparse(A)
    return lambda b: spsolve(a, b)


class _Factors:
    """SciPy's factors of a matrix, whose ``solve`` takes traced right sides, too.

    Args:
        A: the matrix, SciPy's or one of traced elements.
        theirs: SciPy's factors, if the matrix is SciPy's.
    """

    def __init__(self, A: ArrayLike, theirs: Any) -> None:  # noqa: N803  (SciPy's name)
        # SciPy's matrix may be written to later, and its factors do not change then.
        self.a, self.theirs = as_sparse(A.copy()), theirs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.theirs, name)

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any:
        """Return the solution for a right side. ``trans`` is ``"T"`` or ``"H"`` for the transposed matrix."""
        if self.theirs is not None and not isinstance(settled(rhs), Tracer):
            return self.theirs.solve(np.asarray(rhs), trans)
        a = self.a if trans == "N" else self.a.T
        return spsolve(SparseArray(fnp.conj(a.data), a.places, a.shape) if trans == "H" else a, rhs)


def _splu(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return SciPy's ``splu`` for right sides, or matrices, that are traced."""

    def splu(A: ArrayLike, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  (SciPy's name)
        return _Factors(A, None if isinstance(A, SparseArray) else theirs(A, *args, **kwargs))

    return splu


def _factorized(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return SciPy's ``factorized`` for right sides, or matrices, that are traced."""

    def made(A: ArrayLike) -> Callable[[Any], Any]:  # noqa: N803  (SciPy's name)
        solve, a = None if isinstance(A, SparseArray) else theirs(A), as_sparse(A.copy())
        return lambda b: spsolve(a, b) if solve is None or isinstance(settled(b), Tracer) else solve(np.asarray(b))

    return made


# ``fg.intercept()`` puts these in the place of SciPy's functions.
PREPARED = {"factorized": _factorized, "splu": _splu}


def __getattr__(name: str) -> Any:
    if name in INSTEAD:
        raise AttributeError(f"scipy.sparse.linalg.{name} has no derivative here: {INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = publish(__name__)
