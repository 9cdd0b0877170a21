"""Filters and interpolation, against SciPy, JAX and differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.ndimage
import numpy as np
import pytest
import scipy.ndimage

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError, UnsupportedFunctionError
from funcgrad.scipy import ndimage
from tests.numpy._surface import same

MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def check(f: Callable[..., Any], *args: Any, tolerance: float = 1e-12) -> None:
    """SciPy's value and dtype, eagerly, traced and compiled."""
    expected = f(scipy.ndimage, *args)
    ways: list[Callable[..., Any]] = [lambda *xs: f(ndimage, *xs), fg.make_graph(lambda *xs: f(ndimage, *xs))(*args)]
    for run in (*ways, fg.jit(ways[0]), fg.jit(ways[0], engine="numpy")):
        same(run(*args), expected, tolerance)
    if all(x.dtype.kind == "f" for x in args):
        same(fg.jvp(ways[0], args, args)[0], expected, tolerance)


@pytest.mark.parametrize("mode", MODES)
def test_filters(mode: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    options: dict[str, Any] = {"mode": mode, "cval": 0.7}
    for shape, origin in (((3, 3), 0), ((2, 4), (0, -1))):
        w = rng.normal(size=shape)
        check(lambda m, x, w, origin=origin: m.correlate(x, w, origin=origin, **options), x, w)
        check(lambda m, x, w, origin=origin: m.convolve(x, w, origin=origin, **options), x, w)
    for size, axis, origin in ((1, 0, 0), (4, 1, 1), (11, 0, -3)):
        w = rng.normal(size=size)
        check(lambda m, x, w, a=axis, o=origin: m.correlate1d(x, w, axis=a, origin=o, **options), x, w)
        check(lambda m, x, w, a=axis, o=origin: m.convolve1d(x, w, axis=a, origin=o, **options), x, w)
    check(lambda m, x: m.uniform_filter1d(x, 4, axis=0, origin=-1, **options), x)
    for order in (0, 1, 3):
        check(lambda m, x, order=order: m.gaussian_filter1d(x, 1.3, order=order, **options), x)
    check(lambda m, x: m.gaussian_filter(x, (1.3, 0.5), order=(0, 1), **options), x)


def test_kinds_of_input(rng: np.random.Generator) -> None:
    x, integers = rng.normal(size=(5, 6)), rng.integers(0, 99, (5, 6))
    check(lambda m, x: m.gaussian_filter(x, 1.2), x.astype(np.float32), tolerance=1e-6)
    check(lambda m, x: m.gaussian_filter(x, (0, 0.8), mode=("wrap", "mirror"), radius=2), x)
    check(lambda m, x: m.gaussian_filter1d(x, 1.2), integers)
    check(lambda m, x: m.convolve(x, np.ones((3, 3))), integers)
    check(lambda m, x: m.convolve(x, np.ones((3, 3)) * 1j), x + 1j * x)
    rows = fg.vmap(lambda x: ndimage.gaussian_filter1d(x, 1.0))(x)
    same(rows, scipy.ndimage.gaussian_filter1d(x, 1.0), 1e-12)


# Weights whose sums are nearly whole: the order of the terms decides the last digit, and that digit the result.
IMAGES: dict[str, Callable[..., Any]] = {
    "linear": lambda m, x, at: m.map_coordinates(x, at, order=1, cval=-3.6),
    "nearest": lambda m, x, at: m.map_coordinates(x, at, order=0, mode="nearest"),
    "cubic": lambda m, x, at: m.map_coordinates(x, at * 2, order=3, mode="mirror"),
    "correlate": lambda m, x, at: m.correlate(x, np.array([[0.1, 0.2, 0.3], [0.1, -0.4, 0.7]])),
    "convolve": lambda m, x, at: m.convolve(x, np.ones((3, 3)) / 9, mode="constant", cval=7.7),
    "correlate1d": lambda m, x, at: m.correlate1d(x, [0.1, -0.7, 0.3, 0.3]),
    "odd": lambda m, x, at: m.convolve1d(x, [-0.3, 0.1, 0, -0.1, 0.3], 0),
    "wrapping": lambda m, x, at: m.correlate1d(x, [3, -90, 2]),
    "uniform": lambda m, x, at: m.uniform_filter1d(x, 3),
    "gaussian": lambda m, x, at: m.gaussian_filter(x, 1.3),
    "gaussian slope": lambda m, x, at: m.gaussian_filter1d(x, 0.8, order=1),
}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_integer_images(dtype: str, rng: np.random.Generator) -> None:
    """Interpolation rounds and clips; filters cut the fraction off, and wrap."""
    kind = np.dtype(dtype)
    # At halves of coordinates every product is exact.
    at = rng.integers(-2, 12, (2, 30)) / 2
    low = -50 if kind.kind == "i" else 0
    x = rng.integers(low, 60, (5, 6)).astype(kind)
    for each in (x, np.full((4, 5), 7, kind), np.array([[60, 61], [low, 2]]).astype(kind)):
        for name, f in IMAGES.items():
            if dtype == "?" and name == "cubic":
                # The last digit of the spline decides whether an element is 0.
                continue
            np.testing.assert_array_equal(f(ndimage, each, at), f(scipy.ndimage, each, at), strict=True)
    if dtype == "?":
        return
    all_of = lambda m, x: [f(m, x, at) for f in IMAGES.values()]
    expected = all_of(scipy.ndimage, x)
    for engine in ("numpy", "xla"):
        for name, y, right in zip(
            IMAGES, fg.jit(lambda x: all_of(ndimage, x), engine=engine)(x), expected, strict=True
        ):
            if engine == "numpy":
                np.testing.assert_array_equal(y, right, strict=True)
                continue
            # XLA contracts products and sums, so a nearly whole number is cut to either side.
            assert y.dtype == kind, name
            assert np.all(abs(np.asarray(y).astype(float) - right) <= 1), name
            assert np.mean(np.asarray(y) == right) > 0.5, name
    total = fg.grad(lambda c: np.sum(c * ndimage.gaussian_filter(x, 1.3)))(1.0)
    np.testing.assert_array_equal(total, scipy.ndimage.gaussian_filter(x, 1.3).sum())


def test_interpolation_of_integers_stays_within_their_range() -> None:
    x, at = np.array([[255, 0, 255, 0, 0, 200]], np.uint8), np.stack([np.zeros(11), np.linspace(0, 5, 11)])
    for each in (x, (x - 128).view(np.int8)):
        expected = scipy.ndimage.map_coordinates(each, at, order=3, mode="mirror")
        found = fg.jit(lambda x: ndimage.map_coordinates(x, at, order=3, mode="mirror"))(each)
        np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    half = np.array([[60, 61], [-60, -61]])
    np.testing.assert_array_equal(ndimage.map_coordinates(half, [[0, 0, 1], [0.75, 0.5, 0.75]], order=1), [61, 61, -61])


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "grid-wrap"])
@pytest.mark.parametrize("order", [0, 1])
def test_coordinates(mode: str, order: int, rng: np.random.Generator) -> None:
    x, places = rng.normal(size=(5, 6)), rng.uniform(-9, 14, size=(2, 400))
    at_elements = np.array([[0.0, 4, 2], [0, 5, 3]])
    for each in (places, at_elements, places.reshape(2, 20, 20)):
        check(lambda m, x, c: m.map_coordinates(x, c, order=order, mode=mode, cval=0.4), x, each)
    check(lambda m, x, c: m.map_coordinates(x, c, order=order, mode=mode), x[:1], at_elements * [[0], [1]])


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "grid-wrap"])
def test_splines(mode: str, rng: np.random.Generator) -> None:
    # For short reflected arrays SciPy's own spline misses the elements.
    for order, shape in itertools.product((2, 3, 4, 5), ((26, 25), (1, 30)) + (() if mode == "reflect" else ((2, 3),))):
        x = rng.normal(size=shape)
        last = np.array(shape)[:, None] - 1.0
        places = np.concatenate([rng.uniform(-9, 40, size=(2, 60)), 0 * last, last, last / 2], 1)
        for v, tolerance in ((x, 1e-9), (x.astype(np.float32), 1e-5), (x * 1j, 1e-9)):
            for prefilter in (True, False):
                options: dict[str, Any] = {"order": order, "mode": mode, "cval": 0.4, "prefilter": prefilter}
                expected = scipy.ndimage.map_coordinates(v, places, **options)
                same(ndimage.map_coordinates(v, places, **options), expected, tolerance)
    small = rng.normal(size=(4, 3))
    f = lambda x, places: ndimage.map_coordinates(x, places, mode=mode)
    inside = rng.uniform(0.1, 1.9, size=(2, 5))
    fg.check_grads(f, (small, inside))
    same(f(small, np.indices((4, 3)).reshape(2, -1).astype(float)), small.ravel(), 1e-12)
    if mode == "mirror":
        same(fg.jit(f)(small, inside), f(small, inside), 1e-12)
        same(fg.jit(lambda at: f(small, at), engine="numpy")(inside), f(small, inside), 1e-12)


def test_derivatives(rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    fg.check_grads(lambda x, w: ndimage.convolve(x, w, mode="mirror"), (x, rng.normal(size=(3, 2))))
    fg.check_grads(lambda x, s: ndimage.gaussian_filter(x, s, order=1), (x, np.array([1.3, 0.7])))
    # Away from the elements, where it has kinks.
    places = np.array([[-2.7, 0.3, 3.6, 5.2], [1.4, 2.7, -0.3, 9.8]])
    fg.check_grads(lambda x, c: ndimage.map_coordinates(x, c, order=1, mode="mirror"), (x, places))
    for inside in (np.clip(places, 0.1, 3.9), np.array([[1.0, 2.0], [3.0, 1.5]])):
        loss = lambda x, c: np.sum(np.sin(ndimage.map_coordinates(x, c, order=1)))
        with jax.enable_x64(True):
            by_jax = jax.grad(lambda x, c: jax.numpy.sin(jax.scipy.ndimage.map_coordinates(x, c, 1)).sum(), (0, 1))
            expected = by_jax(x, inside)
        for got, bar in zip(fg.grad(loss, (0, 1))(x, inside), expected, strict=True):
            np.testing.assert_allclose(got, bar, rtol=1e-10, atol=1e-12)


def test_refused(rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: ndimage.map_coordinates(x, x[:2], order=6), RuntimeError, "spline order not supported: 6"),
        (lambda: ndimage.map_coordinates(x, x[:2], order=1, mode="wrap"), UnsupportedFunctionError, "mode 'wrap'"),
        (lambda: ndimage.map_coordinates(x, x[:3], order=1), RuntimeError, "invalid shape for coordinate array"),
        (lambda: ndimage.convolve(x, np.ones(3)), RuntimeError, "incorrect shape"),
        (lambda: ndimage.correlate(x, np.ones((3, 3)), mode="odd"), RuntimeError, "mode is 'odd'"),
        (lambda: ndimage.correlate1d(x, np.ones(3), origin=2), ValueError, "invalid origin"),
        (lambda: ndimage.gaussian_filter(x, [1.0]), RuntimeError, "must have length"),
        (lambda: ndimage.gaussian_filter1d(x, 1.0, order=-1), ValueError, "nonnegative"),
        (lambda: ndimage.convolve(x, x, output=np.zeros((5, 6))), UnsupportedFunctionError, "of plain numbers"),
        (lambda: ndimage.convolve(x, x, output=np.int32), UnsupportedFunctionError, "output has the dtype int32"),
        (
            lambda: ndimage.convolve(x + 0j, x, output=np.float32),
            UnsupportedFunctionError,
            "output has the dtype float32",
        ),
        (lambda: fg.grad(lambda y: ndimage.convolve(y, y, output=y[0]))(x), ValueError, r"output has the shape \(6,\)"),
        (lambda: fg.jit(lambda s: ndimage.gaussian_filter(x, s))(1.0), ConcretizationTypeError, "gaussian_filter"),
    ]
    for f, error, words in mistakes:
        with pytest.raises(error, match=words):
            f()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    empty, weights = np.empty(shape), np.ones((3,) * len(shape))
    calls: dict[str, tuple[Any, ...]] = {
        "gaussian_filter": (1.0,),
        "gaussian_filter1d": (1.0,),
        "uniform_filter1d": (3,),
        "convolve1d": (weights[..., 0].ravel()[:3],) if len(shape) > 1 else (weights,),
        "correlate": (weights,),
        "convolve": (weights,),
        "map_coordinates": (np.zeros((len(shape), 2)),),
    }
    for name, args in calls.items():
        expected = getattr(scipy.ndimage, name)(empty, *args)
        ours = getattr(ndimage, name)
        for y in (ours(empty, *args), fg.jit(lambda x, ours=ours, args=args: ours(x, *args), engine="numpy")(empty)):
            np.testing.assert_array_equal(y, expected, strict=True)
        assert fg.grad(lambda x, ours=ours, args=args: np.sum(ours(x, *args)))(empty).shape == shape
    with pytest.raises(ValueError, match="which the mode 'nearest' cannot go on from"):
        ndimage.map_coordinates(empty, np.zeros((len(shape), 2)), mode="nearest")


OWN: dict[str, Callable[[Any], Any]] = {
    "uniform_filter": lambda x: scipy.ndimage.uniform_filter(x, 3),
    "sobel": lambda x: scipy.ndimage.sobel(x, 0),
    "prewitt": lambda x: scipy.ndimage.prewitt(x, 1),
    "laplace": lambda x: scipy.ndimage.laplace(x, mode="mirror"),
    "gaussian_laplace": lambda x: scipy.ndimage.gaussian_laplace(x, 1.0),
    "gaussian_gradient_magnitude": lambda x: scipy.ndimage.gaussian_gradient_magnitude(x, 1.0),
}


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla"])
@pytest.mark.parametrize("name", OWN)
def test_filters_that_scipy_builds_of_others(name: str, engine: str, rng: np.random.Generator) -> None:
    """SciPy's own code passes the array for the result on, and reads it again as the next input."""
    x, v = rng.normal(size=(5, 6)), rng.normal(size=(5, 6))

    def f(x: Any) -> Any:
        y = OWN[name](x)
        return np.sum(y * y)

    with fg.intercept():
        compute = fg.value_and_grad(f)
        value, slope = (compute if engine == "eager" else fg.jit(compute, engine=engine))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    difference = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(np.sum(slope * v), difference, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_dtype_of_the_result(dtype: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    found = ndimage.gaussian_filter(x, 1.0, output=np.dtype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, scipy.ndimage.gaussian_filter(x, 1.0, output=np.dtype(dtype)), rtol=1e-6)
