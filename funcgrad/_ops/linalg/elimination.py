"""Elimination with exchange of rows, on NumPy arrays and in NumPy's pool of threads (see `triangular`).

SciPy's LAPACK factorizes small matrices in the calling thread; larger matrices are halved down to that size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._ops.linalg.triangular import substitute

lapack = LazyModule("scipy.linalg.lapack")

PIVOT_DTYPE = np.dtype(np.int32)
# LAPACK's function for each dtype, and the number of elements from which OpenBLAS 0.3.30 spreads it over its threads.
# With one thread this is slower: 200 by 200 numbers take 0.44 ms instead of 0.29, and 1000 by 1000 take 1.25 times as
# long; complex numbers take up to 1.9 times as long.
_FACTORIZERS = {"f": ("sgetrf", 40_000), "d": ("dgetrf", 20_000), "F": ("cgetrf", 10_000), "D": ("zgetrf", 10_000)}


def eliminated(x: np.ndarray) -> list[np.ndarray]:
    """Return, for each matrix, both triangular factors in one, the pivots, and the permutation of rows."""
    factors = np.empty(x.shape, x.dtype)
    pivots = np.empty(x.shape[:-1], PIVOT_DTYPE)
    orders = np.empty_like(pivots)
    if x.size:
        name, threaded = _FACTORIZERS[x.dtype.char]
        factorize = getattr(lapack, name)
        for i in np.ndindex(x.shape[:-2]):
            _eliminate(x[i], factors[i], pivots[i], orders[i], factorize, threaded)
    return [factors, pivots, orders]


def _eliminate(
    x: np.ndarray, factors: np.ndarray, pivots: np.ndarray, order: np.ndarray, factorize: Any, threaded: int
) -> None:
    if x.size >= threaded:
        factors[...] = x
        with np.errstate(all="ignore"):
            _by_halves(factors, pivots, order, factorize, threaded)
        if np.isfinite(factors).all():
            return
        # Zeros were multiplied by infinities or NaN. LAPACK skips the zeros, so its infinities and NaN are correct.
    _by_lapack(x, factors, pivots, order, factorize)


def _by_lapack(x: np.ndarray, factors: np.ndarray, pivots: np.ndarray, order: np.ndarray, factorize: Any) -> None:
    factors[...], pivots[...], _ = factorize(x)
    order[...] = _order(pivots, len(order))


def _by_halves(x: np.ndarray, pivots: np.ndarray, order: np.ndarray, factorize: Any, threaded: int) -> None:
    """Eliminate in place, columns on the left first: Toledo, "Locality of reference in LU decomposition", 1997."""
    rows, columns = x.shape
    if x.size < threaded or columns == 1:
        _by_lapack(x, x, pivots, order, factorize)
        return
    size = min(columns // 2, (threaded - 1) // rows)
    if (rows - size) * (columns - size) >= threaded:
        # LAPACK cannot do the rest in one step.
        size = columns // 2
    left, right = x[:, :size], x[:, size:]
    _by_halves(left, pivots[:size], order, factorize, threaded)
    _exchange(right, order)
    substitute(left[:size], right[:size], lower=True, unit_diagonal=True)
    right[size:] -= left[size:] @ right[:size]
    below = np.empty_like(order[size:])
    _by_halves(right[size:], pivots[size:], below, factorize, threaded)
    _exchange(left[size:], below)
    pivots[size:] += size
    order[size:] = order[size:][below]


def _exchange(x: np.ndarray, order: np.ndarray) -> None:
    moved = np.flatnonzero(order != np.arange(len(order)))
    x[moved] = x[order[moved]]


def orders_of_rows(pivots: np.ndarray) -> np.ndarray:
    """Return the permutation of rows for each of a stack of pivots."""
    orders = np.empty_like(pivots)
    for i in np.ndindex(pivots.shape[:-1]):
        orders[i] = _order(pivots[i], len(pivots[i]))
    return orders


def _order(pivots: np.ndarray, rows: int) -> list[int]:
    """Return the order of rows after the first rows are exchanged with their pivots, one after the other."""
    order = list(range(rows))
    for i, pivot in enumerate(pivots.tolist()):
        order[i], order[pivot] = order[pivot], order[i]
    return order
