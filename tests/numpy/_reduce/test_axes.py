"""Tuples of axes, out of order and negative, and the dtypes of statistics, as in NumPy."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._surface import same

AXES = [(1, 0), (2, 0), (-1, 0), (0, -2), (2, 0, 1), (-1, -3), (1,), ()]
OF_AXES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, axis: np.sum(x, axis),
    "mean": lambda x, axis: np.mean(x, axis),
    "var": lambda x, axis: np.var(x, axis),
    "prod": lambda x, axis: np.prod(x, axis),
    "max": lambda x, axis: np.max(x, axis),
    "ptp": lambda x, axis: np.ptp(x, axis),
    "nansum": lambda x, axis: np.nansum(x, axis),
    "nanvar": lambda x, axis: np.nanvar(x, axis),
    "median": lambda x, axis: np.median(x, axis),
    "quantile": lambda x, axis: np.quantile(x, 0.3, axis),
    "flip": lambda x, axis: np.flip(x, axis),
    "roll": lambda x, axis: np.roll(x, tuple(range(1, len(axis) + 1)), axis),
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": lambda x, axis: np.squeeze(x[:1, :1, :1], axis),
    "count_nonzero": lambda x, axis: np.count_nonzero(x > 0, axis),
    "average": lambda x, axis: np.average(
        x, axis, np.arange(1.0, 1 + 3 ** len(axis)).reshape((3,) * len(axis)) + x[0, 0, 0] ** 2
    ),
    "gradient": lambda x, axis: np.stack(np.gradient(x, *range(2, 2 + len(axis)), axis=axis)),
    "gradient by points": lambda x, axis: np.stack(
        np.gradient(x, *[np.arange(x.shape[i]) ** 2 for i in axis], axis=axis)
    ),
    "fft2": lambda x, axis: np.fft.fft2(x, axes=axis),
    "fftn": lambda x, axis: np.fft.fftn(x, axes=axis),
    "irfftn": lambda x, axis: np.fft.irfftn(x, axes=axis),
    "fftshift": lambda x, axis: np.fft.fftshift(x, axis),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "norm of rows": lambda x, axis: np.linalg.norm(x, 1, axis=axis),
    "nuclear norm": lambda x, axis: np.linalg.norm(x, "nuc", axis=axis),
    "vector_norm": lambda x, axis: np.linalg.vector_norm(x, axis=axis),
    "moveaxis": lambda x, axis: np.moveaxis(x, axis, tuple(range(len(axis)))),
    "rot90": lambda x, axis: np.rot90(x, 1, axis),
    "tensordot": lambda x, axis: np.tensordot(x, x, (axis, axis)),
    "transpose": lambda x, axis: np.transpose(x, axis),
    "add.reduce": lambda x, axis: np.add.reduce(x, axis),
    "maximum.reduce": lambda x, axis: np.maximum.reduce(x, axis),
    "all": lambda x, axis: np.all(x > 0, axis),
}
_NO_NUMPY = (TypeError, ValueError, IndexError, np.linalg.LinAlgError)


@pytest.mark.parametrize("name", OF_AXES)
def test_tuples_of_axes(name: str) -> None:
    x = np.random.default_rng(3).normal(size=(3, 3, 3))
    compared = 0
    for axis in AXES:

        def f(x: Any, axis: Any = axis) -> Any:
            return OF_AXES[name](x, axis)

        try:
            expected = np.asarray(f(x))
        except _NO_NUMPY:
            continue
        same(fg.make_graph(f)(x)(x), expected, 1e-12)
        same(fg.jvp(f, (x,), (x,))[0], expected, 1e-12)
        compared += 1
    assert compared


def test_gradient_keeps_the_dtype_and_subtracts_points_as_floats() -> None:
    points = np.array([1, 2, 4, 5, 9, 200])
    for dtype, of in itertools.product(("u1", "i4", "u8", "f8"), ("f2", "f4", "f8")):
        x, h = np.arange(6.0).astype(of) ** 2, points.astype(dtype)
        expected = np.gradient(x, h)
        got = fg.make_graph(lambda x, h: np.gradient(x, h))(x, h)(x, h)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-3 if of == "f2" else 1e-5)
    with pytest.raises(TypeError, match="no differences"):
        fg.make_graph(lambda x: np.gradient(x))(points > 3)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("f", [np.quantile, np.percentile, np.nanquantile, np.nanpercentile])
def test_dtypes_of_quantiles(f: Any, dtype: str) -> None:
    x = np.array([3.0, 1.0, 7.0, 2.0, 5.0]).astype(dtype)
    fractions = [0.3, 1, np.float32(0.3), np.float64(0.3), [0.3, 0.4], np.array([0, 1])]
    for q, method in itertools.product(fractions, ("linear", "lower")):
        expected = np.asarray(f(x, q, method=method))
        by_number = functools.partial(f, q=q, method=method)
        same(fg.make_graph(by_number)(x)(x), expected, 1e-3 if dtype == "f2" else 1e-6)
        if not isinstance(q, list):
            same(fg.jit(functools.partial(f, method=method), engine="numpy")(x, q), expected, 1e-3)


def test_variances_in_other_dtypes() -> None:
    m = np.random.default_rng(0).normal(size=(4, 5))
    for f, dtype, of in itertools.product((np.var, np.std, np.nanvar, np.nanstd), "FDfd", "fdFDi"):
        if (of in "FD" and dtype in "fd") or (f in {np.nanvar, np.nanstd} and dtype in "FD"):
            # NumPy drops imaginary parts.
            continue
        x = (3 * m).astype(of)
        same(fg.make_graph(functools.partial(f, axis=0, dtype=dtype))(x)(x), np.asarray(f(x, 0, dtype)), 1e-5)
    with pytest.raises(TypeError, match="needed a float or complex one"):
        fg.make_graph(lambda x: np.var(x, dtype=int))(m)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i8", "f4"])
def test_edges_of_histograms_under_jit(dtype: str) -> None:
    x = np.array([1, 100, 4, 5, 9, 100]).astype(dtype)
    for got, expected in zip(fg.make_graph(np.histogram)(x)(x), np.histogram(x), strict=True):
        same(got, expected, 1e-6)
