"""``scipy.spatial.distance``: between points, and between all pairs of them.

SciPy's functions accept no other arrays: call the functions here. At equal points, the derivative of a distance with a
kink there is 0, as in PyTorch's ``cdist``; so is the derivative of an absolute difference of equal coordinates.
Distances that count unequal elements are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as scipy_distance

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.reduce.differences import squared_distances
from funcgrad._public import publish
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy.spatial import _formulas as formulas
from funcgrad.scipy.spatial._vectors import (
    braycurtis,
    canberra,
    chebyshev,
    cityblock,
    correlation,
    cosine,
    euclidean,
    hamming,
    jaccard,
    jensenshannon,
    mahalanobis,
    minkowski,
    seuclidean,
    sqeuclidean,
    weights,
)

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


# The formulas by SciPy's names, for vectors along the last axis.
_METRICS: dict[str, tuple[str, Callable[..., Any]]] = {
    alias: (names.split()[0], function)
    for names, function in (
        ("braycurtis", formulas.braycurtis),
        ("canberra", formulas.canberra),
        ("chebyshev chebychev cheby cheb ch", formulas.chebyshev),
        ("cityblock cblock cb c", formulas.cityblock),
        ("correlation co", formulas.correlation),
        ("cosine cos", formulas.cosine),
        ("euclidean euclid eu e", formulas.minkowski),
        ("hamming matching hamm ha h", formulas.hamming),
        ("jaccard jacc ja j", formulas.jaccard),
        ("jensenshannon js", formulas.jensenshannon),
        ("mahalanobis mahal mah", formulas.mahalanobis),
        ("minkowski mi m pnorm", formulas.minkowski),
        ("seuclidean se s", formulas.seuclidean),
        ("sqeuclidean sqe sqeuclid", formulas.sqeuclidean),
    )
    for alias in names.split()
}


def _points(name: str, x: ArrayLike) -> Any:
    x = fnp.asarray(as_value(x))
    if len(x.shape) != 2 or x.dtype.kind == "c":
        raise ValueError(
            f"scipy.spatial.distance.{name}: a 2-dimensional array of real numbers must be passed, and it is "
            f"{aval_of(x)}. Give a point in each row."
        )
    return x


def _by_name(metric: Any) -> Any:
    """Return the name of a function of SciPy's, which itself reads plain numbers, and any other metric as it is."""
    called = getattr(metric, "__name__", "")
    return called if called in _METRICS and metric is getattr(scipy_distance, called) else metric


def _metric(name: str, metric: Any, out: Array) -> tuple[str, Callable[..., Any]]:
    if out is not None:
        raise UnsupportedFunctionError(
            f"scipy.spatial.distance.{name}: out was given; needed None. Use the result, which is an array of its own."
        )
    if callable(metric):
        return getattr(metric, "__name__", "metric"), metric
    found = _METRICS.get(str(metric).lower())
    if found is None:
        raise ValueError(
            f"scipy.spatial.distance.{name}: unknown distance metric: {metric}. Use one of "
            f"{', '.join(sorted({each for each, _ in _METRICS.values()}))}, or a function of two vectors; SciPy's own "
            f"{name} has more, of booleans."
        )
    return found


def _options(name: str, metric: str, points: list[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that SciPy computes from all points if they are not given."""
    options = dict(given)
    if options.get("w") is not None:
        options["w"] = weights(name, options["w"])
        if options["w"].shape != points[0].shape[1:]:
            raise ValueError(
                f"scipy.spatial.distance.{name}: weights must have same size as input vector, {points[0].shape[1]}, "
                f"and are {aval_of(options['w'])}. Give one for each coordinate."
            )
    if metric == "seuclidean":
        V = options.pop("V", None)  # noqa: N806  (SciPy's name)
        options["V"] = fnp.var(fnp.concatenate(points), 0, ddof=1) if V is None else as_value(V)
    if metric == "mahalanobis":
        VI = options.pop("VI", None)  # noqa: N806  (SciPy's name)
        if VI is None:
            everything = fnp.concatenate(points)
            if everything.shape[0] <= everything.shape[1]:
                raise ValueError(
                    f"scipy.spatial.distance.{name}: the number of observations ({everything.shape[0]}) is too small; "
                    f"the covariance matrix is singular. For observations with {everything.shape[1]} dimensions, at "
                    f"least {everything.shape[1] + 1} observations are required. Pass VI."
                )
            VI = fnp.transpose(fnp.linalg.inv(fnp.atleast_2d(fnp.cov(everything.T))))  # noqa: N806  (SciPy's name)
        options["VI"] = fnp.asarray(as_value(VI))
    return options


def cdist(XA: ArrayLike, XB: ArrayLike, metric: Any = "euclidean", *, out: None = None, **kwargs: Any) -> Any:  # noqa: N803  (SciPy's names)
    """``scipy.spatial.distance.cdist``: the distances of each point of one set from each of another.

    Args:
        XA: f[m, k], a point in each row.
        XB: f[n, k].
        metric: the name of one, or a function of two vectors.
        out: not supported.
        kwargs: of the metric: the weights ``w``, the power ``p``, the variances ``V``, the inverse covariances ``VI``.

    Returns:
        f64[m, n].

    Raises:
        ValueError: the points have different numbers of coordinates, or the metric is unknown.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a, b = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])
        >>> fg.scipy.spatial.distance.cdist(a, b)
        array([[0.],
               [5.]])
        >>> fg.grad(lambda a: np.sum(fg.scipy.spatial.distance.cdist(a, b)))(a)
        array([[0. , 0. ],
               [0.6, 0.8]])

    Euclidean distances and their squares hold no array of all differences, in any order of derivative.
    """
    metric = _by_name(metric)
    name, function = _metric("cdist", metric, out)
    a, b = _points("cdist", XA), _points("cdist", XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"scipy.spatial.distance.cdist: XA and XB must have the same number of columns (i.e. feature dimension), "
            f"and are {aval_of(a)} and {aval_of(b)}. Give points of one space."
        )
    if callable(metric):
        return _of_pairs(
            function, [(a[i], b[j]) for i in range(len(a)) for j in range(len(b))], kwargs, (len(a), len(b))
        )
    a, b = _as_points(name, a), _as_points(name, b)
    options = _options("cdist", name, [a, b], kwargs)
    squares = _squares(name, a, b, options)
    return function(a[:, None], b[None], **options) if squares is None else squares


def _as_points(name: str, x: ArrayLike) -> Any:
    return x if x.dtype == np.float64 else fnp.astype(x, np.dtype(float))


def _squares(name: str, a: ArrayLike, b: ArrayLike, options: dict[str, Any]) -> Any:
    """Return Euclidean distances or their squares, by their own primitives."""
    if name not in {"euclidean", "sqeuclidean", "seuclidean"} or not a.shape[1]:
        return None
    rest = {key: value for key, value in options.items() if value is not None}
    factor = None
    if name == "seuclidean":
        factor = fnp.sqrt(fnp.divide(1.0, rest.pop("V")))
    elif "w" in rest:
        return None
    if rest:
        return None
    if factor is not None:
        a, b = fnp.multiply(a, factor), fnp.multiply(b, factor)
    squares = squared_distances(a, b)
    return squares if name == "sqeuclidean" else formulas.square_root(squares)


def _of_pairs(metric: Callable[..., Any], pairs: list[tuple[Any, Any]], options: dict[str, Any], shape: tuple) -> Any:
    found = [fnp.asarray(as_value(metric(u, v, **options))) for u, v in pairs]
    return fnp.reshape(fnp.astype(fnp.stack(found), np.dtype(float)) if found else np.zeros(0), shape)


def pdist(X: ArrayLike, metric: Any = "euclidean", *, out: None = None, **kwargs: Any) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.spatial.distance.pdist``: the distances of all pairs of points, each once.

    Args:
        X: f[m, k], a point in each row.
        metric: the name of one, or a function of two vectors.
        out: not supported.
        kwargs: of the metric, as of `cdist`.

    Returns:
        f64[m * (m - 1) / 2]: of the first point from all others, of the second from those behind it, and so on.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy.spatial import distance
        >>> distance.pdist(np.array([[0.0], [1.0], [3.0]]))
        array([1., 3., 2.])
    """
    metric = _by_name(metric)
    name, function = _metric("pdist", metric, out)
    x = _points("pdist", X)
    first, second = np.triu_indices(x.shape[0], 1)
    if callable(metric):
        pairs = [(x[i], x[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        return _of_pairs(function, pairs, kwargs, (len(pairs),))
    x = _as_points(name, x)
    options = _options("pdist", name, [x], kwargs)
    whole = _squares("sqeuclidean" if name == "euclidean" else name, x, x, options)
    if whole is None:
        return function(x[first], x[second], **options)
    found = whole[first, second]
    return formulas.square_root(found) if name == "euclidean" else found


def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.spatial.distance.squareform``: from the distances of pairs to a symmetric matrix, or back.

    Args:
        X: f[m * (m - 1) / 2], as `pdist` gives it, or f[m, m].
        force: ``'tomatrix'`` or ``'tovector'``, where the other way is to be an error.
        checks: whether a matrix that is known must be symmetric, with zeros on its diagonal.

    Returns:
        The other form; of a matrix the elements above the diagonal are read, and carry derivatives.

    Raises:
        ValueError: the array has neither form.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy.spatial import distance
        >>> distance.squareform(np.array([1.0, 3.0, 2.0]))
        array([[0., 1., 3.],
               [1., 0., 2.],
               [3., 2., 0.]])
    """
    x = fnp.asarray(as_value(X))
    forced = {"tomatrix": 1, "tovector": 2}.get(force.lower())
    if len(x.shape) not in {1, 2} or (forced is not None and forced != len(x.shape)):
        raise ValueError(
            f"scipy.spatial.distance.squareform: the first argument must be a distance vector or a distance matrix, "
            f"and is {aval_of(x)} with force={force!r}. Reshape it."
        )
    if len(x.shape) == 1:
        return _matrix(x)
    m = x.shape[0]
    if x.shape[1] != m:
        raise ValueError(
            f"scipy.spatial.distance.squareform: the matrix argument must be square, and is {aval_of(x)}. Give the "
            "distances of all points from all."
        )
    known = known_value(x) if checks else None
    if known is not None and not ((known == known.T).all() and not known.diagonal().any()):
        raise ValueError(
            "scipy.spatial.distance.squareform: distance matrix 'X' must be symmetric, and its diagonal must be zero, "
            "and they are not. Pass checks=False to read what is above the diagonal."
        )
    return x[np.triu_indices(m, 1)]


def _matrix(x: ArrayLike) -> Any:
    m = round((1 + np.sqrt(1 + 8 * x.shape[0])) / 2)
    if m * (m - 1) != 2 * x.shape[0]:
        raise ValueError(
            f"scipy.spatial.distance.squareform: incompatible vector size {x.shape[0]}; it must be a binomial "
            "coefficient n choose 2 for some integer n >= 2. Give the distance of each pair of points once."
        )
    # The diagonal reads the zero appended after the distances.
    places = np.full((m, m), x.shape[0])
    first, second = np.triu_indices(m, 1)
    places[first, second] = places[second, first] = np.arange(x.shape[0])
    return fnp.concatenate([x, np.zeros(1, x.dtype)])[places]


__dir__ = publish(__name__)
