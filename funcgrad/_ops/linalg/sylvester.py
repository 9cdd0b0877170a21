"""The equation ``a x + x b = q``, solved in bases in which both matrices are triangular."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.elementwise.cast import cast, complex_dtype, real_p
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.linalg.matrices import adjoint, product, swapped
from funcgrad._types import Array, Lax, Value

scipy_linalg = LazyModule("scipy.linalg")
lapack = LazyModule("scipy.linalg.lapack")

_SOLVERS = {"f": "strsyl", "d": "dtrsyl", "F": "ctrsyl", "D": "ztrsyl"}


def _solved(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Solve by Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972."""
    form = "real" if a.dtype.kind == "f" else "complex"
    r, u = scipy_linalg.schur(a, output=form)
    s, v = scipy_linalg.schur(b.conj().T, output=form)
    right = u.conj().T @ q @ v
    y, scale, info = getattr(lapack, _SOLVERS[q.dtype.char])(r, s, right, tranb="C")
    if info:
        # LAPACK would continue with eigenvalues that it has changed.
        raise np.linalg.LinAlgError(
            "Singular matrix: the two matrices of a Sylvester equation have eigenvalues that add up to 0, for which it "
            "has no solution. Move one of them by a multiple of the identity."
        )
    return u @ (scale * y) @ v.conj().T


def schur_xla(lax: Lax, x: Value) -> Any:
    """Return Schur's form ``z t z^H = x`` of complex matrices on XLA: ``t`` and ``z``.

    XLA has it on CPUs alone. Elsewhere SciPy computes it on the host while the program runs.
    """

    def on_host(x: Value) -> Any:
        return lax.pure_callback(_schur, [Aval(x.shape, x.dtype)] * 2, x)

    return lax.platform_dependent(x, cpu=lambda x: list(lax.linalg.schur(x)), default=on_host)


def _schur(x: Array) -> list[np.ndarray]:
    """Return Schur's forms of a stack of matrices; NaN for those with infinite elements or NaN, as XLA gives."""
    t, z = np.full_like(x, np.nan), np.full_like(x, np.nan)
    with untraced():
        for i in np.ndindex(x.shape[:-2]):
            if np.isfinite(x[i]).all():
                t[i], z[i] = scipy_linalg.schur(x[i], output="complex")
    return [t, z]


def _sylvester_numpy(a: Array, b: Array, q: Array) -> list[Any]:
    y = np.empty(q.shape, q.dtype)
    with untraced():
        for i in np.ndindex(q.shape[:-2]) if q.size else ():
            known = all(np.isfinite(x[i]).all() for x in (a, b, q))
            y[i] = _solved(a[i], b[i], q[i]) if known else np.nan
    return [y]


def _sylvester_xla(lax: Lax, a: Array, b: Array, q: Array) -> list[Any]:
    """Solve column by column: ``(r + s[k, k]) y[:, k] = f[:, k] - y s[:, k]``."""
    if not q.size:
        return [q]
    (r, u), (s, v) = (schur_xla(lax, cast(x, complex_dtype(x.dtype))) for x in (a, b))
    right = product(product(adjoint(u), cast(q, r.dtype)), v)
    axis = len(q.shape) - 1
    values, shifts = diagonal(r), diagonal(s)
    # LAPACK's bound for eigenvalues that add up to 0.
    least = float(np.finfo(r.dtype).eps) * abs(lax.concatenate([values, shifts], axis - 1)).max(-1)[..., None]

    def solved(k: Value, y: Value) -> Value:
        column = lax.dynamic_slice_in_dim(right, k, 1, axis)
        column = column - product(y, lax.dynamic_slice_in_dim(s, k, 1, axis))
        shift = lax.dynamic_slice_in_dim(shifts, k, 1, axis - 1)
        shift = lax.select(abs(values + shift) <= least, lax.full_like(values, np.nan), shift + 0 * values)
        system = r + embed_diagonal(shift, r.shape[-2:])
        found = lax.linalg.triangular_solve(system, column, left_side=True, lower=False)
        return lax.dynamic_update_slice_in_dim(y, found, k, axis)

    y = lax.fori_loop(0, q.shape[-1], solved, lax.full_like(right, 0))
    y = product(product(u, y), adjoint(v))
    return [y if q.dtype.kind == "c" else real_p(y)]


class _SylvesterDerivative:
    """One more equation, with the transposed matrices, gives all cotangents."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        a, b, q = primals
        y = sylvester(a, b, q)
        return [y], _bars, (a, b, y, active)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (a, b, q), (a_dot, b_dot, right) = primals, tangents
        y = sylvester(a, b, q)
        for moved in _moves(a_dot, b_dot, y):
            right = -moved if right is None else right - moved
        return [y], [sylvester(a, b, right)]


def _moves(a_dot: Value, b_dot: Value, y: Value) -> list[Any]:
    """Return the changes of the right side that balance the changes of the matrices."""
    left = [] if a_dot is None else [product(a_dot, y)]
    return left if b_dot is None else [*left, product(y, b_dot)]


def _bars(y_bars: list, a: Value, b: Value, y: Value, active: int) -> list:
    q_bar = sylvester(swapped(a), swapped(b), y_bars[0])
    return [
        -product(q_bar, swapped(y)) if active & 1 else None,
        -product(swapped(y), q_bar) if active & 2 else None,
        q_bar,
    ]


sylvester_p = CompoundPrimitive(
    "sylvester",
    operands=("a", "b", "q"),
    numpy=_sylvester_numpy,
    xla=_sylvester_xla,
    aval=lambda a, b, q: [Aval(q.shape, q.dtype)],
    derivative=_SylvesterDerivative(),
    batch=batch_all(),
    cost=lambda y, a, b, q: 25 * (a.size * a.shape[-1] + b.size * b.shape[-1]),
    multiple_results=True,
)
sylvester_p.fails = True


def sylvester(a: Value, b: Value, q: Value) -> Value:
    """Return ``x`` with ``a x + x b = q``, for (stacks of) matrices of one dtype and one leading shape.

    If an eigenvalue of ``a`` and one of ``b`` add up to 0, NumPy raises ``LinAlgError`` and XLA returns NaN. XLA
    supports
    this on CPUs only.
    """
    return bind(sylvester_p, (a, b, q), NO_PARAMS)[0]
