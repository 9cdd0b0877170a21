"""``numpy.polyval`` and the functions beside it, with NumPy's options."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError
from tests.numpy._surface import check_surface, same


def test_evaluation(rng: np.random.Generator) -> None:
    c, x = rng.normal(size=4), rng.normal(size=(2, 3))
    check_surface(lambda m, c, x: m.polyval(c, x), [c, x])
    check_surface(lambda m, x: m.polyval(m.asarray([2, 0, 1]), x), [x])
    check_surface(lambda m, c: m.polyval(c, 2.0), [c])
    check_surface(lambda m, c, x: m.polyval(c + 1j, x), [c, x])
    for x in (np.float64(2), np.int64(2), 3, np.array([2, 1])):
        f = fg.make_graph(lambda c, x=x: np.polyval(c, x))
        same(f(c)(c), np.asarray(np.polyval(c, x)), 1e-14)


def test_arithmetic(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=4), rng.normal(size=2)
    for first, second in ((a, b), (b, a), (a, a[::-1])):
        check_surface(lambda m, a, b: m.polyadd(a, b), [first, second])
        check_surface(lambda m, a, b: m.polysub(a, b), [first, second])
    check_surface(lambda m, a: m.polyder(a, 2), [a])
    check_surface(lambda m, a: m.polyder(a, 5) if m is np else m.zeros(0) * a[0], [a])
    check_surface(lambda m, a: m.polyder(a, 0), [a])
    check_surface(lambda m, a: m.polyint(a, 2), [a])
    check_surface(lambda m, a, k: m.polyint(a, 2, k=k), [a, b])
    check_surface(lambda m, a: m.polyint(a, 3, k=m.asarray([1.5])), [a])
    for dtype in (np.float32, int, complex):
        x = np.arange(1, 4).astype(dtype)
        of: Any = np
        for f in (of.polyint, of.polyder, of.vander, lambda x: np.polyadd(x, [1, 2]), lambda x: np.polyval(x, x)):
            same(fg.make_graph(f)(x)(x), f(x), 0)


def check_differences(f: Any, *args: np.ndarray) -> None:
    np.testing.assert_allclose(fg.vjp(f, *args)[0], f(*args), rtol=1e-9, atol=1e-12)
    fg.check_grads(f, args, order=1)


def test_products_and_quotients_lose_their_zeros(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=4), rng.normal(size=3)
    for scaled in (
        lambda x: x,
        lambda x: np.concatenate([np.zeros(2), x]),
        lambda x: x * np.array([0, 0, 1])[: len(x)],
    ):
        check_differences(lambda a, b, scaled=scaled: np.polymul(a, scaled(b)), a, b)
    check_differences(lambda a, b: np.polydiv(a, b)[0], a, b)
    check_differences(lambda a, b: np.polydiv(a, b)[1], a, b)
    check_differences(lambda a, b: np.polydiv(b, a)[1], a, b)
    exact = np.polydiv(np.polymul([1, 2, 3.0], [2, 1]), [2, 1])
    got = fg.vjp(lambda x: np.polydiv(np.polymul(x, [2, 1]), [2, 1]), np.array([1, 2, 3.0]))[0]
    for ours, theirs in zip(got, exact, strict=True):
        same(ours, theirs, 1e-14)
    with pytest.raises(ConcretizationTypeError, match="depends on"):
        fg.jit(np.trim_zeros)(a)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_staged_products_and_remainders_keep_their_zeros(engine: Any, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=5), np.concatenate([[1.0], rng.normal(size=2)])
    padded = np.concatenate([np.zeros(2), b])
    product, quotient = fg.jit(np.polymul, engine=engine), fg.jit(np.polydiv, engine=engine)
    np.testing.assert_allclose(product(a, padded), np.convolve(a, padded), rtol=1e-14)
    np.testing.assert_allclose(product(a, padded)[2:], np.polymul(a, padded), rtol=1e-14)
    for u, v in ((a, b), (b, a), (a, b[:1]), (np.convolve(a, b), b)):
        for ours, theirs in zip(quotient(u, v), np.polydiv(u, v), strict=True):
            missing = len(ours) - len(theirs)
            np.testing.assert_allclose(ours, np.concatenate([np.zeros(missing), theirs]), rtol=1e-12, atol=1e-13)
    batch = fg.vmap(np.polymul)(np.stack([a, 2 * a]), np.stack([padded, b.repeat([1, 1, 3])]))
    np.testing.assert_allclose(batch[0], np.convolve(a, padded), rtol=1e-14)


def test_trimmed() -> None:
    x, trim_zeros = np.array([0, 0, 1.5, 0, 2, 0]), np.__dict__["trim_zeros"]
    for trim, kept in {"f": slice(2, 6), "b": slice(0, 5), "fb": slice(2, 5), "B": slice(0, 5)}.items():
        y, pull = fg.vjp(lambda x, trim=trim: trim_zeros(x, trim), x)
        same(y, trim_zeros(x, trim), 0)
        expected = np.zeros(6)
        expected[kept] = 1
        same(pull(np.ones_like(y))[0], expected, 0)
    same(fg.vjp(np.trim_zeros, np.zeros(3))[0], np.zeros(0), 0)


def test_polynomials_as_objects(rng: np.random.Generator) -> None:
    c, x = rng.normal(size=3), rng.normal(size=2)
    check_differences(lambda c, x: np.poly1d(c)(x), c, x)
    check_differences(lambda c, x: np.poly1d([1.0, 2.0])(c), c, x)
    check_differences(lambda c, x: (np.poly1d(c) * np.poly1d(x) - 2 * np.poly1d(x)).coeffs, c, x)
    check_differences(lambda c, x: np.poly1d(c).deriv()(x) + np.poly1d(c).integ(k=0.5)(x), c, x)
    check_differences(lambda c, x: np.polyval(c, np.poly1d(x)).coeffs, c, x)
    check_differences(lambda c, x: np.polymul(np.poly1d([2.0, 1.0]), c).coeffs, c, x)


def test_powers(rng: np.random.Generator) -> None:
    x = rng.normal(size=3)
    for options in ({}, {"N": 5}, {"N": 2, "increasing": True}, {"N": 1}):
        check_surface(lambda m, x, options=options: m.vander(x, **options), [x])
    for count in (0, 1):
        same(fg.make_graph(lambda x, n=count: np.vander(x, n))(x)(x), np.vander(x, count), 0)
    with pytest.raises(ValueError, match="one-dimensional"):
        fg.make_graph(np.vander)(np.ones((2, 2)))


def test_fits(rng: np.random.Generator) -> None:
    x, y, w = rng.normal(size=7), rng.normal(size=7), rng.uniform(0.5, 2, 7)
    columns = rng.normal(size=(7, 2))
    check_surface(lambda m, x, y: m.polyfit(x, y, 2), [x, y], tolerance=1e-8)
    check_surface(lambda m, x, y, w: m.polyfit(x, y, 2, w=w), [x, columns, w], tolerance=1e-8)
    check_differences(lambda x, y, w: np.polyfit(x, y, 1, w=w, cov=True)[1], x, y, w)
    check_differences(lambda x, y, w: np.polyfit(x, y, 1, cov="unscaled")[1], x, columns, w)
    check_differences(lambda x, y: np.polyfit(x, y, 2, full=True)[1], x, y)
    got, expected = fg.vjp(lambda y: np.polyfit(x, y, 2, full=True)[:4], y)[0], np.polyfit(x, y, 2, full=True)[:4]
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    with pytest.warns(np.exceptions.RankWarning, match="poorly conditioned"):
        fg.grad(lambda y: np.sum(np.polyfit([1.0, 1, 1], y, 2)))(np.ones(3))
    bad: Any = np.polyfit
    for error, match, f in (
        (ValueError, "deg >= 0", lambda y: bad(x, y, -1)),
        (TypeError, "the same length for y", lambda y: bad(x[1:], y, 1)),
        (TypeError, "1-d array for weights", lambda y: bad(x, y, 1, w=w[1:])),
        (ValueError, "exceed order", lambda y: bad(x[:2], y[:2], 1, cov=True)),
    ):
        with pytest.raises(error, match=match):
            fg.grad(lambda y, f=f: np.sum(f(y)[0]))(y)
    same(fnp.polyfit(x.tolist(), y, 1), np.polyfit(x, y, 1), 0)


def test_arrays_of_jax_are_promoted_as_numpys() -> None:
    """JAX's own operators make float32 of an integer and a float32."""
    c, x = np.array([1, 2, 3], np.int32), np.array([0.5, 2], np.float32)
    calls: dict[str, Any] = {
        "polyval": lambda m, c, x: m.polyval(c, x),
        "polyval of integers": lambda m, c, x: m.polyval(x, c),
        "polyadd": lambda m, c, x: m.polyadd(c, x),
        "polyder": lambda m, c, x: m.polyder(x),
        "polyint": lambda m, c, x: m.polyint(x, 2),
        "polydiv": lambda m, c, x: m.polydiv(c, x)[1],
        "polymul": lambda m, c, x: m.polymul(c, x),
        "vander": lambda m, c, x: m.vander(x),
        "fftfreq": lambda m, c, x: m.fft.fftfreq(5, x[0]),
    }
    for f in calls.values():
        same(f(fnp, jax.numpy.asarray(c), jax.numpy.asarray(x)), f(np, c, x), 1e-6)
    fit = jax.jit(lambda x: fnp.polyfit(x, x**2, 1))(np.arange(4.0, dtype=np.float32))
    np.testing.assert_allclose(fit, np.polyfit(np.arange(4.0), np.arange(4.0) ** 2, 1), rtol=1e-5)
