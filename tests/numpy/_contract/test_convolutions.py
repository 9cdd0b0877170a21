"""``numpy.convolve`` and ``numpy.correlate``, beside NumPy and JAX, at all lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.numpy._surface import check_surface, same

OF: Any = np
MODES = ("full", "same", "valid")


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients(name: str, mode: str, rng: np.random.Generator) -> None:
    for lengths in ((5, 2), (3, 4)):
        a, v = (rng.normal(size=n) for n in lengths)
        check_surface(lambda m, a, v: getattr(m, name)(a, v, mode=mode), [a, v])
    a, v = a + 1j * a[::-1], v - 2j * v
    check_surface(lambda m, a, v: getattr(m, name)(a, v, mode=mode), [a, v])
    check_surface(lambda m, a: getattr(m, name)(a, m.asarray([2, 1]), mode=mode), [a.real])


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int, bool])
def test_values_at_all_lengths(dtype: Any, rng: np.random.Generator) -> None:
    for n, m in np.ndindex(5, 5):
        a, v = (3 * rng.normal(size=n + 1)).astype(dtype), (3 * rng.normal(size=m + 1)).astype(dtype)
        for f in (OF.convolve, OF.correlate):
            for mode in MODES:
                graph = fg.make_graph(lambda a, v, f=f, mode=mode: f(a, v, mode))(a, v)
                same(graph(a, v), f(a, v, mode), 1e-6 if dtype is np.float32 else 1e-13)


def test_integers_on_xla(rng: np.random.Generator) -> None:
    a, v = rng.integers(-9, 9, 6), rng.integers(-9, 9, 4)
    for dtype in (np.int64, np.int32, np.uint8, bool):
        same(fg.jit(np.convolve)(a.astype(dtype), v.astype(dtype)), np.convolve(a.astype(dtype), v.astype(dtype)), 0)


def test_batches(rng: np.random.Generator) -> None:
    a, v = rng.normal(size=(3, 5)), rng.normal(size=(3, 2))
    for axes, rows in (((0, 0), zip(a, v, strict=True)), ((None, 0), ((a[0], k) for k in v))):
        expected = [np.convolve(x, k) for x, k in rows]
        got = fg.vmap(np.convolve, in_axes=axes)(a if axes[0] == 0 else a[0], v)
        np.testing.assert_allclose(got, expected)


def test_mistakes() -> None:
    x: Any = np.ones(3)
    for f, match in (
        (lambda x: np.convolve(x, []), "v cannot be empty"),
        (lambda x: np.convolve(x[None], x), "too deep"),
        (lambda x: OF.correlate(x, x, "most"), "mode is 'most'"),
    ):
        with pytest.raises(ValueError, match=match):
            fg.make_graph(f)(x)
    same(fnp.convolve([1.0, 2], [3, 4]), np.convolve([1.0, 2], [3, 4]), 0)
