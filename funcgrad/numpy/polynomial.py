"""Fits and roots of ``numpy.polynomial``, with derivatives. NumPy computes them by LAPACK, which has none.

All other functions of ``numpy.polynomial`` take traced values. The classes are NumPy's except for ``fit``, ``roots``
and, under ``jit``, arithmetic: there it is not known whether the last coefficient is zero, so that it stays.

Example:
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.numpy.polynomial import chebfit
    >>> x = np.linspace(-1, 1, 5)
    >>> fg.grad(lambda y: chebfit(x, y, 1)[0])(x**2).round(6)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.lazy import is_since
from funcgrad._core.tracebacks import caller_level
from funcgrad._ops.elementwise.cast import complex_dtype
from funcgrad._ops.elementwise.select import select
from funcgrad._public import publish
from funcgrad._types import ArrayLike, ScalarLike
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.object_arrays import elements
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._choose.at import at
from funcgrad.numpy._contract.coefficients import keeps_unknown
from funcgrad.numpy._contract.polynomials import without_zeros
from funcgrad.numpy._math.elementwise import absolute, sqrt
from funcgrad.numpy._reduce.reductions import as_array, sum_
from funcgrad.numpy._reduce.sorting import sort
from funcgrad.numpy._reduce.statistics import inexact
from funcgrad.numpy.linalg._eigen import lstsq, real_eigvals

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebfit",
    "chebroots",
    "hermefit",
    "hermeroots",
    "hermfit",
    "hermroots",
    "lagfit",
    "lagroots",
    "legfit",
    "legroots",
    "polyfit",
    "polyroots",
]

Function = Callable[..., Any]


def _least_squares(
    name: str, vander: Function, points: tuple[Any, Any, Any], deg: ScalarLike, rcond: Any, full: bool
) -> Any:
    """Fit by least squares as ``numpy.polynomial.polyutils._fit``.

    With scaled columns, and zero for terms not fitted.
    """
    x, y, w = points
    degrees = np.asarray(deg)
    _check(name, x, y, w, degrees)
    left, right = as_array(vander(x, int(degrees.max()))), y
    if degrees.ndim:
        degrees = np.sort(degrees)
        left = left[:, degrees]
    if w is not None:
        left, right = left * w[:, None], right * (w[:, None] if len(y.shape) == 2 else w)
    cutoff = x.shape[0] * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    scale = sum_(absolute(left) ** 2, 0)
    empty = scale == 0
    scale = select(empty, 1, sqrt(select(empty, 1, scale)))
    c, residuals, rank, values = lstsq(left / scale, right, cutoff)
    c = (c.T / scale).T
    if degrees.ndim:
        c = at(np.zeros((int(degrees[-1]) + 1, *c.shape[1:]), c.dtype))[degrees].set(c)
    if full:
        return c, [residuals, rank, values, cutoff]
    known = known_value(rank)
    if known is not None and int(known) != left.shape[1]:
        warnings.warn("The fit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=caller_level())
    return c


def _check(name: str, x: ArrayLike, y: ArrayLike, w: ArrayLike, degrees: np.ndarray) -> None:
    if degrees.ndim > 1 or degrees.dtype.kind not in "iu" or not degrees.size:
        raise TypeError(
            f"{name}: deg must be an int or non-empty 1-D array of int, and is {aval_of(degrees)}. Give one degree, or "
            "the degrees of the terms to fit."
        )
    if degrees.min() < 0:
        raise ValueError(f"{name}: deg is {degrees.min()}; expected deg >= 0. A constant has degree 0.")
    if len(x.shape) != 1 or not x.shape[0] or len(y.shape) not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError(
            f"{name}: x is {aval_of(x)} and y {aval_of(y)}; expected a non-empty 1D vector for x, and a 1D or 2D array "
            "of the same length for y. Turn what has more axes into columns with reshape."
        )
    if w is not None and w.shape != x.shape:
        raise TypeError(
            f"{name}: w is {aval_of(w)}; expected a 1D vector of the length of x. Give each point a weight."
        )


def _functions(numpys: ModuleType, prefix: str) -> tuple[Function, Function]:
    """Return functions such as ``chebfit`` and ``chebroots``."""
    family = numpys.__name__.rpartition(".")[2]
    vander, companion = (getattr(numpys, prefix + function) for function in ("vander", "companion"))

    # NumPy 2.5 gives real roots of the other families, and of lines.
    stays_complex = is_since("numpy", "2.5.0") and prefix in ("cheb", "leg", "herme")

    def fit(
        x: ArrayLike, y: ArrayLike, deg: ScalarLike, rcond: float | None = None, full: bool = False, w: ArrayLike = None
    ) -> Any:
        weights = None if w is None else inexact(w)
        return _least_squares(f"{prefix}fit", vander, (inexact(x), inexact(y), weights), deg, rcond, full)

    def roots(c: ArrayLike) -> Any:
        c = as_array(c)
        if len(c.shape) != 1:
            raise ValueError(f"{prefix}roots: Coefficient array is {aval_of(c)}, not 1-d. Use fg.vmap for more.")
        c = inexact(without_zeros(c, f"polynomial.{family}.{prefix}roots", "b"))
        if c.shape[0] < 2:
            return np.array([], c.dtype)
        # LAPACK would take objects without an error and compute wrong numbers. The turned matrix has smaller errors.
        matrix = companion(elements(c) if isinstance(c, Tracer) else c)
        found = sort(real_eigvals(f"polynomial.{family}.{prefix}roots", as_array(matrix)[::-1, ::-1]))
        return found.astype(complex_dtype(found.dtype)) if stays_complex and c.shape[0] > 2 else found

    numpys_fit, numpys_roots = getattr(numpys, f"{prefix}fit"), getattr(numpys, f"{prefix}roots")
    for function, like in ((fit, numpys_fit), (roots, numpys_roots)):
        function.__name__ = function.__qualname__ = like.__name__
    fit.__doc__ = (
        f"``numpy.polynomial.{family}.{prefix}fit``: by least squares, whose derivative holds while the rank does not "
        "change."
    )
    roots.__doc__ = (
        f"``numpy.polynomial.{family}.{prefix}roots``: eigenvalues of the companion matrix, whose coefficients have to "
        "be known (see `numpy.linalg.eigvals`); where roots are equal they have no derivative."
    )
    return beside_numpys(numpys_fit)(fit), beside_numpys(numpys_roots)(roots)


# The arithmetic in which NumPy drops zeros at the end.
_ARITHMETIC = ("_add", "_sub", "_mul", "_div", "_pow")


def _is_number(x: ArrayLike) -> bool:
    return isinstance(x, Tracer) and not x.shape


def _kind(name: str, fit: Function, roots: Function) -> Any:
    """Return NumPy's class with our functions."""
    parent = getattr(np.polynomial, name)
    return type(
        name,
        (parent,),
        {
            "__doc__": f"``numpy.polynomial.{name}``, of which ``fit`` and ``roots`` carry derivatives. "
            "Under ``jit`` coefficients that may be zero stay at the end of sums and products.",
            "__module__": __name__,
            "_fit": staticmethod(fit),
            "_roots": staticmethod(roots),
            "__truediv__": lambda self, other: self // other if _is_number(other) else parent.__truediv__(self, other),
            **{name: staticmethod(keeps_unknown(getattr(parent, name))) for name in _ARITHMETIC},
        },
    )


polyfit, polyroots = _functions(polynomial, "poly")
chebfit, chebroots = _functions(chebyshev, "cheb")
legfit, legroots = _functions(legendre, "leg")
lagfit, lagroots = _functions(laguerre, "lag")
hermfit, hermroots = _functions(hermite, "herm")
hermefit, hermeroots = _functions(hermite_e, "herme")
Polynomial = _kind("Polynomial", polyfit, polyroots)
Chebyshev = _kind("Chebyshev", chebfit, chebroots)
Legendre = _kind("Legendre", legfit, legroots)
Laguerre = _kind("Laguerre", lagfit, lagroots)
Hermite = _kind("Hermite", hermfit, hermroots)
HermiteE = _kind("HermiteE", hermefit, hermeroots)

__dir__ = publish(__name__)
