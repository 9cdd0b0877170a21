"""Histograms, ``bincount`` and ``digitize``: counts are constants, weights and edges have derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from tests.numpy._surface import check_surface, same

OF: Any = np
BINS = {
    "count": {"bins": 4},
    "range": {"bins": 3, "range": (-0.5, 1.0)},
    "edges": {"bins": np.array([-1.0, -0.2, 0.3, 0.3, 2])},
    "default": {},
}


@pytest.mark.parametrize("bins", BINS)
def test_histograms(bins: str, rng: np.random.Generator) -> None:
    x, w, options = rng.normal(size=9), rng.normal(size=9), BINS[bins]
    x[:3] = (-0.5, 1.0, 0.3)
    check_surface(lambda m, w: m.histogram(x, weights=w, **options)[0], [w])
    check_surface(lambda m, x: m.histogram(x, **options)[0], [x])
    check_surface(lambda m, x: m.histogram(x, **options)[1] + 0 * x[0], [x])
    check_surface(lambda m, x: m.histogram_bin_edges(x, **options) + 0 * x[0], [x])
    if bins != "edges":
        # The density of empty bins without width is NaN.
        check_surface(lambda m, w: m.histogram(x, weights=w, density=True, **options)[0], [np.abs(w)])
        f = lambda x: np.histogram(x, density=True, weights=np.abs(w), **options)[0]
        fg.check_grads(f, (rng.normal(size=9),), order=1)


def test_histogram_of_every_kind(rng: np.random.Generator) -> None:
    x = rng.normal(size=8)
    kinds = [x.astype(np.float32), (3 * x).astype(int), np.r_[x, np.nan], np.zeros(0), np.full(3, 2.0), x[:1]]
    for each in kinds:
        limits = (-1, 1) if np.isnan(each).any() else None
        for dtype in (None, np.float32, int, complex):
            w = None if dtype is None else np.arange(each.size).astype(dtype)
            f = lambda x, limits=limits, w=w: np.histogram(x, 3, limits, weights=w)
            for compiled in (fg.make_graph(f)(each), fg.jit(f, engine="numpy"), fg.jit(f)):
                for ours, theirs in zip(compiled(each), f(each), strict=True):
                    same(ours, theirs, 1e-6)
            got = fg.jvp(lambda x, f=f: f(x + 0.0), (each,), (each,))[0] if each.dtype.kind == "f" else f(each)
            for ours, theirs in zip(got, f(each), strict=True):
                same(ours, theirs, 1e-6)
    for name in ("auto", "fd", "sqrt"):
        fg.check_grads(lambda x, name=name: np.histogram_bin_edges(x, name), (x,), order=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_even_bins_are_numpys(n: int, dtype: Any, rng: np.random.Generator) -> None:
    """Bins of equal width are found without a search. Elements on an edge, or next to one, are in NumPy's bin."""
    for limits in (None, (-1.0, 2.0), (0.1, 0.7)):
        x = rng.normal(size=3000).astype(dtype)
        edges = np.histogram_bin_edges(x, n, limits).astype(dtype)
        x[: n + 1] = edges
        x[1000 : 1000 + n] = np.nextafter(edges[1:], dtype(-9))
        x[2000 : 2000 + n] = np.nextafter(edges[1:], dtype(9))
        x = np.clip(x, edges[0], edges[-1]) if limits is None else np.where(x < -2, dtype(np.nan), x)
        w = rng.normal(size=x.size)
        counts = lambda x, limits=limits: np.histogram(x, n, limits)[0]
        sums = lambda x, w, limits=limits: np.histogram(x, n, limits, weights=w)[0]
        want = np.stack([np.histogram(x, n, limits, weights=w == each)[0] for each in w[:20]], 1)
        same(fg.jvp(counts, (x,), (x,))[0], counts(x), 0)
        got = fg.jacrev(sums, 1)(x, w)
        np.testing.assert_array_equal(got[:, :20], want)
        # XLA rounds edges between computed limits in another way, and many elements are on edges.
        for engine in ("numpy", "numba", "xla")[: 2 if limits is None else 3]:
            np.testing.assert_array_equal(fg.jit(counts, engine=engine)(x), counts(x))
            same(fg.jit(sums, engine=engine)(x, w), sums(x, w), 1e-12)


def test_uneven_and_many_bins_are_searched(rng: np.random.Generator) -> None:
    """A guess in float32 among more bins than its rounding resolves may be several bins off."""
    x = rng.uniform(size=2000).astype(np.float32)
    f = lambda x: np.histogram(x, 1 << 21)[0]
    assert "searchsorted" in str(fg.make_graph(f)(x))
    assert "searchsorted" not in str(fg.make_graph(f)(x.astype(np.float64)))
    assert "searchsorted" in str(fg.make_graph(lambda x: np.histogram(x, np.linspace(0, 1, 9))[0])(x))


def test_equal_histograms_are_one(rng: np.random.Generator) -> None:
    """The constants of both are equal, so the values are sorted into bins once."""
    x, w = rng.normal(size=500), rng.normal(size=500)
    f = lambda x, w: np.histogram(x, 2000, weights=w)[0] / (1 + np.histogram(x, 2000)[0])
    once = fg.make_graph(lambda x, w: np.histogram(x, 2000, weights=w)[0])(x, w).simplify()
    assert len(fg.make_graph(f)(x, w).simplify().equations) <= len(once.equations) + 6
    same(fg.jit(f, engine="numpy")(x, w), f(x, w), 1e-15)


def test_histograms_of_points(rng: np.random.Generator) -> None:
    x, y, w = rng.normal(size=7), rng.normal(size=7), rng.uniform(0.5, 2, 7)
    points = rng.normal(size=(7, 3))
    edges = np.array([-1, 0.2, 1])
    for bins in (3, [2, 3], [edges, 4], edges):
        check_surface(lambda m, w, bins=bins: m.histogram2d(x, y, bins, weights=w)[0], [w])
        check_surface(lambda m, x, y, bins=bins: m.histogram2d(x, y, bins)[1] + 0 * x[0] + 0 * y[0], [x, y])
    for density in (False, True):
        check_surface(lambda m, w, d=density: m.histogramdd(points, (2, 3, 1), density=d, weights=w)[0], [w])
    limits = [(-1.0, 1), None, (-2, 2.0)]
    f = lambda points: np.histogramdd(points, 2, limits)[0]
    same(fg.make_graph(f)(points)(points), f(points), 0)
    f = lambda x: np.histogramdd(x, 3)
    for ours, theirs in zip(fg.make_graph(f)(x)(x)[1], f(x)[1], strict=True):
        same(ours, theirs, 1e-15)


def test_bincount(rng: np.random.Generator) -> None:
    places, w = np.array([0, 3, 1, 3, 3]), rng.normal(size=5)
    for least in (0, 6):
        check_surface(
            lambda m, w, n=least: m.bincount(m.asarray(places), w, n),
            [w],
            jax_f=lambda m, w, n=least: m.bincount(places, w, n, length=max(n, 4)),
        )
    same(
        fg.make_graph(lambda w: np.bincount(places, w))(np.ones(5, np.float32))(np.ones(5, np.float32)),
        np.bincount(places, np.ones(5, np.float32)),
        0,
    )
    same(fg.vmap(lambda w: np.bincount(places, w))(np.stack([w, 2 * w]))[1], np.bincount(places, 2 * w), 1e-15)
    with pytest.raises(ConcretizationTypeError, match="greatest number"):
        fg.jit(np.bincount)(places)
    with pytest.raises(ValueError, match="same length"):
        fg.grad(lambda w: np.sum(np.bincount(places[1:], w)))(w)
    with pytest.raises(TypeError, match="real numbers"):
        fg.make_graph(lambda w: np.bincount(places, w))(w + 1j)


def test_digitize(rng: np.random.Generator) -> None:
    x = np.r_[rng.normal(size=6), 0.5, np.nan]
    bins = np.array([-1, 0, 0.5, 0.5, 2])
    for edges in (bins, bins[::-1], bins[:1], np.zeros(0)):
        for right in (False, True):
            check_surface(lambda m, x, edges=edges, right=right: m.digitize(x, edges, right), [x])
    with pytest.raises(ValueError, match="monotonically"):
        fg.make_graph(lambda x: np.digitize(x, [0, 2, 1]))(x)
    with pytest.raises(TypeError, match="complex"):
        fg.make_graph(lambda x: OF.digitize(x, bins))(x + 1j)


def test_mistakes(rng: np.random.Generator) -> None:
    x = rng.normal(size=5)
    for error, match, f in (
        (ValueError, "must be positive", lambda x: np.histogram(x, 0)),
        (ValueError, "increase monotonically", lambda x: np.histogram(x, [1, 0, 2])),
        (ValueError, "must be 1d", lambda x: OF.histogram(x, np.ones((2, 2)))),
        (ValueError, "larger than min", lambda x: np.histogram(x, 3, (1, 0))),
        (ValueError, "not finite", lambda x: np.histogram(x * np.inf, 3)),
        (ValueError, "Too many bins", lambda x: np.histogram(x * 0 + 1e16, 3)),
        (ValueError, "same shape", lambda x: np.histogram(x, 3, weights=np.ones(2))),
        (TypeError, "weighted data", lambda x: np.histogram(x, "auto", weights=x)),
        (ValueError, "dimension of bins", lambda x: np.histogramdd([x, x], [1, 2, 3])),
        (ValueError, "same length", lambda x: np.histogram2d(x, x[1:])),
    ):
        with pytest.raises(error, match=match):
            fg.vjp(f, x)


def test_bins_below_one_are_refused_where_they_stand() -> None:
    with pytest.raises(ValueError, match=r"`bins\[1\]` is 0\.99 and must be positive, when an integer"):
        fg.grad(lambda x: np.sum(np.histogramdd(x, bins=[1, 0.99, 1])[0]))(np.ones((2, 3)))
