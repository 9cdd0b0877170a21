"""Medians and quantiles without NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._surface import check_surface, same

METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased")


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
    with pytest.raises(fg.errors.UnsupportedFunctionError, match="weights"):
        fg.make_graph(lambda x: np.nanquantile(x, 0.5, weights=x * 0 + 1, method="inverted_cdf"))(x)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        fg.make_graph(lambda x: np.nanquantile(x, 2))(x)
