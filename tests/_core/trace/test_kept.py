"""Writes to plain arrays after traced operations have used them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.trace import kept
from funcgrad._core.trace.kept import copied

X = np.array([0.3, 0.7, -0.4])


def scaled(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    total = 0.0
    for _ in range(3):
        total = total + np.sum(np.sin(x * c))
        c *= 2
    return total


def indexed(x: Any) -> Any:
    at, total = np.arange(2), 0.0
    for _ in range(2):
        total = total + np.sum(x[at] ** 2)
        at += 1
    return total


def written(x: Any) -> Any:
    at, y = np.array([0, 2]), np.zeros_like(x)
    y[at] = x[at] * 3
    at[:] = 1
    y[at] += x[at] ** 2
    at[:] = 0
    return np.sum(y**2)


def masked(x: Any) -> Any:
    mask = np.array([True, False, True])
    y = np.where(mask, x, x**2)
    mask[:] = False
    return np.sum(y * x)


def solved(x: Any) -> Any:
    a = np.diag([1.0, 2.0, 3.0])
    y = np.linalg.solve(a, x) @ a
    a *= 5
    return np.sum(y**2)


def filled(x: Any) -> Any:
    c, y = np.array([1.0, 2.0, 3.0]), np.zeros_like(x)
    y[...] = c
    c *= 7
    return np.sum(y * x**2)


def scanned(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    y, _ = fg.scan(lambda carry, t: (carry * c * t, None), x, np.array([1.0, 2.0]))
    c *= 7
    return np.sum(y**2)


def checkpointed(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    y = fg.checkpoint(lambda a, b: np.sin(a * b * c))(x, c)
    c *= 7
    return np.sum(y**2)


PROGRAMS = [scaled, indexed, written, masked, solved, filled, scanned, checkpointed]


def slopes(f: Callable[..., Any]) -> np.ndarray:
    """Return central differences."""
    h = 1e-6
    return np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))])


@pytest.mark.parametrize("f", PROGRAMS)
def test_arrays_are_kept_as_they_were(f: Callable[..., Any]) -> None:
    expected, value = slopes(f), f(X)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(f, engine=engine)(X), value, rtol=1e-12)
        np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(X), expected, rtol=1e-7)
    for gradient in (fg.grad(f), fg.jacfwd(f), lambda x: fg.grad(fg.jit(f))(x), lambda x: fg.vjp(f, x)[1](1.0)[0]):
        np.testing.assert_allclose(gradient(X), expected, rtol=1e-7)
    hessian = np.array([slopes(lambda x, i=i: fg.grad(f)(x)[i]) for i in range(3)])
    for second in (fg.hessian(f), fg.jacrev(fg.grad(f))):
        np.testing.assert_allclose(second(X), hessian, rtol=1e-6, atol=1e-6)


WRITES: dict[str, Callable[[Any], Any]] = {
    "element": lambda a: a.__setitem__((-1, 3), 7),
    "swap": lambda a: a.__setitem__([0, 1], a[[1, 0]]),
    "signs": lambda a: a[1:3].__imul__(-1),
    "all signs": lambda a: a.__imul__(-1),
    "sign of zero": lambda a: a.__setitem__(0, -0.0),
    "shift": lambda a: a.__setitem__(slice(1, None), a[:-1].copy()),
    "column": lambda a: a.__setitem__((slice(None), -1), 0),
    "sort": lambda a: a.sort(axis=0),
    "double": lambda a: a.__imul__(2),
    "nan": lambda a: a.__setitem__((2, 2), np.nan),
}
# In rows of 8: one array in each of the three ranges of sizes, and those at the borders of pages.
ROWS = [8, 64, 65, 128, 1000, 40_000]
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "axes": lambda a: np.ascontiguousarray(np.broadcast_to(a[:, None], (len(a), 2, 8)).transpose(1, 0, 2)).transpose(
        1, 2, 0
    ),
    "float32": lambda a: a.astype(np.float32),
    "complex": lambda a: a.astype(complex),
    "integers": lambda a: (100 * a).astype(np.int16),
}


def sample(rows: int) -> np.ndarray:
    a = np.random.default_rng(0).normal(size=(rows, 8))
    a[0] = 0
    return a


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", ROWS)
def test_a_copy_is_shared_until_a_write(rows: int, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_HUGE", 1 << 18)
    for name, write in WRITES.items():
        if (layout == "axes" and name == "element") or (layout == "integers" and name in ("nan", "sign of zero")):
            continue
        a = LAYOUTS[layout](sample(rows))
        before, first = a.tobytes(), copied(a)
        assert first.tobytes() == before
        assert first.strides == np.empty_like(a).strides or rows * 8 * a.itemsize <= 4096
        assert a.nbytes <= 4096 or (copied(a) is first and copied(first) is first)
        write(a)
        assert a.tobytes() != before
        second = copied(a)
        assert (first.tobytes(), second.tobytes()) == (before, a.tobytes()), name
        a[...] = first
        assert copied(a).tobytes() == before


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", WRITES)
def test_the_derivative_reads_the_numbers_of_the_operation(name: str, rows: int) -> None:
    """The array comes back to its first numbers in the end, so that a look before the pass would see no write."""
    x, c = sample(rows), sample(rows) + 1
    c[0] = 0

    def f(x: Any, c: np.ndarray) -> Any:
        original, total = c.copy(), np.sum(np.arctan2(x, c))
        WRITES[name](c)
        total = total + np.sum(np.arctan2(x, c))
        c[...] = original
        return total

    changed = c.copy()
    WRITES[name](changed)
    with np.errstate(all="ignore"):
        expected = c / (x**2 + c**2) + changed / (x**2 + changed**2)
        y, pullback = fg.vjp(lambda x: f(x, c), x)
        found = [fg.grad(lambda x: f(x, c))(x), pullback(1.0)[0], fg.jacrev(lambda x: f(x, c))(x)]
        for gradient in found:
            np.testing.assert_allclose(gradient, expected, rtol=1e-9)
    del y


def test_a_mask_that_is_filled_in_each_round() -> None:
    mask, x = np.zeros(1000), np.linspace(1, 2, 1000)

    def f(x: Any) -> Any:
        total = 0.0
        for i in (3, 999, 500, 3):
            mask[i] = 1
            total = total + np.sum(x * x * mask)
            mask[i] = 0
        return total

    expected = np.zeros(1000)
    np.add.at(expected, [3, 999, 500, 3], 2 * x[[3, 999, 500, 3]])
    np.testing.assert_allclose(fg.grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(fg.hessian(f)(x), np.diag(expected / x), rtol=1e-14)


@pytest.mark.parametrize("size", [3, 1000, 200_000])
def test_a_pullback_reads_no_array_of_the_caller(size: int) -> None:
    x, c = np.linspace(0.1, 0.9, size), np.linspace(1, 2, size)

    def f(x: Any) -> Any:
        y = np.tanh(x * c)
        return y, {"part": y * y, "constant": c}

    y, pullback, aux = fg.vjp(f, x, has_aux=True)
    assert aux["constant"] is c
    expected = c * (1 - np.tanh(x * c) ** 2)
    for each in (x, y, aux["part"], c):
        each[...] = np.random.default_rng(0).normal(size=size)
        found = pullback(np.ones(size))[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        found[...] = 0


def test_the_function_may_write_to_the_array_it_is_differentiated_by() -> None:
    x = np.linspace(1, 2, 1000)

    def f(traced: Any) -> Any:
        y = np.sum(traced**3)
        x[::2] = 0
        return y

    np.testing.assert_allclose(fg.grad(f)(x), 3 * np.linspace(1, 2, 1000) ** 2, rtol=1e-12)


def test_nested_transforms_share_a_copy_and_free_it() -> None:
    c = np.linspace(1, 2, 1000)
    outer, inner = copied(c), copied(copied(c))
    assert outer is inner
    freed = weakref.ref(outer)
    del outer, inner
    assert freed() is None


def test_graphs_tell_zeros_of_both_signs_apart() -> None:
    c = np.zeros(1000)
    f = fg.make_graph(lambda x: np.arctan2(x, c))
    first = f(np.zeros(1000))
    c[...] = -0.0
    np.testing.assert_array_equal(first(np.zeros(1000)), 0)
    np.testing.assert_allclose(f(np.zeros(1000))(np.zeros(1000)), np.pi)
