"""Reductions and statistics: NumPy's values, JAX's gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.bind import Tracer
from funcgrad.errors import TracerAssignmentError
from tests.numpy._surface import check_surface

MASK = np.array([[True, False, True], [True, True, False]])
WEIGHTS = np.array([0.5, 1.5, 2.0])

REAL: dict[str, Any] = {
    "sum": lambda m, x: m.sum(x),
    "sum over an axis": lambda m, x: m.sum(x, axis=-1),
    "sum kept": lambda m, x: x.sum(axis=(0, 1), keepdims=True),
    "sum where": lambda m, x: m.sum(x, axis=1, where=MASK, initial=2.0),
    "sum by the ufunc": lambda m, x: m.add.reduce(x),
    "prod": lambda m, x: m.prod(x),
    "prod over an axis": lambda m, x: x.prod(0),
    "prod where": lambda m, x: m.prod(x, axis=1, where=MASK, initial=3.0),
    "prod by the ufunc": lambda m, x: m.multiply.reduce(x, axis=1),
    "max": lambda m, x: m.max(x),
    "max over an axis": lambda m, x: x.max(axis=1),
    "amax": lambda m, x: m.amax(x, axis=0, keepdims=True),
    "max where": lambda m, x: m.max(x, axis=1, where=MASK, initial=-0.3),
    "max by the ufunc": lambda m, x: m.maximum.reduce(x, axis=None),
    "min": lambda m, x: m.min(x, axis=0),
    "min method": lambda m, x: x.min(),
    "amin": lambda m, x: m.amin(x, (0, 1)),
    "min by the ufunc": lambda m, x: m.minimum.reduce(x),
    "ptp": lambda m, x: m.ptp(x, axis=1),
    "mean": lambda m, x: m.mean(x),
    "mean over an axis": lambda m, x: x.mean(axis=0, keepdims=True),
    "mean where": lambda m, x: m.mean(x, axis=1, where=MASK),
    "mean of nothing": lambda m, x: m.mean(x, axis=()),
    "var": lambda m, x: m.var(x),
    "var with ddof": lambda m, x: x.var(axis=1, ddof=1),
    "var with correction": lambda m, x: m.var(x, axis=0, correction=0.5),
    "var where": lambda m, x: m.var(x, axis=1, where=MASK),
    "std": lambda m, x: m.std(x),
    "std over an axis": lambda m, x: x.std(axis=(1,), keepdims=True),
    "average": lambda m, x: m.average(x, axis=0),
    "average with weights": lambda m, x: m.average(x, axis=1, weights=WEIGHTS),
    "average with weights of the shape": lambda m, x: m.average(x, weights=np.abs(MASK - 0.3)),
    "average and weights": lambda m, x: m.average(x, axis=1, weights=WEIGHTS, returned=True)[0],
    "argmax": lambda m, x: m.argmax(x),
    "argmax along an axis": lambda m, x: x.argmax(axis=1),
    "argmin kept": lambda m, x: m.argmin(x, axis=0, keepdims=True),
    "all": lambda m, x: m.all(x > -1),
    "all of numbers": lambda m, x: x.all(axis=1),
    "any": lambda m, x: m.any(x > 1, axis=0),
    "any where": lambda m, x: m.any(x, axis=1, where=MASK),
    "any by the ufunc": lambda m, x: m.logical_or.reduce(x > 0, axis=1),
    "all by the ufunc": lambda m, x: m.logical_and.reduce(x > 0),
    "count_nonzero": lambda m, x: m.count_nonzero(x > 0, axis=1),
}
COMPLEX = ["sum", "sum over an axis", "prod", "prod over an axis", "mean", "var", "var with ddof", "std", "average"]


@pytest.mark.parametrize("name", REAL)
def test_reductions(name: str, rng: np.random.Generator) -> None:
    check_surface(REAL[name], [rng.normal(size=(2, 3))])


@pytest.mark.parametrize("name", COMPLEX)
def test_reductions_of_complex_numbers(name: str, rng: np.random.Generator) -> None:
    check_surface(REAL[name], [rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))])


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "mean", "mean where", "var where", "std", "average with weights"]
)
def test_single_precision_stays(name: str, rng: np.random.Generator) -> None:
    f = REAL[name]
    if name == "average with weights":
        f = lambda m, x: m.average(x, axis=1, weights=WEIGHTS.astype(np.float32))
    check_surface(f, [rng.normal(size=(2, 3)).astype(np.float32)], tolerance=1e-5)


def test_half_precision_means_are_added_up_in_single() -> None:
    x = np.full(4096, 0.1, np.float16)
    value, gradient = fg.value_and_grad(lambda x: np.mean(x))(x)
    assert value == np.mean(x)
    assert gradient.dtype == x.dtype
    x = x.astype(ml_dtypes.bfloat16)
    value, gradient = fg.value_and_grad(lambda x: np.mean(x))(x)
    assert value == x[0]
    assert gradient.dtype == x.dtype


def test_ties_share_the_derivative() -> None:
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    check_surface(lambda m, x: m.max(x, axis=1), [x])
    check_surface(lambda m, x: m.min(x, axis=1), [x])
    check_surface(lambda m, x: m.max(x), [x])


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
def test_products_with_zeros(x: list) -> None:
    check_surface(lambda m, x: m.prod(x), [np.array(x)])
    hessian_of_first = fg.grad(lambda x: fg.grad(lambda x: np.prod(x))(x)[0])(np.array(x))
    np.testing.assert_array_equal(hessian_of_first, [0, x[2], x[1]])


def test_integers_and_scalars() -> None:
    check_surface(lambda m, x: m.sum(m.arange(3, dtype=m.int32)) * x, [np.float64(2.0)])
    check_surface(lambda m, x: m.mean(x) + m.max(x) + m.prod(x) + m.var(x), [np.float64(2.0)])
    assert fg.grad(lambda x: np.mean(x))(3.0) == 1.0


def test_empty_arrays() -> None:
    check_surface(lambda m, x: m.sum(x, axis=0), [np.empty((0, 2))])
    check_surface(lambda m, x: m.prod(x, axis=1), [np.empty((3, 0))])
    check_surface(lambda m, x: m.max(x, axis=0), [np.empty((2, 0))])
    check_surface(lambda m, x: m.max(x, axis=0, initial=1.0), [np.empty((0, 2))])
    functions: list[Callable[..., Any]] = [np.max, np.argmax]
    for f in functions:
        with pytest.raises(ValueError, match=r"empty|zero-size"):
            fg.vjp(f, np.empty(0))
        with pytest.raises(ValueError, match="needed at least one element"):
            fg.make_graph(f)(np.empty(0))


def test_results_without_derivative_are_plain_arrays() -> None:
    def f(x: Any) -> Any:
        assert not any(isinstance(y, Tracer) for y in (np.argmax(x), x.argmin(0), np.all(x), np.count_nonzero(x)))
        return np.sum(x)

    fg.grad(f)(np.ones((2, 2)))


def test_mistakes() -> None:
    x = np.ones((2, 3))
    with pytest.raises(TracerAssignmentError, match=r"numpy\.mean: out="):
        fg.vjp(lambda x: np.mean(x, axis=0, out=np.empty(3)), x)
    with pytest.raises(np.exceptions.AxisError):
        fg.vjp(lambda x: np.sum(x, axis=2), x)
    with pytest.raises(ValueError, match="duplicate"):
        fg.vjp(lambda x: np.sum(x, axis=(0, -2)), x)
    with pytest.raises(ValueError, match="needs initial="):
        fg.vjp(lambda x: np.max(x, where=MASK), x)
    with pytest.raises(TypeError, match="Pass axis,"):
        fg.vjp(lambda x: np.average(x, weights=WEIGHTS), x)
    with pytest.raises(ValueError, match=r"they are \(3,\) and \(2, 3\), along 0"):
        fg.vjp(lambda x: np.average(x, axis=0, weights=WEIGHTS), x)


WITH_NAN = np.array([[1.0, np.nan, 3.0], [3.0, 2.0, 3.0]])
EXTREMA: dict[str, tuple[Any, Any]] = {
    "max": (lambda x: np.max(x, axis=1), [[np.nan] * 3, [0.5, 0, 0.5]]),
    "min": (lambda x: x.min(axis=1), [[np.nan] * 3, [0, 1, 0]]),
    "ptp": (lambda x: np.ptp(x, axis=1), [[np.nan] * 3, [0.5, -1, 0.5]]),
    "norm": (lambda x: np.linalg.norm(x, np.inf, axis=1), [[np.nan] * 3, [0.5, 0, 0.5]]),
    "max of all": (np.max, [[np.nan] * 3] * 2),
    "norm of matrices": (lambda x: np.linalg.norm(x, np.inf), [[np.nan] * 3] * 2),
    "nanmax": (lambda x: np.nanmax(x, axis=1), [[0, 0, 1], [0.5, 0, 0.5]]),
    # As in JAX, if one of two numbers is NaN, neither is the greater one, and both derivatives are 0.
    "maximum": (lambda x: np.maximum(x, 2.5), [[0, 0, 1], [1, 0, 1]]),
    "fmax": (lambda x: np.fmax(x, 2.5), [[0, 0, 1], [1, 0, 1]]),
    "cummax": (lambda x: np.maximum.accumulate(x, axis=1), [[1, 0, 0], [2, 0, 1]]),
    "sort": (lambda x: np.sort(x, axis=1) * np.array([1, 2, 3]), [[1, 3, 2], [2, 1, 3]]),
    "median": (lambda x: np.median(x, axis=1), [[0, 0, 0], [1, 0, 0]]),
}


@pytest.mark.parametrize("name", EXTREMA)
def test_the_derivative_of_an_extremum_that_is_nan(name: str) -> None:
    """The same in every mode and on every engine; and no warning."""
    f, expected = EXTREMA[name]

    def loss(x: Any) -> Any:
        return np.sum(f(x))

    gradient = fg.grad(loss)(WITH_NAN)
    np.testing.assert_array_equal(gradient, expected)
    np.testing.assert_array_equal(fg.jit(fg.grad(loss), engine="numpy")(WITH_NAN), gradient)
    np.testing.assert_array_equal(fg.jit(fg.grad(loss))(WITH_NAN), gradient)
    np.testing.assert_array_equal(fg.jacfwd(loss)(WITH_NAN[:1]), expected[:1])
    np.testing.assert_array_equal(fg.vmap(fg.grad(loss))(np.stack([WITH_NAN, WITH_NAN]))[1], gradient)


OF_A_NUMBER = "sum prod max min any all argmax argmin argsort cumsum cumprod cumulative_sum cumulative_prod ptp "
OF_A_NUMBER += "count_nonzero nansum nanprod nanmax nanmin nancumsum nancumprod nanargmax"


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", [name for name in OF_A_NUMBER.split() if hasattr(np, name)])
def test_an_array_without_axes_has_axis_0_for_a_reduction(name: str, axis: int) -> None:
    f, x = getattr(np, name), np.array(3.0)
    for keepdims in ({}, {"keepdims": True}) if name in {"sum", "max", "argmax"} else ({},):
        expected = f(x, axis=axis, **keepdims)
        got, tangent = fg.jvp(lambda x, kw=keepdims: f(x, axis=axis, **kw), (x,), (x,))
        assert (np.shape(got), got.dtype) == (np.shape(expected), expected.dtype)
        np.testing.assert_array_equal(got, expected)
        assert np.shape(tangent) == np.shape(expected)
    with pytest.raises(np.exceptions.AxisError):
        fg.jvp(lambda x: f(x, axis=1), (x,), (x,))


COMPLEX_WITH_NAN = np.array([1 + 2j, np.nan, 3.5 - 1j])
SPREADS = {
    "var of complex where": lambda x: np.var(x, where=np.array([True, False, True])),
    "nanvar of complex": np.nanvar,
    "nanstd of complex, none left": lambda x: np.nanstd(x, ddof=2),
    "nanvar, less than none left": lambda x: np.nanvar(np.real(x), ddof=3),
    "nanvar of integers": lambda x: np.nanvar(np.isfinite(x).astype(int), ddof=1),
    "logaddexp.reduce of int16": lambda x: np.logaddexp.reduce(np.isfinite(x).astype(np.int16)),
}


@pytest.mark.parametrize("name", SPREADS)
def test_spreads_have_numpys_dtypes(name: str) -> None:
    f = SPREADS[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f(COMPLEX_WITH_NAN)
        got = fg.jit(f, engine="numpy")(COMPLEX_WITH_NAN)
        eager = fg.jvp(f, (COMPLEX_WITH_NAN,), (COMPLEX_WITH_NAN,))[0]
    for y in (got, eager):
        assert np.asarray(y).dtype == expected.dtype
        np.testing.assert_allclose(y, expected)


def test_where_no_number_is_left_the_first_of_several_nan_is() -> None:
    x = np.array([[complex(np.nan, -2), complex(np.nan, 3)], [1j, np.nan]])
    for f in (np.nanmax, np.nanmin):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = f(x, axis=1)
        for y in (fg.vjp(lambda x, f=f: f(x, axis=1), x)[0], fg.make_graph(lambda x, f=f: f(x, axis=1))(x)(x)):
            np.testing.assert_array_equal(np.imag(y), np.imag(expected))


def test_means_of_half_precision_do_not_overflow() -> None:
    x = np.array([60000, 60000, 0, 60000, -0.0], np.float16)
    for f in (np.mean, np.median, lambda x: np.mean(x, where=x > 1), lambda x: np.median(x[:4])):
        for y in (fg.vjp(f, x)[0], fg.jit(f, engine="numpy")(x) if f in (np.mean, np.median) else f(x)):
            assert y.dtype == np.float16
            np.testing.assert_array_equal(y, f(x))
    assert not np.signbit(fg.vjp(np.median, np.array([-0.0]))[0])


@pytest.mark.parametrize("engine", ["xla", "numpy", "numba"])
def test_a_complex_number_in_a_real_dtype_is_its_real_part(engine: str) -> None:
    f = fg.jit(lambda x: (np.sum(x, dtype=np.float64), np.prod(x, dtype=np.float64)), engine=engine)
    assert f(3 + 4j) == (3.0, 3.0)


@pytest.mark.parametrize("engine", ["xla", "numpy", "numba"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_a_mean_in_a_dtype_of_integers_is_cut(dtype: Any, engine: str) -> None:
    for x in (np.arange(4.0), np.arange(4), np.array([True, False]), np.array([[1.5, 90.0], [100.0, 2.5]])):
        for f in (
            lambda x: np.mean(x, dtype=dtype),
            lambda x: x.mean(0, dtype=dtype, keepdims=True),
            lambda x: np.mean(x, dtype=dtype, where=x > 0),
        ):
            needed, found = f(x), np.asarray(fg.jit(f, engine=engine)(x))
            assert (found.dtype, found.tolist()) == (needed.dtype, needed.tolist())


@pytest.mark.parametrize("engine", [None, "numpy"])
@pytest.mark.parametrize("f", [np.prod, np.max, np.min, np.ptp, np.var, np.std, np.cumsum, np.cumprod, np.median])
def test_numbers_in_the_other_byte_order(f: Any, engine: Any) -> None:
    x = np.array([0.5, 2.0, -1.5]).astype(np.dtype(float).newbyteorder())
    run = f if engine is None else fg.jit(f, engine=engine)
    found, slope = fg.jvp(run, (x,), (x,))
    np.testing.assert_array_equal(found, f(x))
    assert np.asarray(found).dtype == np.dtype(float)
    native = x.astype(float)
    np.testing.assert_allclose(slope, fg.jvp(f, (native,), (native,))[1], rtol=1e-14)
