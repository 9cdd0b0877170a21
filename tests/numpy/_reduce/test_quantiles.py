"""Medians and quantiles without NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._surface import check_surface, same

METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "inverted_cdf"),
    *("averaged_inverted_cdf", "closest_observation"),
)


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(3, 4, 5))
    x[rng.uniform(size=x.shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": 2}], ids=str)
def test_medians_and_quantiles(options: dict[str, Any], x: np.ndarray) -> None:
    check_surface(lambda m, x: m.nanmedian(x, **options), [x])
    check_surface(lambda m, x: m.nanquantile(x, 0.3, **options), [x])
    check_surface(lambda m, x: m.nanpercentile(x, m.asarray([0.0, 100, 30, 77]), **options), [x])


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: Any, x: np.ndarray) -> None:
    for q in (0.0, 0.25, 0.6, 1.0, np.array([0.1, 0.5])):
        f = lambda x, q=q: np.nanquantile(x, q, axis=1, method=method)
        for compiled in (fg.make_graph(f)(x), fg.jit(f)):
            same(compiled(x), f(x), 1e-13)
        same(
            fg.vmap(lambda x, q=q: np.nanquantile(x, q, method=method), 1)(x)[2],
            np.nanquantile(x[:, 2], q, method=method),
            1e-13,
        )


def test_kinds(x: np.ndarray) -> None:
    kinds = [
        x.astype(np.float32),
        x.astype(np.float16),
        np.arange(5),
        np.array([1.0, np.inf, np.nan]),
        np.zeros((0, 2)),
    ]
    for each in kinds:
        with np.errstate(all="ignore"):
            of: Any = np
            for f in (of.nanmedian, lambda x: np.nanquantile(x, 0.25), lambda x: np.nanpercentile(x, [25, 50])):
                if each.size:
                    same(fg.make_graph(f)(each)(each), np.asarray(f(each)), 1e-6 if each.dtype != np.float16 else 2e-3)
    nothing = np.array([[np.nan, np.nan], [1, 2.0]])
    for f in (lambda x: np.nanmedian(x, 1), lambda x: np.nanquantile(x, 0.5, 1)):
        with pytest.warns(RuntimeWarning, match="All-NaN"):
            y, pull = fg.vjp(f, nothing)
        same(y, np.array([np.nan, 1.5]), 0)
        same(pull(np.ones(2))[0], np.array([[0, 0], [0.5, 0.5]]), 0)
        same(fg.jit(f)(nothing), np.array([np.nan, 1.5]), 0)


def test_out_and_options(x: np.ndarray) -> None:
    def written(x: Any) -> Any:
        y = np.zeros_like(x, shape=4)
        np.nanmedian(x, axis=(0, 2), out=y)
        return y

    same(fg.make_graph(written)(x)(x), np.nanmedian(x, axis=(0, 2)), 0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        fg.make_graph(lambda x: np.nanquantile(x, 2))(x)


def weighted(q: Any, weights: np.ndarray, axis: Any, **options: Any) -> Any:
    return lambda x: np.quantile(x, q, axis=axis, weights=weights, method="inverted_cdf", **options)


@pytest.mark.parametrize("axis", [None, 1, -1, (0, 2), (2, 0)], ids=str)
def test_weights(axis: Any, x: np.ndarray, rng: np.random.Generator) -> None:
    """An element each, to which the derivative goes; of weights it is a step function."""
    whole = np.nan_to_num(x, nan=7.0)
    like = rng.uniform(size=x.shape)
    like[0], like[1, 0, 0] = 0, 0
    along = [] if axis is None else [rng.uniform(0.1, 1, [x.shape[i] for i in np.atleast_1d(axis)])]
    one_axis = isinstance(axis, int)
    for weights in (like + one_axis * (rng.uniform(size=x.shape) > 0.5) + 1e-3, *along):
        for q in (0.0, 0.25, 1.0, np.array([0.0, 0.4, 1.0]), np.float32(0.4)):
            f = weighted(q, weights, axis, keepdims=True)
            same(fg.make_graph(f)(whole)(whole), f(whole), 0)
            same(fg.jit(lambda w, q=q: weighted(q, w, axis)(whole))(weights), weighted(q, weights, axis)(whole), 0)
        f = weighted(0.4, weights, axis)
        y, pull = fg.vjp(f, whole)
        (bar,) = pull(np.ones_like(y))
        assert bar.sum() == np.size(y)
        np.testing.assert_array_equal(np.sort(np.unique(whole[bar > 0])), np.unique(y))
        same(fg.jit(f, engine="xla")(x), f(x), 0)
    same(fg.make_graph(weighted(0.4, like, None))(whole)(whole), np.asarray(weighted(0.4, like, None)(whole)), 0)


def test_weights_of_what_is_no_nan(x: np.ndarray, rng: np.random.Generator) -> None:
    weights = rng.uniform(size=x.shape)
    for axis in (None, 1, (0, 2)):
        f = lambda x, axis=axis: np.nanquantile(x, [0.2, 0.7], axis, weights=weights, method="inverted_cdf")
        same(fg.make_graph(f)(x)(x), f(x), 0)
    rows = rng.normal(size=(4, 5))
    one = fg.vmap(lambda x, w: np.percentile(x, 40, weights=w, method="inverted_cdf"))
    same(one(rows, weights[0]), np.percentile(rows, 40, axis=1, weights=weights[0], method="inverted_cdf"), 0)
    integers = rng.integers(0, 9, (4, 5))
    same(
        fg.make_graph(weighted(0.4, weights[0, 0], 1))(integers)(integers), weighted(0.4, weights[0, 0], 1)(integers), 0
    )


@pytest.mark.parametrize(
    ("weights", "options", "error", "words"),
    [
        (np.ones(4), {"method": "linear"}, ValueError, "Only method 'inverted_cdf' supports weights"),
        (-np.ones(4), {}, ValueError, "must be non-negative"),
        (np.zeros(4), {}, ValueError, "were all zero"),
        (np.ones(2), {}, TypeError, "Axis must be specified"),
        (np.ones(2), {"axis": 0}, ValueError, "consistent with shape of a"),
    ],
)
def test_bad_weights(weights: np.ndarray, options: dict[str, Any], error: type[Exception], words: str) -> None:
    for under in (lambda f: f, lambda f: lambda x: fg.vjp(f, x)):
        with pytest.raises(error, match=words), np.errstate(all="ignore"):
            under(lambda x: np.quantile(x, 0.5, weights=weights, **{"method": "inverted_cdf", **options}))(
                np.arange(4.0)
            )


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("axis", [None, 0, (1, 0)])
def test_medians_of_complex_numbers_with_nan_in_one_part(axis: Any, engine: str) -> None:
    x = np.array([[complex(1.12, np.nan), 0.57 + 1.21j], [-0.19 - 0.15j, complex(-np.inf, 1)], [complex(0, 2), 1j]])
    expected = np.median(x, axis=axis)
    np.testing.assert_array_equal(fg.vjp(lambda x: np.median(x, axis=axis), x)[0], expected)
    np.testing.assert_array_equal(fg.jit(lambda x: np.median(x, axis=axis), engine=engine)(x), expected)
