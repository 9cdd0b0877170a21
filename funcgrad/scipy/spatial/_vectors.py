"""Distances between two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.lazy import is_since
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy.spatial import _formulas as formulas


def _vectors(name: str, *given: Any) -> list[Any]:
    vectors = [fnp.asarray(as_value(each)) for each in given]
    for each in vectors:
        if len(each.shape) != 1:
            raise ValueError(
                f"scipy.spatial.distance.{name}: input vector should be 1-D, and is {aval_of(each)}. Use cdist for "
                "several points."
            )
    return vectors


def _floats(name: str, *given: Any) -> list[Any]:
    vectors = _vectors(name, *given)
    return [x if x.dtype.kind in "fc" else fnp.astype(x, np.dtype(float)) for x in vectors]


def weights(name: str, w: ArrayLike) -> Any:
    if w is None:
        return None
    (w,) = _vectors(name, w)
    known = known_value(w)
    if known is not None and not (known >= 0).all():
        raise ValueError(
            f"scipy.spatial.distance.{name}: input weights should be all non-negative, and one is not. Take their "
            "absolute values, or leave some out."
        )
    return w if w.dtype == np.float64 else fnp.astype(w, np.dtype(float))


def minkowski(u: ArrayLike, v: ArrayLike, p: ArrayLike = 2, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.minkowski``: ``sum(w * |u - v| ** p) ** (1 / p)``, of two vectors."""
    u, v = _floats("minkowski", u, v)
    known = known_value(as_value(p))
    d = formulas.minkowski(u, v, p, weights("minkowski", w))
    # SciPy's Euclidean norm is a double before SciPy 1.18.
    wide = known is not None and known == 2 and not is_since("scipy", "1.18.0")
    return fnp.astype(d, np.result_type(d.dtype, float)) if wide else d


def euclidean(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.euclidean``, of two vectors; its derivative is 0 for equal vectors.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(fg.scipy.spatial.distance.euclidean)(np.array([3.0, 4.0]), np.zeros(2))
        array([0.6, 0.8])
    """
    u, v = _vectors("euclidean", u, v)
    return minkowski(u, v, 2, w)


def sqeuclidean(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.sqeuclidean``: the square of `euclidean`."""
    u, v = _floats("sqeuclidean", u, v)
    return formulas.sqeuclidean(u, v, weights("sqeuclidean", w))


def cityblock(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.cityblock``: the sum of absolute differences, of two vectors."""
    u, v = _vectors("cityblock", u, v)
    return formulas.cityblock(u, v, weights("cityblock", w))


def chebyshev(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.chebyshev``: the largest absolute difference, where a weight is not 0."""
    u, v = _vectors("chebyshev", u, v)
    return formulas.chebyshev(u, v, weights("chebyshev", w))


def correlation(u: ArrayLike, v: ArrayLike, w: ArrayLike = None, centered: bool = True) -> Array:
    """``scipy.spatial.distance.correlation``: one less the correlation of two vectors."""
    u, v = _vectors("correlation", u, v)
    if "c" in {u.dtype.kind, v.dtype.kind}:
        raise TypeError(
            f"scipy.spatial.distance.correlation: u and v must be real, and are {aval_of(u)} and {aval_of(v)}. Take "
            "their real parts."
        )
    return formulas.correlation(u, v, weights("correlation", w), centered)


def cosine(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.cosine``: one less the cosine of the angle between two vectors."""
    return correlation(u, v, w, centered=False)


def canberra(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.canberra``: the sum of ``|u - v| / (|u| + |v|)``, of two vectors."""
    u, v = _vectors("canberra", u, v)
    v = fnp.astype(v, np.dtype(float))
    return formulas.canberra(u, v, weights("canberra", w))


def braycurtis(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.braycurtis``: ``sum(|u - v|) / sum(|u + v|)``, of two vectors."""
    u, v = _vectors("braycurtis", u, v)
    v = fnp.astype(v, np.dtype(float))
    return formulas.braycurtis(u, v, weights("braycurtis", w))


def hamming(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.hamming``: the share of unequal elements, of two vectors; it is constant."""
    u, v = _vectors("hamming", u, v)
    if u.shape != v.shape:
        raise ValueError(
            f"scipy.spatial.distance.hamming: the 1d arrays must have equal lengths, and are {aval_of(u)} and "
            f"{aval_of(v)}. Cut the longer one."
        )
    return formulas.hamming(u, v, weights("hamming", w))


def jaccard(u: ArrayLike, v: ArrayLike, w: ArrayLike = None) -> Array:
    """``scipy.spatial.distance.jaccard``: the share of elements that are 0 in one of two vectors; it is constant."""
    u, v = _vectors("jaccard", u, v)
    return formulas.jaccard(u, v, weights("jaccard", w))


def mahalanobis(u: ArrayLike, v: ArrayLike, VI: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.spatial.distance.mahalanobis``: `euclidean` by the inverse ``VI`` of a covariance matrix."""
    u, v = _vectors("mahalanobis", u, v)
    return formulas.mahalanobis(u, v, fnp.atleast_2d(fnp.asarray(as_value(VI))))


def seuclidean(u: ArrayLike, v: ArrayLike, V: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.spatial.distance.seuclidean``: `euclidean` with each difference divided by a standard deviation."""
    u, v, V = _vectors("seuclidean", u, v, V)  # noqa: N806  (SciPy's name)
    if not u.shape == v.shape == V.shape:
        raise TypeError(
            f"scipy.spatial.distance.seuclidean: V must be a 1-D array of the same dimension as u and v, which are "
            f"{aval_of(V)}, {aval_of(u)} and {aval_of(v)}. Give a variance for each element."
        )
    return formulas.seuclidean(u, v, fnp.astype(V, np.dtype(float)))


def jensenshannon(
    p: ArrayLike, q: ArrayLike, base: ArrayLike = None, *, axis: int = 0, keepdims: bool = False
) -> Array:
    """``scipy.spatial.distance.jensenshannon``: between probabilities, which are divided by their sums.

    Args:
        p: probabilities.
        q: others.
        base: of the logarithm; Euler's number for ``None``.
        axis: the axis of the probabilities.
        keepdims: whether the axis remains, with length 1.

    Returns:
        A distance for each pair of vectors, with the derivative 0 for equal vectors.

    Example:
        >>> from funcgrad.scipy.spatial import distance
        >>> float(distance.jensenshannon([1.0, 0.0], [0.0, 1.0], 2.0))
        1.0
    """
    return formulas.jensenshannon(p, q, base, axis, keepdims)
