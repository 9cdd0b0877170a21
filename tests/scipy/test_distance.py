"""Distances, against SciPy, PyTorch's convention where points coincide, and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy.spatial import distance
from tests.scipy._cases import Call, agree

theirs: Any = scipy.spatial.distance

# The options of each metric, with the shape of what is drawn for an array.
METRICS: dict[str, list[dict[str, Any]]] = {
    "euclidean": [{}, {"w": (3,)}],
    "sqeuclidean": [{}, {"w": (3,)}],
    "cityblock": [{}, {"w": (3,)}],
    "chebyshev": [{}, {"w": (3,)}],
    "minkowski": [{}, {"p": 1}, {"p": 3}, {"p": np.inf}, {"p": 1.5, "w": (3,)}],
    "cosine": [{}],
    "correlation": [{}],
    "canberra": [{}, {"w": (3,)}],
    "braycurtis": [{}, {"w": (3,)}],
    "hamming": [{}, {"w": (3,)}],
    "jaccard": [{}, {"w": (3,)}],
    "jensenshannon": [{}],
    "mahalanobis": [{}, {"VI": (3, 3)}],
    "seuclidean": [{}, {"V": (3,)}],
}


def drawn(rng: np.random.Generator, options: dict[str, Any]) -> dict[str, Any]:
    found = {key: np.abs(rng.normal(size=x)) if isinstance(x, tuple) else x for key, x in options.items()}
    return {key: x @ x.T if key == "VI" else x for key, x in found.items()}


def close(got: Any, expected: Any, tolerance: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_scipys(name: str, rng: np.random.Generator) -> None:
    for dtype, given in [(dtype, given) for dtype in ("f8", "f4", "i4") for given in METRICS[name]]:
        a, b = (np.abs(3 * rng.normal(size=(n, 3))).astype(dtype) + (n == 5) for n in (5, 4))
        b[0], b[1, 0] = a[0], 0
        options, tolerance = drawn(rng, given), 1e-5 if dtype == "f4" else 1e-7
        close(distance.cdist(a, b, name, **options), theirs.cdist(a, b, name, **options), tolerance)
        close(distance.pdist(a, name.upper(), **options), theirs.pdist(a, name, **options), tolerance)
        if name not in {"mahalanobis", "seuclidean"} or options:
            one = getattr(distance, name)(a[1], b[2], **options)
            close(one, getattr(theirs, name)(a[1], b[2], **options), tolerance)


def test_forms_are_scipys(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))

    def metric(u: Any, v: Any) -> Any:
        return u[0] * v[0] - v[1]

    close(distance.cdist(a, b, metric), theirs.cdist(a, b, metric), 1e-15)
    close(distance.pdist(a, metric), theirs.pdist(a, metric), 1e-15)
    pairs = theirs.pdist(a)
    for x in (pairs, theirs.squareform(pairs), np.zeros(0), np.zeros((1, 1)), np.array([3])):
        close(distance.squareform(x), theirs.squareform(x), 0)


def test_programs(rng: np.random.Generator) -> None:
    a, b, w = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), np.abs(rng.normal(size=3))
    calls: dict[str, Call] = {
        "cdist": (lambda m, a, b: m.cdist(a, b), (a, b)),
        "squares": (lambda m, a, b: m.cdist(a, b, "sqeuclidean"), (a, b)),
        "weights": (lambda m, a, b, w: m.cdist(a, b, "euclidean", w=w), (a, b, w)),
        "variances": (lambda m, a, b, w: m.cdist(a, b, "seuclidean", V=w), (a, b, w)),
        "covariances": (lambda m, a: m.pdist(a, "mahalanobis"), (rng.normal(size=(6, 3)),)),
        "powers": (lambda m, a, b, p: m.cdist(a, b, "minkowski", p=p), (a, b, np.float64(2.5))),
        "cityblock": (lambda m, a, b: m.cdist(a, b, "cityblock"), (a, b)),
        "cosine": (lambda m, a, b: m.cdist(a, b, "cosine"), (a, b)),
        "correlation": (lambda m, a, b: m.correlation(a[0], b[0]), (a, b)),
        "braycurtis": (lambda m, a, b: m.cdist(a, b, "braycurtis"), (abs(a), abs(b))),
        "canberra": (lambda m, a, b: m.cdist(a, b, "canberra"), (a, b)),
        "jensenshannon": (lambda m, a, b: m.cdist(a, b, "jensenshannon"), (abs(a), abs(b))),
        "pdist": (lambda m, a: m.pdist(a), (a,)),
        "squareform": (lambda m, y: m.squareform(y), (rng.normal(size=6),)),
    }
    agree(distance, theirs, calls, on_xla=("cdist", "pdist"), tolerance=1e-9)


def test_where_points_coincide_the_derivative_is_0(rng: np.random.Generator) -> None:
    a = rng.normal(size=(3, 2))
    a[2] = a[0]
    for name in ("euclidean", "cityblock", "minkowski", "seuclidean"):
        options = {"p": 3} if name == "minkowski" else {}
        slopes = [
            fg.grad(lambda x, i=i, name=name, o=options: distance.cdist(x, a, name, **o)[0, i])(a) for i in (0, 2)
        ]
        if name != "seuclidean":
            np.testing.assert_array_equal(slopes, np.zeros((2, 3, 2)))
        assert np.isfinite(fg.grad(lambda x, name=name, o=options: np.sum(distance.pdist(x, name, **o)))(a)).all()
    # Points that nearly coincide, far from the origin: differences come before sums.
    near = np.array([[1e6, 1e6], [1e6 + 2**-20, 1e6]])
    np.testing.assert_array_equal(fg.grad(lambda x: distance.pdist(x)[0])(near), [[-1.0, 0.0], [1.0, 0.0]])
    curvature = fg.hessian(lambda u: distance.cosine(u, np.array([1.0, 2.0])))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(curvature, [[0.16, -0.08], [-0.08, 0.04]], atol=1e-12)


def test_refused(rng: np.random.Generator) -> None:
    a, d = rng.normal(size=(3, 2)), distance
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: d.euclidean(a, a), ValueError, r"should be 1-D, and is f64\[3,2\]"),
        (lambda: d.minkowski(a[0], a[1], -1), ValueError, "greater than 0"),
        (lambda: d.cityblock(a[0], a[1], -(a[0] ** 2)), ValueError, "non-negative"),
        (lambda: d.correlation(a[0] * 1j, a[1]), TypeError, "must be real"),
        (lambda: d.hamming(a[0], a[1, :1]), ValueError, "equal lengths"),
        (lambda: d.seuclidean(a[0], a[1], a[0, :1]), TypeError, "same dimension"),
        (lambda: d.cdist(a[0], a), ValueError, "2-dimensional"),
        (lambda: d.cdist(a, a * 1j), ValueError, "real numbers"),
        (lambda: d.cdist(a, a[:, :1]), ValueError, "same number of columns"),
        (lambda: d.cdist(a, a, "dice"), ValueError, "unknown distance metric: dice"),
        (lambda: d.cdist(a, a, out=vars(np)["zeros"](3)), UnsupportedFunctionError, "out was given"),
        (lambda: d.cdist(a, a, "cityblock", w=np.ones(3)), ValueError, "same size as input vector, 2"),
        (lambda: d.pdist(a[:2], "mahalanobis"), ValueError, "at least 3 observations"),
        (lambda: d.squareform(a), ValueError, "must be square"),
        (lambda: d.squareform(a[:2]), ValueError, "must be symmetric"),
        (lambda: d.squareform(np.ones(4)), ValueError, "binomial coefficient"),
        (lambda: d.squareform(np.ones(3), "tovector"), ValueError, "force='tovector'"),
    ]
    for f, error, words in mistakes:
        with pytest.raises(error, match=words):
            f()
