"""``numpy.linalg`` for arrays of either engine and for tracers; NumPy's own functions find these."""

from numpy.linalg import LinAlgError

from funcgrad._core.words import in_our_words
from funcgrad._public import publish
from funcgrad.numpy._contract.products import linalg_cross as cross
from funcgrad.numpy._contract.products import linalg_diagonal as diagonal
from funcgrad.numpy._contract.products import linalg_trace as trace
from funcgrad.numpy._contract.products import matmul, multi_dot, tensordot, vecdot
from funcgrad.numpy._contract.products import outer_of_vectors as outer
from funcgrad.numpy._layout.shape import matrix_transpose
from funcgrad.numpy.linalg._eigen import cond, eig, eigh, eigvals, eigvalsh, lstsq, matrix_rank, pinv, qr, svd, svdvals
from funcgrad.numpy.linalg._norms import matrix_norm, norm, vector_norm
from funcgrad.numpy.linalg._systems import cholesky, det, inv, matrix_power, slogdet, solve, tensorinv, tensorsolve

# These functions get errors in our words: the functions that they are made of do not know the user's call.
cross, diagonal, trace, matmul, multi_dot, outer, vecdot, tensorinv, tensorsolve = map(
    in_our_words, (cross, diagonal, trace, matmul, multi_dot, outer, vecdot, tensorinv, tensorsolve)
)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

__dir__ = publish(__name__)
