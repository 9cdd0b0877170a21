"""``numpy.fft``: every function under transforms on both engines, beside NumPy and JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import check_grads
from tests.numpy._surface import check_surface, same

ALONG = {
    "default": {},
    "ortho": {"norm": "ortho"},
    "cut": {"n": 3, "norm": "forward"},
    "filled": {"n": 8, "axis": 0},
    "filled-odd": {"n": 9, "axis": -2, "norm": "backward"},
    "one": {"n": 1, "axis": 1},
}
OVER = {
    "default": {},
    "ortho": {"norm": "ortho"},
    "lengths": {"s": (3, 5), "axes": (0, 1), "norm": "forward"},
    "turned": {"axes": (2, 0)},
    "one": {"axes": (1,), "norm": "forward"},
    "kept": {"s": (-1, 7), "axes": (-1, 0)},
}
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
REAL = {"rfft", "ihfft", "rfftn", "rfft2"}


def values(rng: np.random.Generator, shape: tuple[int, ...], *, real: bool) -> np.ndarray:
    x = rng.normal(size=shape)
    return x if real else x + 1j * rng.normal(size=shape)


def over(name: str, options: dict[str, Any], m: Any, x: Any) -> Any:
    """JAX does not know -1 for the length that there is, nor one axis for its functions of planes."""
    if m is np:
        return getattr(np.fft, name)(x, **options)
    given = {"axes": (-2, -1)} | options if "2" in name else options
    if "s" in options:
        pairs = zip(options["s"], options["axes"], strict=True)
        given = given | {"s": [x.shape[axis] if n == -1 else n for n, axis in pairs]}
    return getattr(m.fft, name.replace("2", "n"))(x, **given)


@pytest.mark.parametrize("options", ALONG)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, options: str, rng: np.random.Generator) -> None:
    for real in {True, name in REAL}:
        x = values(rng, (4, 5), real=real)
        check_surface(lambda m, x: getattr(m.fft, name)(x, **ALONG[options]), [x])


@pytest.mark.parametrize("options", OVER)
@pytest.mark.parametrize("name", MANY)
def test_several_axes(name: str, options: str, rng: np.random.Generator) -> None:
    x = values(rng, (4, 3, 2), real=name in REAL)
    check_surface(lambda m, x: over(name, OVER[options], m, x), [x])


def test_an_axis_twice(rng: np.random.Generator) -> None:
    x = values(rng, (4, 3), real=True)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        expected = getattr(np.fft, name)(x, (5, 2, 4), (0, 1, 0))
        y, pull = fg.vjp(lambda x, name=name: getattr(np.fft, name)(x, (5, 2, 4), (0, 1, 0)), x)
        same(y, expected, 1e-12)
        along = getattr(np.fft, name)(x[::-1], (5, 2, 4), (0, 1, 0))
        np.testing.assert_allclose(np.sum(pull(expected)[0] * x[::-1]), np.sum(expected * along).real)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "complex64", "float64"])
def test_dtypes_are_numpys(dtype: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 6)).astype(dtype)
    for name in (*ONE, *MANY):
        f = getattr(np.fft, name)
        if dtype == "complex64" and name in REAL:
            with pytest.raises(TypeError, match="real values"):
                fg.make_graph(f)(x)
            continue
        with jax.enable_x64(True):
            on_xla = getattr(fnp.fft, name)(jax.numpy.asarray(x))
        for y in (fg.jit(f, engine="numpy")(x), fg.vmap(f)(x[None])[0], on_xla):
            same(y, f(x), 2e-2 if dtype == "float16" else 1e-5)
        same(getattr(fnp.fft, name)(x.tolist()), f(x.tolist()), 0)


def test_shifts_and_frequencies(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 5))
    for axes in (None, 0, (1,), (-1, 0)):
        check_surface(lambda m, x, axes=axes: m.fft.fftshift(x, axes), [x])
        check_surface(lambda m, x, axes=axes: m.fft.ifftshift(x, axes), [x])
    for n in (5, 6):
        for name in ("fftfreq", "rfftfreq"):
            same(getattr(fnp.fft, name)(n, 0.3), getattr(np.fft, name)(n, 0.3), 0)
            check_surface(lambda m, d, n=n, name=name: getattr(m.fft, name)(n, d), [np.float64(0.3)])


def test_orders_and_batches(rng: np.random.Generator) -> None:
    x, k = rng.normal(size=6), rng.normal(size=6)

    def loss(x: Any) -> Any:
        return np.sum(np.fft.irfft(np.fft.rfft(x) ** 2 * np.fft.rfft(k), 6) ** 2)

    steps = np.eye(6) * 1e-4
    slopes = [(fg.grad(loss)(x + s) - fg.grad(loss)(x - s)) / 2e-4 for s in steps]
    np.testing.assert_allclose(fg.hessian(loss)(x), slopes, rtol=1e-6, atol=1e-6 * np.max(np.abs(slopes)))
    rows = rng.normal(size=(3, 6))
    for f in (fg.jit(fg.vmap(fg.grad(loss))), fg.jit(fg.vmap(fg.grad(loss)), engine="numpy")):
        np.testing.assert_allclose(f(rows), [fg.grad(loss)(row) for row in rows], rtol=1e-10)


def test_a_convolution_through_frequencies(rng: np.random.Generator) -> None:
    x, k = rng.normal(size=7), rng.normal(size=4)

    def through(x: Any, k: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(x, 10) * np.fft.rfft(k, 10), 10)

    np.testing.assert_allclose(through(x, k), np.convolve(x, k))
    np.testing.assert_allclose(fg.jacrev(through)(x, k), fg.jacfwd(through)(x, k), atol=1e-12)


def test_into_an_array(rng: np.random.Generator) -> None:
    x, given = rng.normal(size=4), np.empty(3, complex)
    assert fnp.fft.rfft(x, out=given) is given
    np.testing.assert_array_equal(given, np.fft.rfft(x))

    def rows(x: Any) -> Any:
        y = np.zeros_like(x, complex, shape=(2, 3))
        np.fft.rfft(x, out=y[0])
        np.fft.fftn(x[:3], out=y[1])
        return np.sum(np.abs(y) ** 2 * np.arange(1, 4))

    check_grads(rows, (x,), order=1)
    np.testing.assert_allclose(fg.jit(fg.grad(rows))(x), fg.grad(rows)(x), rtol=1e-12)
    with pytest.raises(fg.errors.TracerAssignmentError, match="plain numbers"):
        fg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x, out=given))))(x)


def test_mistakes() -> None:
    x = np.ones((2, 3))
    fft: Any = np.fft.fft

    def refused(error: type[Exception], match: str, f: Any, x: Any = x) -> None:
        with pytest.raises(error, match=match):
            fg.make_graph(f)(x)

    refused(ValueError, "Invalid norm value max", lambda x: fft(x, norm="max"))
    refused(ValueError, r"number of FFT data points \(0\)", lambda x: np.fft.fft(x, 0))
    refused(ValueError, r"number of FFT data points \(0\)", np.fft.irfft, np.ones(1))
    refused(ValueError, "different lengths", lambda x: np.fft.fftn(x, (2,), (0, 1)))
    refused(IndexError, "no axes", lambda x: np.fft.rfftn(x, axes=()))
    refused(np.exceptions.AxisError, "axis 2 is out of bounds", lambda x: np.fft.fft(x, axis=2))
    refused(TypeError, "integer", lambda x: fft(x, 2.5))
    same(fg.make_graph(lambda x: np.fft.fftn(x, axes=()))(x)(x), x, 0)
