"""Formulas of distances between vectors along the last axis; they broadcast."""

from __future__ import annotations

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, holds_tracer, known_value
from funcgrad.scipy.special import rel_entr


def weighed(x: ArrayLike, w: ArrayLike) -> Array:
    return x if w is None else fnp.multiply(x, w)


def square_root(x: ArrayLike) -> Array:
    """Return the square root, with the derivative 0 at 0."""
    return bind(root_of_squares_p, (x,), NO_PARAMS)


def summed(x: ArrayLike) -> Array:
    return fnp.sum(x, -1)


def minkowski(u: ArrayLike, v: ArrayLike, p: ArrayLike = 2, w: ArrayLike = None) -> Array:
    difference = fnp.subtract(u, v)
    known = known_value(as_value(p))
    if known is not None and not known > 0:
        raise ValueError(
            f"scipy.spatial.distance.minkowski: p must be greater than 0, and is {known}. Use numpy.inf for the "
            "largest difference."
        )
    # A traced power has a derivative, so the formulas for special powers are not used.
    number = None if known is None or holds_tracer(p) else float(known)
    if number == np.inf:
        return chebyshev(u, v, w)
    if number == 1:
        return summed(weighed(fnp.absolute(difference), w))
    if number == 2:
        return square_root(summed(weighed(fnp.multiply(difference, difference), w)))
    # A known number does not convert single precision to double precision.
    power = p if number is None else number
    size = fnp.absolute(difference)
    there = fnp.greater(size, 0)
    powers = fnp.where(there, fnp.power(fnp.where(there, size, 1), power), fnp.multiply(size, 0))
    total = summed(weighed(powers, w))
    nonzero = fnp.greater(total, 0)
    root = fnp.power(fnp.where(nonzero, total, 1), 1 / power if number else fnp.divide(1.0, power))
    return fnp.where(nonzero, root, fnp.multiply(total, 0))


def sqeuclidean(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    difference = fnp.subtract(u, v)
    return summed(fnp.multiply(difference, weighed(difference, w)))


def cityblock(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    return summed(weighed(fnp.absolute(fnp.subtract(u, v)), w))


def chebyshev(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    size = fnp.absolute(fnp.subtract(u, v))
    return fnp.max(size if w is None else fnp.where(fnp.greater(w, 0), size, fnp.multiply(size, 0)), -1)


def correlation(u: ArrayLike, v: ArrayLike, w: ArrayLike = None, centered: bool = True) -> Array:
    if w is not None:
        w = fnp.divide(w, fnp.sum(w))
    if centered:
        u, v = (fnp.subtract(x, mean(x, w)[..., None]) for x in (u, v))
    uv, uu, vv = (summed(fnp.multiply(x, weighed(y, w))) for x, y in ((u, v), (u, u), (v, v)))
    d = fnp.subtract(1.0, fnp.divide(uv, fnp.sqrt(fnp.multiply(uu, vv))))
    # Rounding may give a negative number; clip it, but keep the derivative of the formula.
    return fnp.add(d, stop_gradient_p(fnp.subtract(fnp.clip(d, 0.0, 2.0), d)))


def mean(x: ArrayLike, w: ArrayLike) -> Array:
    return fnp.mean(x, -1) if w is None else summed(fnp.multiply(x, w))


def cosine(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    return correlation(u, v, w, centered=False)


def canberra(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    total = fnp.add(fnp.absolute(u), fnp.absolute(v))
    there = fnp.not_equal(total, 0)
    share = fnp.divide(fnp.absolute(fnp.subtract(u, v)), fnp.where(there, total, 1))
    return summed(weighed(fnp.where(there, share, fnp.multiply(share, 0)), w))


def braycurtis(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    difference, total = fnp.absolute(fnp.subtract(u, v)), fnp.absolute(fnp.add(u, v))
    return fnp.divide(summed(weighed(difference, w)), summed(weighed(total, w)))


def hamming(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    unequal = fnp.astype(fnp.not_equal(u, v), np.dtype(float))
    return fnp.mean(unequal, -1) if w is None else summed(fnp.multiply(unequal, fnp.divide(w, fnp.sum(w))))


def jaccard(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    first, second = fnp.not_equal(u, 0), fnp.not_equal(v, 0)
    unequal, either = (
        summed(weighed(fnp.astype(each, np.dtype(float)), w))
        for each in (fnp.logical_xor(first, second), fnp.logical_or(first, second))
    )
    there = fnp.not_equal(either, 0)
    return fnp.where(there, fnp.divide(unequal, fnp.where(there, either, 1.0)), 0.0)


def mahalanobis(u: ArrayLike, v: ArrayLike, VI: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    difference = fnp.subtract(u, v)
    return square_root(summed(fnp.multiply(fnp.matmul(difference, VI), difference)))


def seuclidean(u: ArrayLike, v: ArrayLike, V: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    difference = fnp.subtract(u, v)
    return square_root(summed(fnp.divide(fnp.multiply(difference, difference), V)))


def jensenshannon(p: ArrayLike, q: ArrayLike, base: ArrayLike = None, axis: int = -1, keepdims: bool = False) -> Array:
    p, q = fnp.asarray(as_value(p)), fnp.asarray(as_value(q))
    p, q = (fnp.divide(x, fnp.sum(x, axis, keepdims=True)) for x in (p, q))
    middle = fnp.divide(fnp.add(p, q), 2.0)
    total = fnp.add(*[fnp.sum(rel_entr(x, middle), axis, keepdims=keepdims) for x in (p, q)])
    return square_root(fnp.divide(total if base is None else fnp.divide(total, fnp.log(base)), 2.0))
