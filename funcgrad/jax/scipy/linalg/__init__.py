"""Linear algebra: the functions of ``funcgrad.scipy.linalg`` with JAX's arrays."""

from funcgrad.jax._bridge import of_jax as _of_jax
from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from scipy.linalg import (
    dft as dft, fiedler_companion as fiedler_companion, hadamard as hadamard, helmert as helmert,
    hilbert as hilbert, invhilbert as invhilbert, invpascal as invpascal, pascal as pascal,
)
from funcgrad.scipy.linalg import (
    block_diag as block_diag, cho_factor as cho_factor, cho_solve as cho_solve, cholesky as cholesky,
    circulant as circulant, companion as companion, convolution_matrix as convolution_matrix, det as det,
    eigh as eigh, eigh_tridiagonal as eigh_tridiagonal, expm as expm, expm_frechet as expm_frechet,
    fiedler as fiedler, funm as funm, hankel as hankel, inv as inv, leslie as leslie, lu as lu,
    lu_factor as lu_factor, lu_solve as lu_solve, polar as polar, qr as qr, solve as solve,
    solve_sylvester as solve_sylvester, solve_triangular as solve_triangular, sqrtm as sqrtm, svd as svd,
    toeplitz as toeplitz,
)
# fmt: on

# JAX's own functions.
hessenberg = _of_jax("scipy.linalg.hessenberg", "a")
schur = _of_jax("scipy.linalg.schur", "a")
rsf2csf = _of_jax("scipy.linalg.rsf2csf", "T", "Z")
qr_multiply = _of_jax("scipy.linalg.qr_multiply", "a", "c")

__dir__, __getattr__ = _publish(__name__)
