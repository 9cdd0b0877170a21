"""Polynomials by their coefficients: ``numpy.polyval`` and similar functions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.fill import ones_like, zeros_like
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.cumulative import cumprod
from funcgrad._types import ArrayLike, AxesLike
from funcgrad.numpy._base.concrete import concrete_value, known_value
from funcgrad.numpy._base.convert import as_value, promote
from funcgrad.numpy._base.dispatch import in_numpys_mode, late_functions
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._contract.convolutions import convolve
from funcgrad.numpy._layout.shape import as_array


@in_numpys_mode
def polyval2d(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> Any:
    """Return ``numpy.polynomial.polynomial.polyval2d``, which has a hook, unlike its neighbours."""
    x, y = as_array(as_value(x)), as_array(as_value(y))
    if x.shape != y.shape:
        raise ValueError(f"polyval2d: x, y are incompatible: {aval_of(x)} and {aval_of(y)}; needed one shape.")
    return _series(y, _series(x, _table(c), tensor=True), tensor=False)


@in_numpys_mode
def polygrid2d(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> Any:
    """Return ``numpy.polynomial.polynomial.polygrid2d``, which has a hook, unlike its neighbours."""
    return _series(as_array(as_value(y)), _series(as_array(as_value(x)), _table(c), tensor=True), tensor=True)


def _table(c: ArrayLike) -> Any:
    """Return coefficients as floats, with at least one power."""
    c = as_array(as_value(c))
    c = cast(c, np.dtype(float)) if is_integral(c.dtype) else c
    return c if c.shape else reshape(c, (1,))


def _series(x: ArrayLike, c: ArrayLike, *, tensor: bool) -> Any:
    """Apply Horner's rule to coefficients from the lowest power on, along the first axis of ``c``."""
    if not c.shape:
        c = reshape(c, (1,))
    if tensor:
        c = reshape(c, (*c.shape, *(1,) * len(x.shape)))
    y = c[-1] + x * 0
    for i in range(2, c.shape[0] + 1):
        y = c[-i] + y * x
    return y


for _function in (polyval2d, polygrid2d):
    late_functions[f"numpy.polynomial.polynomial.{_function.__name__}"] = _function


def coefficients(p: ArrayLike) -> Any:
    """Return a polynomial's coefficients, or an array or a number, as an array of at least one axis."""
    p = as_array(p.coeffs if isinstance(p, np.poly1d) else p)
    return p if p.shape else reshape(p, (1,))


def _inexact(p: ArrayLike) -> Any:
    return cast(p, np.dtype(float)) if is_integral(p.dtype) else p


def _as_given(result: ArrayLike, *given: Any) -> Any:
    """Return a polynomial if one was given, else the array of its coefficients."""
    return np.poly1d(result) if any(isinstance(p, np.poly1d) for p in given) else result


def without_zeros(p: ArrayLike, name: str, trim: str = "f") -> Any:
    """Return a vector without leading zeros, or without zeros at both ends. Their count has to be known."""
    asked = f"numpy.{name}, whose result depends on which coefficients are zero,"
    known = np.asarray(concrete_value(np.not_equal(p, 0), asked))
    places = np.flatnonzero(known)
    start, stop = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
    return slice_axis(p, 0, start if "f" in trim else 0, stop if "b" in trim or not len(places) else len(known))


@beside_numpys(np.trim_zeros)
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: AxesLike = None) -> Any:
    """Return ``numpy.trim_zeros`` of a vector with known numbers."""
    x = as_array(filt)
    if len(x.shape) != 1 or axis not in (None, 0, -1):
        raise ValueError(
            f"trim_zeros: the array is {aval_of(x)} and axis {axis}; needed a vector. For more axes, cut with the "
            "limits that np.nonzero of the plain values gives."
        )
    if not trim or set(trim.lower()) - set("fb"):
        raise ValueError(f"trim_zeros: unexpected character(s) in `trim`: {trim!r}; needed 'f', 'b' or 'fb'.")
    return without_zeros(x, "trim_zeros", trim.lower())


@beside_numpys(np.polyval)
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """Return ``numpy.polyval``, by Horner's rule from the highest power on."""
    p = as_array(p.coeffs if isinstance(p, np.poly1d) else p)
    if isinstance(x, np.poly1d):
        y: Any = 0
    else:
        x = as_array(x)
        y = zeros_like(x)
        if p.shape[0]:
            # JAX's operators would promote differently: an integer and a float32 to float32.
            p, x, y = promote(p, x, y)
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


@beside_numpys(np.polyadd)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """``numpy.polyadd``."""
    return _as_given(operator.add(*_aligned(a1, a2)), a1, a2)


@beside_numpys(np.polysub)
def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """``numpy.polysub``."""
    return _as_given(operator.sub(*_aligned(a1, a2)), a1, a2)


def _aligned(a1: ArrayLike, a2: ArrayLike) -> tuple[Any, Any]:
    """Return the coefficients of both, with leading zeros for the shorter one."""
    a, b = promote(coefficients(a1), coefficients(a2))
    missing = b.shape[0] - a.shape[0]
    return _after_zeros(a, missing), _after_zeros(b, -missing)


def _after_zeros(x: ArrayLike, count: int) -> Any:
    return x if count <= 0 else concatenate([np.zeros((count, *x.shape[1:]), x.dtype), x], 0)


@beside_numpys(np.polymul)
def polymul(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Return ``numpy.polymul``, without leading zeros if the numbers are known.

    Under ``jit`` they are not known, and the result keeps leading zeros, as ``numpy.convolve`` does.
    """
    a, b = (_of_its_degree(p) for p in (a1, a2))
    return _as_given(convolve(a, b), a1, a2)


def _of_its_degree(p: ArrayLike) -> Any:
    p = coefficients(p)
    if known_value(p) is None:
        return p
    p = without_zeros(p, "polymul")
    return p if p.shape[0] else np.zeros(1, p.dtype)


@beside_numpys(np.polydiv)
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Any, Any]:
    """Return ``numpy.polydiv``: quotient and remainder. The remainder has no leading zeros if the numbers are known.

    Under ``jit`` they are not known, and the remainder has one coefficient fewer than the divisor.
    """
    r, b = promote(_inexact(coefficients(u)), _inexact(coefficients(v)))
    n = b.shape[0]
    scale = 1.0 / b[0]
    quotient = []
    for k in range(r.shape[0] - n + 1):
        d = scale * r[k]
        quotient.append(d)
        r = concatenate([r[:k], r[k : k + n] - d * b, r[k + n :]], 0)
    q = stack(quotient, 0) if quotient else np.zeros(1, r.dtype)
    known = known_value(r)
    # These coefficients were divided out, so they are zero except for rounding.
    known = np.ones(max(n - 1, 1)) if known is None else known
    while len(known) > 1 and np.allclose(known[0], 0, rtol=1e-14):
        known = known[1:]
    r = slice_axis(r, 0, max(r.shape[0] - len(known), 0), r.shape[0])
    return _as_given(q, u, v), _as_given(r, u, v)


@beside_numpys(np.polyder)
def polyder(p: ArrayLike, m: int = 1) -> Any:
    """``numpy.polyder``."""
    m = int(m)
    if m < 0:
        raise ValueError(f"polyder: m is {m}; Order of derivative must be positive. For integrals, use polyint.")
    y = as_array(p)
    for _ in range(m):
        # A constant has one coefficient, and its derivative none.
        n = max(y.shape[0] - 1, 0)
        y = operator.mul(*promote(y[:n], np.arange(n, 0, -1)))
    return y


@beside_numpys(np.polyint)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike = None) -> Any:
    """``numpy.polyint``."""
    m = int(m)
    if m < 0:
        raise ValueError(f"polyint: m is {m}; Order of integral must be positive. For derivatives, use polyder.")
    constants = np.zeros(m) if k is None else coefficients(k)
    if constants.shape[0] == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError(
            f"polyint: k has {constants.shape[0]} constants for {m} integrals; k must be a scalar or a rank-1 array of "
            "length 1 or >m. Give one for each, the first integral's first."
        )
    y = as_array(p)
    for i in range(m):
        y, powers = promote(_inexact(y), np.arange(y.shape[0], 0, -1))
        raised = y / powers
        y = concatenate(list(promote(raised, reshape(constants[i], (1,)))), 0)
    return y


@beside_numpys(np.vander)
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803  (NumPy's name)
    """Return ``numpy.vander``: the powers of a vector as columns."""
    x = as_array(x)
    if len(x.shape) != 1:
        raise ValueError(f"vander: x is {aval_of(x)} and must be a one-dimensional array or sequence. Use x.ravel().")
    n, dtype = x.shape[0], np.promote_types(x.dtype, np.int64)
    count = n if N is None else operator.index(N)
    column = reshape(cast(x, dtype), (n, 1))
    if count < 2:
        return np.ones((n, count), dtype)
    powers = cumprod(broadcast_to(column, (n, count - 1)), 1)
    whole = concatenate([ones_like(column), powers], 1)
    return whole if increasing else whole[:, ::-1]
