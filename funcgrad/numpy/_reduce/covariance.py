"""Covariances and correlations of rows."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.tracebacks import caller_level
from funcgrad._ops.contract.dot import matmul_p
from funcgrad._ops.elementwise.arithmetic import max_p, min_p, sqrt_p
from funcgrad._ops.elementwise.cast import cast, conj_p, imag_p, make_complex, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.diagonal import diagonal
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._reduce.reductions import as_array


@beside_numpys(np.cov)
def cov(  # noqa: PLR0917  (NumPy's arguments)
    m: ArrayLike,
    y: ArrayLike = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike = None,
    aweights: ArrayLike = None,
    *,
    dtype: DTypeLike = None,
) -> Array:
    """Return ``numpy.cov``, in at least double precision unless a dtype is given."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"cov: ddof is {ddof} and must be integer. Leave it out for the unbiased estimate.")
    given = [as_array(x) for x in (m, y) if x is not None]
    dtype = np.result_type(*[x.dtype for x in given], np.float64) if dtype is None else np.dtype(dtype)
    x = _rows(given[0], "m", dtype, turned=not rowvar and len(given[0].shape) != 1)
    if not x.shape[0]:
        return np.array([]).reshape(0, 0)
    if y is not None:
        other = _rows(given[1], "y", dtype, turned=False)
        turned = not rowvar and other.shape[0] != 1
        x = concatenate([x, transpose(other, (1, 0)) if turned else other], 0)
    count = x.shape[1]
    ddof = ddof if ddof is not None else int(bias == 0)
    f = None if fweights is None else _weights("fweights", fweights, count)
    a = None if aweights is None else _weights("aweights", aweights, count)
    if f is None and a is None:
        left: Any = count - ddof
        centred = x - reduce_sum(x, (1,), True) / count
        weighted = centred
    else:
        w: Any = f if a is None else a if f is None else f * a
        total = reduce_sum(w, (0,))
        left = total - ddof if a is None else total - ddof * reduce_sum(w * a, (0,)) / total if ddof else total
        centred = x - reduce_sum(x * w, (1,), True) / total
        weighted = centred * w
    turned = transpose(weighted, (1, 0))
    turned = bind(conj_p, (turned,), NO_PARAMS) if dtype.kind == "c" else turned
    products = bind(matmul_p, (centred, turned), NO_PARAMS) * (1 / _positive(left))
    return reshape(products, tuple([n for n in products.shape if n != 1]))


def _rows(x: ArrayLike, name: str, dtype: np.dtype, *, turned: bool) -> Array:
    if len(x.shape) > 2:
        raise ValueError(
            f"cov: {name} is {aval_of(x)}, which has more than 2 dimensions; needed variables in rows. Use fg.vmap for "
            "stacks."
        )
    x = cast(x, dtype)
    x = x if len(x.shape) == 2 else reshape(x, (1, x.shape[0] if x.shape else 1))
    return transpose(x, (1, 0)) if turned else x


def _weights(name: str, weights: ArrayLike, count: int) -> Array:
    w = cast(as_array(weights), np.dtype(float))
    if len(w.shape) > 1:
        _refuse(RuntimeError, name, w, "cannot handle multidimensional weights")
    if w.shape[0] != count:
        _refuse(RuntimeError, name, w, f"incompatible numbers of samples, {count}, and weights")
    known = known_value(w)
    if known is not None and name == "fweights" and not np.all(known == np.around(known)):
        _refuse(TypeError, name, w, "fweights must be integer")
    if known is not None and np.any(known < 0):
        _refuse(ValueError, name, w, f"{name} cannot be negative")
    return w


def _refuse(error: type[Exception], name: str, w: ArrayLike, what: str) -> NoReturn:
    raise error(f"cov: {name} is {aval_of(w)}: {what}. Needed one weight for each column, not negative.")


def _positive(left: ArrayLike) -> ArrayLike:
    """Return the degrees of freedom; 0 if none is left."""
    known = known_value(left)
    if known is None:
        return select(left > 0, left, 0)
    if known > 0:
        return left
    warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=caller_level())
    return np.float64(0)


@beside_numpys(np.corrcoef)
def corrcoef(x: ArrayLike, y: ArrayLike = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> Array:
    """Return ``numpy.corrcoef``, in at least double precision unless a dtype is given."""
    c = cov(as_array(x), y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    deviations = bind(sqrt_p, (_real(diagonal(c)),), NO_PARAMS)
    c = c / deviations[:, None] / deviations[None, :]
    if c.dtype.kind != "c":
        return _clipped(c)
    return make_complex(_clipped(_real(c)), _clipped(bind(imag_p, (c,), NO_PARAMS)))


def _real(x: ArrayLike) -> Array:
    return bind(real_p, (x,), NO_PARAMS) if x.dtype.kind == "c" else x


def _clipped(x: ArrayLike) -> Array:
    """Clip to the interval from -1 to 1, which rounding may leave."""
    return bind(min_p, (bind(max_p, (x, -1), NO_PARAMS), 1), NO_PARAMS)
