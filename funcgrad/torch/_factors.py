"""LAPACK's factors of matrices: reflectors of QR, and symmetric matrices' LDL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Array
from funcgrad.autograd.extend import RETURN_TYPES, TRACE, lower
from funcgrad.scipy import linalg as scipy_linalg
from funcgrad.torch._functions import of_tensors

_lapack = LazyModule("scipy.linalg.lapack")


def _values(name: str, *tensors: Array) -> list[np.ndarray]:
    """Return the tensors' arrays; refuse recorded tensors, because these factors have no derivative in PyTorch."""
    if any(x.requires_grad for x in tensors):
        raise RuntimeError(
            f"{name}: a tensor requires a gradient, and PyTorch has no derivative of these factors either. Pass "
            "x.detach(); torch.linalg.qr, lu and cholesky have derivatives."
        )
    return [np.asarray(lower(x)._value) for x in tensors]


def _square(name: str, x: Array) -> None:
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        if len(x.shape) < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
        sizes = f"{x.shape[-2]} by {x.shape[-1]}"
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {sizes} matrices")


def _stacked(matrices: list[np.ndarray], lead: tuple[int, ...]) -> Any:
    return TRACE.constant(np.stack(matrices).reshape(*lead, *matrices[0].shape))


def _named(name: str, x: np.ndarray) -> Callable[..., Any]:
    return getattr(_lapack, {"f": "s", "d": "d", "F": "c", "D": "z"}[x.dtype.char] + name)


def geqrf(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the reflectors of QR below the diagonal with R above it, and their factors."""
    (a,) = _values("geqrf", input)
    found = [_named("geqrf", a)(each)[:2] for each in a.reshape(-1, *a.shape[-2:])]
    return RETURN_TYPES["geqrf"](*[_stacked(list(each), a.shape[:-2]) for each in zip(*found, strict=True)])


def _reflected(y: Any, reflectors: Any, tau: Any, first: bool) -> Any:
    """Return ``H_1 ... H_k y``, where ``H_i = 1 - tau_i v_i v_i^H``; with ``first``, ``H_k ... H_1 y``."""
    n = reflectors.shape[-2]
    count = tau.shape[-1]
    for i in range(count) if first else reversed(range(count)):
        below = reflectors[..., i] * TRACE.constant((np.arange(n) > i).astype(reflectors.dtype))
        v = (below + TRACE.constant((np.arange(n) == i).astype(reflectors.dtype))).unsqueeze(-1)
        y = y - tau[..., i, None, None] * (v @ (v.mH @ y))
    return y


def householder_product(A: Array, tau: Array) -> Any:  # noqa: N803  (PyTorch's name)
    """Return the first columns of the product of reflectors, as `geqrf` gives them."""
    name = "torch.linalg.householder_product"
    if len(A.shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.dtype != tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {A.dtype}")
    eye = TRACE.constant(np.broadcast_to(np.eye(m, n, dtype=A.dtype), A.shape).copy())
    return _reflected(eye, A, tau, False)


def ormqr(input: Array, tau: Array, other: Array, left: bool = True, transpose: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """Return ``Q @ other``, where Q is the product of reflectors; or ``other @ Q``, or with Q's transpose."""
    if not left:
        return _reflected(other.mH, input, tau, not transpose).mH
    return _reflected(other, input, tau, transpose)


def ldl_factor_ex(A: Array, *, hermitian: bool = False, check_errors: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """Return LAPACK's LDL factors of symmetric matrices, the rows exchanged, and 0 for each matrix."""
    del check_errors
    _square("torch.linalg.ldl_factor_ex", A)
    (a,) = _values("linalg.ldl_factor", A)
    factor = _named("hetrf" if hermitian and a.dtype.kind == "c" else "sytrf", a)
    found = [factor(each, lower=1) for each in a.reshape(-1, *a.shape[-2:])]
    lead = a.shape[:-2]
    factors = _stacked([np.tril(each[0]) for each in found], lead)
    pivots = _stacked([each[1].astype(np.int32) for each in found], lead)
    info = TRACE.constant(np.array([each[2] for each in found], np.int32).reshape(lead))
    return RETURN_TYPES["linalg_ldl_factor_ex"](factors, pivots, info)


def ldl_factor(A: Array, *, hermitian: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """Return LAPACK's LDL factors of symmetric matrices, and the rows exchanged, counted from 1."""
    _square("torch.linalg.ldl_factor_ex", A)
    return RETURN_TYPES["linalg_ldl_factor"](*ldl_factor_ex(A, hermitian=hermitian)[:2])


def ldl_solve(LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Any:  # noqa: N803  (PyTorch's names)
    """Return the solutions of systems of symmetric matrices, from their LDL factors."""
    _square("torch.linalg.ldl_solve", LD)
    factors, rows, b = _values("linalg.ldl_solve", LD, pivots, B)
    solve = _named("hetrs" if hermitian and factors.dtype.kind == "c" else "sytrs", factors)
    lead = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    n = factors.shape[-1]
    each = zip(
        np.broadcast_to(factors, (*lead, n, n)).reshape(-1, n, n),
        np.broadcast_to(rows, (*lead, n)).reshape(-1, n),
        np.broadcast_to(b, (*lead, *b.shape[-2:])).reshape(-1, *b.shape[-2:]),
        strict=True,
    )
    return _stacked([solve(factor, pivot, right, lower=1)[0] for factor, pivot, right in each], lead)


def triangular_solve(
    b: Array,
    A: Array,  # noqa: N803  (PyTorch's name)
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """Return the solution of ``A X = b`` with a triangular matrix, and a copy of the matrix."""
    lead = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    whole = fnp.broadcast_to(A, (*lead, *A.shape[-2:]))
    right = fnp.broadcast_to(b, (*lead, *b.shape[-2:]))
    given = whole.mT if transpose else whole
    x = scipy_linalg.solve_triangular(given, right, lower=upper is transpose, unit_diagonal=unitriangular)
    return RETURN_TYPES["triangular_solve"](x, whole.clone())


LINALG: dict[str, Callable[..., Any]] = {
    function.__name__: of_tensors(function) for function in (householder_product, ldl_factor, ldl_factor_ex, ldl_solve)
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "orgqr": LINALG["householder_product"],
    **{function.__name__: of_tensors(function) for function in (geqrf, ormqr, triangular_solve)},
}
