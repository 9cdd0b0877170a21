"""Convolutions and filters, against SciPy, JAX and differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.signal
import numpy as np
import pytest
import scipy.signal

import funcgrad as fg
from funcgrad import numpy as fnp
from funcgrad.scipy import signal
from tests.numpy._surface import same
from tests.scipy._cases import Call, agree

SHAPES = [
    ((7,), (3,)),
    ((3,), (6,)),
    ((4,), (4,)),
    ((5, 6), (3, 2)),
    ((3, 2), (5, 6)),
    ((3, 4, 5), (2, 2, 3)),
    ((), ()),
]
DTYPES = [
    *[("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("i4", "i4"), ("i8", "f4"), ("c16", "f8"), ("f4", "c8"), ("u1", "i1")],
]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = 3 * rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtypes", DTYPES, ids="-".join)
def test_convolutions_are_scipys(dtypes: tuple[str, str], rng: np.random.Generator) -> None:
    tolerance = 1e-5 if {"f4", "c8"} & set(dtypes) else 1e-12

    def check(name: str, *args: Any) -> None:
        same(getattr(signal, name)(*args), np.asarray(getattr(scipy.signal, name)(*args)), tolerance)

    for shapes, mode in itertools.product(SHAPES, ("full", "same", "valid")):
        a, v = (drawn(rng, shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
        for name, method in itertools.product(("convolve", "correlate"), ("auto", "direct", "fft")):
            check(name, a, v, mode, method)
        check("fftconvolve", a, v, mode)
        check("oaconvolve", a, v, mode)
        if a.ndim == 2:
            check("fftconvolve", a, v[:1], mode, 1)
            for name, edge in itertools.product(("convolve2d", "correlate2d"), (("wrap",), ("symm",), ("fill", 2))):
                check(name, a, v, mode, *edge)


def test_filters_are_scipys(rng: np.random.Generator) -> None:
    orders = [(1, 1), (3, 1), (1, 3), (2, 4), (4, 2)]
    for (nb, na), dtypes in itertools.product(orders, [("f8", "f8"), ("f4", "f4"), ("c16", "f4"), ("f8", "i8")]):
        tolerance = 1e-5 if "f4" in dtypes else 1e-12
        b, a = drawn(rng, (nb,), dtypes[0]), drawn(rng, (na,), dtypes[0]) / 9
        a[0] = 1.7
        for shape, axis in (((20,), -1), ((2, 20, 3), 1), ((1,), 0)):
            x = drawn(rng, shape, dtypes[1])
            zi = drawn(rng, tuple([max(na, nb) - 1 if n == x.shape[axis] else n for n in shape]), "f8")
            same(signal.lfilter(b, a, x, axis), np.asarray(scipy.signal.lfilter(b, a, x, axis)), tolerance)
            states = [zi] if zi.ndim == 1 else [zi, zi[:1, :, :1]]
            for state in states:
                found: Any = scipy.signal.lfilter(b, a, x, axis, state)
                for y, value in zip(signal.lfilter(b, a, x, axis, state), found, strict=True):
                    same(y, value, tolerance)
            if nb + na > 2 and shape[axis] == 20:
                ways: list[Any] = [("odd",), ("even", 5), ("constant", 3), (None,)]
                for ends in ways:
                    expected = scipy.signal.filtfilt(b, a, x, axis, *ends)
                    same(signal.filtfilt(b, a, x, axis, *ends), expected, 10 * tolerance)
        y, x = drawn(rng, (3,), "f8"), drawn(rng, (1,), "f8")
        same(signal.lfiltic(b, a, y, x), scipy.signal.lfiltic(b, a, y, x), tolerance)


def test_programs(rng: np.random.Generator) -> None:
    b, a, x, zi = rng.normal(size=3), np.array([1.3, 0.3, -0.2, 0.1]), rng.normal(size=(2, 12)), rng.normal(size=(2, 3))
    image, weights = rng.normal(size=(5, 4)), rng.normal(size=(2, 3))
    sections = np.array([[0.3, 0.2, 0.1, 1.0, -0.4, 0.2], [1.0, 0.5, 0.2, 1.0, 0.3, 0.1]])
    states = rng.normal(size=(2, 2, 2))
    calls: dict[str, Call] = {
        "convolve": (lambda m, x, b: m.convolve(x, b, "same"), (x[0], b)),
        "convolve of images": (lambda m, x, w: m.convolve(x, w, "valid", "direct"), (image, weights)),
        "correlate": (lambda m, x, b: m.correlate(x, b), (x[0] + 1j * x[1], b)),
        "fftconvolve": (lambda m, x, w: m.fftconvolve(x, w, "same", 1), (image, weights[:1])),
        "convolve2d": (lambda m, x, w: m.convolve2d(x, w, "same", "symm"), (image, weights)),
        "correlate2d": (lambda m, x, w: m.correlate2d(x, w, "full", "wrap"), (image, weights)),
        "lfilter": (lambda m, b, a, x: m.lfilter(b, a, x), (b, a, x)),
        "lfilter along the first axis": (lambda m, b, a, x: m.lfilter(b, a, x, 0), (b + 1j, a, x.T)),
        "lfilter with a state": (lambda m, b, a, x, zi: m.lfilter(b, a, x, -1, zi), (b, a, x, zi)),
        "lfilter without feedback": (lambda m, b, x, zi: m.lfilter(b, 2.0, x, -1, zi), (b, x, zi[:, :2])),
        "lfilter_zi": (lambda m, b, a: m.lfilter_zi(b, a), (b, a)),
        "lfiltic": (lambda m, b, a, y, x: m.lfiltic(b, a, y, x), (b, a, x[0, :2], x[1, :4])),
        "deconvolve": (lambda m, x, a: m.deconvolve(x, a), (x[0], a)),
        "filtfilt": (lambda m, b, a, x: m.filtfilt(b, a, x, padlen=5), (b, a, x)),
        "sosfilt": (lambda m, x, zi: m.sosfilt(sections, x, -1, zi), (x, states)),
        "sosfiltfilt": (lambda m, x: m.sosfiltfilt(sections, x, padlen=7), (x,)),
        "sosfilt_zi": (lambda m, b: m.sosfilt_zi(fnp.stack([fnp.concatenate([b, [1.0, 0.2, 0.1]])] * 2)), (b,)),
    }
    agree(signal, scipy.signal, calls, on_xla=("correlate", "fftconvolve", "lfilter with a state", "sosfiltfilt"))


def test_against_jax(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=(6, 5)), rng.normal(size=(3, 2))
    for name, mode in (("convolve", "same"), ("correlate", "full")):
        losses = [_cubed(getattr(module, name), mode) for module in (signal, jax.scipy.signal)]
        with jax.enable_x64(True):
            expected = jax.grad(losses[1], (0, 1))(x, w)
        for got, bar in zip(fg.grad(losses[0], (0, 1))(x, w), expected, strict=True):
            np.testing.assert_allclose(got, bar, rtol=1e-10, atol=1e-11)


def _cubed(f: Callable[..., Any], mode: str) -> Callable[..., Any]:
    return lambda x, w: (f(x, w, mode) ** 3).sum()


def test_coefficients_of_a_batch(rng: np.random.Generator) -> None:
    """Each signal has its own filter, and each filter several signals."""
    b, a, x = rng.normal(size=(3, 2)), np.array([1.0, 0.3, -0.2]), rng.normal(size=(3, 4, 9))
    rows = fg.vmap(lambda b, x: signal.lfilter(b, a, x))(b, x)
    nested = fg.vmap(fg.vmap(lambda x, b: signal.lfilter(b, a, x), in_axes=(0, None)))(x, b)
    expected = np.stack([scipy.signal.lfilter(c, a, each) for c, each in zip(b, x, strict=True)])
    same(rows, expected, 1e-14)
    same(nested, expected, 1e-14)
    compiled = fg.jit(fg.vmap(lambda b: signal.lfilter(b, a, x[0])))(b)[2]
    same(compiled, np.asarray(scipy.signal.lfilter(b[2], a, x[0])), 1e-14)


def test_long_signals_on_xla(rng: np.random.Generator) -> None:
    """They go in blocks, unless a filter is such that digits would cancel, or there is no number among the samples."""
    x, zi = rng.normal(size=(2, 530)), rng.normal(size=(2, 8))
    hole = np.where(np.arange(530) == 270, np.nan, x)
    compiled = fg.jit(lambda b, a, x, zi: signal.lfilter(b, a, x, -1, zi))
    butter: Any = scipy.signal.butter
    wide, narrow = (butter(order, 0.07) for order in (3, 8))
    gentle = [np.concatenate([c, np.zeros(5)]) for c in wide]
    for (b, a), samples in ((gentle, x), (gentle, hole), (narrow, x)):
        expected: Any = scipy.signal.lfilter(b, a, samples, -1, zi)
        for y, value in zip(compiled(b, a, samples, zi), expected, strict=True):
            same(y, value, 1e-10)


def test_refused(rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: signal.convolve(x, x[0]), ValueError, "same dimensionality.*Give both"),
        (lambda: signal.convolve(x, x, "odd"), ValueError, "mode is 'odd'"),
        (lambda: signal.convolve(x, x, "full", "odd"), ValueError, "method is 'odd'"),
        (lambda: signal.convolve(x[:0], x), ValueError, "neither can be empty"),
        (lambda: signal.correlate(x, x.T, "valid"), ValueError, "at least as large"),
        (lambda: signal.fftconvolve(x, x[:2], axes=1), ValueError, "incompatible shapes"),
        (lambda: signal.fftconvolve(x, x, axes=()), ValueError, "axes is empty"),
        (lambda: signal.convolve2d(x[0], x[0]), ValueError, "2-D arrays.*Use convolve"),
        (lambda: signal.convolve2d(x, x, boundary="odd"), ValueError, "boundary is 'odd'"),
        (lambda: signal.lfilter(x, [1.0], x), ValueError, "parameter b is not.*fg.vmap"),
        (lambda: signal.lfilter([1.0], [0.0, 1.0], x), ValueError, r"a\[0\] == 0"),
        (lambda: signal.lfilter([1], [1, 2], [3]), NotImplementedError, "int64 together.*astype"),
        (lambda: signal.lfilter([1.0], [1.0, 2.0], x, zi=x), ValueError, r"expected \(5, 1\), found \(5, 6\)"),
        (lambda: signal.lfilter([1.0], [1.0, 2.0], 3.0), ValueError, "at least 1-D"),
        (lambda: signal.filtfilt([1.0], [1.0, 2.0], x), ValueError, "padlen, which is 6"),
        (lambda: signal.filtfilt([1.0], [1.0, 2.0], x, padtype="odder"), ValueError, "'odder' given to padtype"),
        (lambda: signal.filtfilt([1.0], [1.0, 2.0], x, method="gust"), ValueError, "method is 'gust'"),
        (lambda: signal.sosfilt(x, x), ValueError, "all ones.*Divide"),
        (lambda: signal.sosfilt(x[:, :5], x), ValueError, r"\(n_sections, 6\)"),
        (lambda: signal.sosfilt([[1.0, 0, 0, 1, 0, 0]], x, zi=x), ValueError, "invalid zi shape"),
    ]
    for f, error, words in mistakes:
        with pytest.raises(error, match=words):
            f()
