"""Sorting and order statistics: NumPy's values, JAX's gradients."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.bind import Tracer
from tests.numpy._surface import check_surface

FRACTIONS = np.array([0.0, 0.2, 0.55, 1.0])

CASES: dict[str, Any] = {
    "sort": lambda m, x: m.sort(x),
    "sort along an axis": lambda m, x: m.sort(x, axis=0),
    "sort of all": lambda m, x: m.sort(x, axis=None),
    "argsort": lambda m, x: m.argsort(x, axis=0),
    "argsort method": lambda m, x: x.argsort(),
    "searchsorted": lambda m, x: m.searchsorted(np.array([-1.0, 0.0, 1.0]), x),
    "searchsorted on the right": lambda m, x: m.searchsorted(np.array([-1.0, 0.0, 1.0]), x, side="right"),
    "median": lambda m, x: m.median(x),
    "median of an odd number": lambda m, x: m.median(x, axis=1),
    "median of an even number": lambda m, x: m.median(x, axis=0, keepdims=True),
    "median over axes": lambda m, x: m.median(x, axis=(0, 1)),
    "quantile": lambda m, x: m.quantile(x, 0.3),
    "quantile at the ends": lambda m, x: m.quantile(x, np.array([0.0, 1.0]), axis=1),
    "quantiles": lambda m, x: m.quantile(x, FRACTIONS, axis=1, keepdims=True),
    "percentile": lambda m, x: m.percentile(x, 70, axis=0),
    "percentiles": lambda m, x: m.percentile(x, np.array([25.0, 75.0])),
    **{
        f"quantile, {method}": lambda m, x, method=method: m.quantile(x, 0.37, axis=1, method=method)
        for method in ("lower", "higher", "midpoint", "nearest")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_order(name: str, rng: np.random.Generator) -> None:
    check_surface(CASES[name], [rng.normal(size=(4, 5))])


@pytest.mark.parametrize(
    "method", ["interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]
)
def test_continuous_quantiles(method: Any, rng: np.random.Generator) -> None:
    """JAX lacks these; the gradient weighs the two neighbours."""
    x = rng.normal(size=9)
    for q in (0.01, 0.4, 0.99):
        value, gradient = fg.value_and_grad(lambda x, q=q: np.quantile(x, q, method=method))(x)
        np.testing.assert_allclose(value, np.quantile(x, q, method=method))
        np.testing.assert_allclose(gradient @ x, value)


def test_table_of_fractions(rng: np.random.Generator) -> None:
    x, q = rng.normal(size=(4, 5)), FRACTIONS.reshape(2, 2)
    value, _ = fg.vjp(lambda x: np.quantile(x, q, axis=1), x)
    np.testing.assert_array_equal(value, np.quantile(x, q, axis=1))


def test_quantiles_by_the_fraction() -> None:
    x = np.array([4.0, 1.0, 2.0])
    assert fg.grad(lambda q: np.quantile(x, q))(0.25) == 2.0
    assert fg.grad(lambda q: np.quantile(x, q))(np.float64(0.75)) == 4.0


@pytest.mark.parametrize("name", ["sort", "median", "quantile", "percentile"])
def test_single_precision_stays(name: str, rng: np.random.Generator) -> None:
    check_surface(CASES[name], [rng.normal(size=(4, 5)).astype(np.float32)], tolerance=1e-5)


def test_not_a_number_spreads() -> None:
    x = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    value, _ = fg.value_and_grad(lambda x: np.median(x, axis=1)[1])(x)
    assert value == 5.0
    np.testing.assert_array_equal(fg.make_graph(lambda x: np.median(x, axis=1))(x)(x), [np.nan, 5.0])
    np.testing.assert_array_equal(fg.make_graph(lambda x: np.quantile(x, 0.5, axis=1))(x)(x), [np.nan, 5.0])


def test_ties_go_by_their_order() -> None:
    x = np.array([2.0, 1.0, 2.0, 1.0])
    check_surface(lambda m, x: m.sort(x), [x])


def test_partition_sorts(rng: np.random.Generator) -> None:
    x = rng.normal(size=7)
    value, pullback = fg.vjp(lambda x: np.partition(x, 3), x)
    np.testing.assert_array_equal(value, np.sort(x))
    np.testing.assert_array_equal(pullback(np.arange(7.0))[0], np.argsort(np.argsort(x)).astype(float))


def test_places_are_plain_arrays() -> None:
    def f(x: Any) -> Any:
        assert not any(isinstance(y, Tracer) for y in (np.argsort(x), np.searchsorted(x, 0.5), np.argpartition(x, 1)))
        return x[np.argsort(x)][0]

    np.testing.assert_array_equal(fg.grad(f)(np.array([2.0, 1.0])), [0.0, 1.0])


def test_mistakes() -> None:
    nearby: dict[str, Any] = {"method": "nearby"}
    x = np.ones(3)
    with pytest.raises(ValueError, match="'nearby' is not a valid method"):
        fg.vjp(lambda x: np.quantile(x, 0.5, **nearby), x)
    with pytest.raises(ValueError, match="outside"):
        fg.vjp(lambda x: np.quantile(x, 50), x)
    with pytest.raises(IndexError):
        fg.vjp(lambda x: np.quantile(x, 0.5), np.empty(0))


def test_the_median_of_nothing() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(fg.vjp(np.median, np.empty(0))[0])


INFINITE = [np.array([1.0, 2.0, np.inf]), np.array([-np.inf, 0.5, np.inf, np.inf]), np.array([-np.inf, -np.inf])]
METHODS = [
    *("nearest", "lower", "higher", "midpoint", "linear", "hazen", "weibull", "median_unbiased", "inverted_cdf"),
    *("averaged_inverted_cdf", "closest_observation"),
]


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_infinities(method: Any) -> None:
    for x in (*INFINITE, np.array([1.0, np.nan, 2.0])):
        for q in (0.0, 0.2, 0.4, 0.5, 0.75, 1.0):
            got = fg.vjp(lambda x, q=q: np.quantile(x, q, method=method), x)[0]
            np.testing.assert_array_equal(got, np.quantile(x, q, method=method), err_msg=f"{x} at {q}")
            got = fg.vjp(lambda x, q=q: np.percentile(x, 100 * q, method=method), x)[0]
            np.testing.assert_array_equal(got, np.percentile(x, 100 * q, method=method), err_msg=f"{x} at {q}")
    gradient = fg.grad(lambda x: np.quantile(x, 0.4, method="nearest"))(INFINITE[0])
    np.testing.assert_array_equal(gradient, [0, 1, 0])


@pytest.mark.parametrize("method", ["lower", "higher", "nearest"])
def test_a_quantile_that_is_an_element_keeps_its_dtype(method: Any) -> None:
    for x in (np.array([True, False]), np.array([3, 1, 2], np.int16)):
        f = lambda x: (np.quantile(x, 0.4, method=method), np.percentile(x, [30, 80], method=method))
        for got, expected in zip(fg.jit(f, engine="numpy")(x), f(x), strict=True):
            assert np.asarray(got).dtype == np.asarray(expected).dtype
            np.testing.assert_array_equal(got, expected)


def test_by_several_keys_and_of_complex_numbers(rng: np.random.Generator) -> None:
    keys = rng.integers(0, 3, (3, 8)) * 1.0
    of: Any = np
    for f in (of.lexsort, lambda k: np.lexsort((k[0], k[1])), lambda k: np.lexsort(np.stack([k, k[::-1]]), axis=0)):
        for run in (fg.make_graph(f)(keys), fg.jit(f), lambda k, f=f: fg.vmap(f)(np.stack([k, k]))[1]):
            np.testing.assert_array_equal(run(keys), f(keys))
    for dtype in (np.float32, np.float64, np.int16, complex):
        x = (5 * rng.normal(size=6)).astype(dtype)
        y, expected = fg.make_graph(np.sort_complex)(x)(x), np.sort_complex(x)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected)
    z = keys[0] + 1e-15j
    for tolerance in (100, 1e-20):
        y = fg.vjp(lambda z, t=tolerance: np.real_if_close(z, t), z)[0]
        assert y.dtype == np.real_if_close(z, tolerance).dtype
    np.testing.assert_array_equal(fg.grad(lambda z: np.sum(np.real_if_close(z)).real)(z), np.ones(8))


REFUSED: dict[str, Any] = {
    "sort of a kind": lambda x: np.sort(x, kind=cast(Any, "nonsense")),
    "sort, stable twice": lambda x: np.sort(x, kind="stable", stable=True),
    "argsort by a field": lambda x: np.argsort(x, order="f0"),
    "partition of a kind": lambda x: np.partition(x, 1, kind=cast(Any, "stable")),
    "partition beyond": lambda x: np.partition(x, 3),
    "partition before": lambda x: np.partition(x, [0, -4]),
    "partition at a float": lambda x: np.partition(x, cast(Any, 1.0)),
    "partition at a bool": lambda x: np.argpartition(x, True),
    "argpartition of all": lambda x: np.argpartition(x, 6, axis=None),
    "var by both names": lambda x: np.var(x, ddof=1, correction=0),
    "nanstd by both names": lambda x: np.nanstd(x, ddof=0.5, correction=0.5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_numpy_refuses_are_refused(name: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises((TypeError, ValueError), match=r".") as expected:
        REFUSED[name](x)
    for run in (fg.jit(REFUSED[name], engine="numpy"), lambda x: fg.vjp(REFUSED[name], x)):
        with pytest.raises(type(expected.value), match=r"."):
            run(x)


def test_options_that_numpy_takes_are_taken() -> None:
    x = np.array([[3.0, 1.0, 2.0], [2.0, 5.0, 4.0]])
    for f in (
        lambda x: np.sort(x, kind="heapsort"),
        lambda x: np.sort(x, stable=True),
        lambda x: np.partition(x, (0, -1)),
        lambda x: np.partition(x[:0], 1, axis=1),
        lambda x: np.std(x, ddof=0, correction=1),
    ):
        np.testing.assert_array_equal(fg.jit(f, engine="numpy")(x), f(x))
    # Whether a traced place is on the axis is not known.
    np.testing.assert_array_equal(fg.jit(np.partition, engine="numpy")(x, np.int64(1)), np.sort(x))


def test_complex_numbers_with_nan_come_last() -> None:
    """NumPy's order: all parts known, the imaginary part NaN, the real part NaN, both."""
    x = np.array([complex(np.nan, np.nan), complex(0.0, np.nan), 3 + 0j, complex(np.nan, 1.0), 1 + 1j, 1 - 1j])
    for engine in ("xla", "numpy"):
        np.testing.assert_array_equal(np.asarray(fg.jit(np.sort, engine=engine)(x)), np.sort(x))
        np.testing.assert_array_equal(np.asarray(fg.jit(np.argsort, engine=engine)(x)), np.argsort(x))


FALLING = {
    "floats": np.array([3.0, np.nan, 1.0, 3.0, -0.0, 0.0, np.inf]),
    "rows": np.array([[3, 1, 2], [1, 1, 5]], np.uint8),
    "complex": np.array([1 + 2j, np.nan, 3, 1 + 1j]),
    "truths": np.array([True, False, True]),
}


@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_from_large_to_small(name: str, engine: Any) -> None:
    """Numbers in falling order: stable, and with NaN at the end."""
    x = FALLING[name]
    kept = x[~np.isnan(x)] if x.ndim == 1 else x
    turned = np.flip(np.sort(np.flip(kept, -1), kind="stable"), -1)
    expected = np.concatenate([turned, x[np.isnan(x)]]) if x.ndim == 1 else turned
    options: dict[str, Any] = {"stable": True, "descending": True}
    positions = fg.jit(lambda x: fnp.argsort(x, **options), engine=engine)
    values = fg.jit(lambda x: fnp.sort(x, **options), engine=engine)
    np.testing.assert_array_equal(values(x), expected)
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(positions(x)), -1), expected)
    equal = np.asarray(positions(np.array([1, 2, 1, 2])))
    np.testing.assert_array_equal(equal, [1, 3, 0, 2])
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        np.testing.assert_array_equal(positions(x), np.argsort(x, **options))
