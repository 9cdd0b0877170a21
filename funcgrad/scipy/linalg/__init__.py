"""``scipy.linalg`` for arrays of either engine and for tracers.

SciPy's functions accept no other arrays: call the functions here, which take stacks of matrices too. A singular matrix,
or one that is not positive definite, is a ``LinAlgError`` on NumPy, as in SciPy; on XLA the result is infinite or NaN,
as in JAX. Infinities and NaN in NumPy arrays raise ``ValueError`` unless ``check_finite`` is false, as in SciPy. JAX
arrays are not checked, nor is any array under ``jit`` and ``vmap``. SciPy's options that change no result
(``overwrite_a``, drivers) are accepted.
"""

from typing import Any

from funcgrad._public import publish
from funcgrad.scipy.linalg._banded import cho_solve_banded, cholesky_banded, solve_banded, solveh_banded
from funcgrad.scipy.linalg._equations import (
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
)
from funcgrad.scipy.linalg._factors import cho_factor, cholesky, lu, lu_factor, qr, rq
from funcgrad.scipy.linalg._functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    norm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from funcgrad.scipy.linalg._least_squares import lstsq, pinv, pinvh
from funcgrad.scipy.linalg._made import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    fiedler,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from funcgrad.scipy.linalg._orthogonal import orthogonal_procrustes, polar, subspace_angles
from funcgrad.scipy.linalg._refused import INSTEAD
from funcgrad.scipy.linalg._spectra import (
    eig,
    eig_banded,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvals_banded,
    eigvalsh,
    eigvalsh_tridiagonal,
    svd,
    svdvals,
)
from funcgrad.scipy.linalg._systems import cho_solve, det, inv, lu_solve, solve, solve_triangular

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "inv",
    "khatri_rao",
    "leslie",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "orthogonal_procrustes",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "rq",
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "subspace_angles",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]


def __getattr__(name: str) -> Any:
    if name in INSTEAD:
        raise AttributeError(f"scipy.linalg.{name} has no derivative here: {INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = publish(__name__)
