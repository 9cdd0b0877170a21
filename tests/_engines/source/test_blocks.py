"""Large elementwise operations in blocks, on all cores: all bits equal those of whole arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core import threads
from funcgrad._engines.source import blocks, clusters


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use blocks of a few elements for arrays of a few bytes, and three threads."""
    monkeypatch.setattr(clusters, "_LARGE_BYTES", 1)
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(threads, "workers", lambda: 3)


def plain(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run a function on the same engine without blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_LARGE_BYTES", 1 << 60)
        return fg.jit(f, engine="numpy", **options)(*args)


N = 50
A = np.linspace(0.1, 3, N)
M = np.linspace(-1, 1, N * 3).reshape(N, 3)

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "vectors": (A, A[::-1].copy()),
    "float32": (A.astype(np.float32), A.astype(np.float32) + 1),
    "integers": (np.arange(N), np.arange(N)[::-1]),
    "complex": (A * 1j, A + 1),
    "strided": (np.repeat(A, 2)[::2], A[::-1]),
    "matrices": (M, M * 2),
    "turned": (np.asfortranarray(M), np.ascontiguousarray(M.T).T),
    "a row beside": (M, M[:1]),
    "a vector beside": (M, M[0]),
    "a column beside": (M, M[:, :1]),
    "a number beside": (A, 2.5),
    "0-d beside": (A, np.array(2.5)),
    "as many rows as columns": (np.outer(A[:9], A[:9]), A[:9]),
    "long rows": (np.ones((3, 30)), np.ones((3, 30)) * 2),
    "one row": (np.ones((1, 30)), np.ones((1, 30)) * 2),
    "one more than a block": (A[:17], A[:17] + 1),
    "empty": (A[:0], A[:0]),
}

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a chain": lambda x, y: np.sin(x) * y + np.cos(x * 2) / (y * y + 1),
    "several results": lambda x, y: (x * 2 + y, x * y - 1, np.sin(x * 2 + y)),
    "a sum between": lambda x, y: np.exp(x - np.sum(np.sin(x) * y)) * (x + 1) + y,
    "a sum along rows between": lambda x, y: x * 2 / (1 + np.sum(x * x, axis=-1, keepdims=True)) + y,
    "a sum along columns between": lambda x, y: x * 2 / (1 + np.sum(x * x, axis=0)) + y,
    "choices": lambda x, y: np.where((x * 2 > y) & (x < 2), x + 1, y * 2),
    "turned between": lambda x, y: (np.sin(x) * 2).T + (np.cos(x) * 3).T,
    "backwards between": lambda x, y: (np.sin(x) * 2)[::-1] * (x + y * 2),
    "running sums": lambda x, y: np.cumsum(x * 2 + y, axis=0) * (x + y),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_the_same_bits(arguments: str, program: str) -> None:
    f, given = PROGRAMS[program], ARGUMENTS[arguments]
    kept = [np.copy(x) for x in given]
    jitted: Any = fg.jit(f, engine="numpy")
    for y, wanted in zip(fg.tree.leaves(jitted(*given)), fg.tree.leaves(plain(f, *given)), strict=True):
        np.testing.assert_array_equal(y, wanted, strict=True)
    for x, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(x, before)
    if arguments == "vectors":
        assert "blocks_" in jitted.source(*given)


DONATED: dict[str, Callable[[Any, Any], Any]] = {
    "a chain": lambda x, y: (np.sin(x) * y + 2, x * y - 1),
    "its transpose beside it": lambda x, y: x * 2 + x.T * y,
    "read backwards": lambda x, y: x * 2 + x[::-1] * y,
    "a row of it": lambda x, y: x * 2 + x[:1] * y,
    "read later": lambda x, y: (x * 2 + y, np.sum(x)),
    "itself beside": lambda x, y: (x * 2 + y, x),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", DONATED)
def test_donated_arrays_are_written_to_row_by_row(name: str) -> None:
    x, y = np.outer(A[:9], A[:9] + 1), A[:9]
    wanted = plain(DONATED[name], x.copy(), y)
    got = fg.jit(DONATED[name], engine="numpy", donate_argnums=0)(x, y)
    for z, w in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(z, w, strict=True)
    if name == "a chain":
        assert np.shares_memory(got[0], x)
        assert not np.shares_memory(got[0], got[1])


@pytest.mark.usefixtures("small")
def test_errors_and_warnings_come_from_all_threads() -> None:
    jitted = fg.jit(lambda x: 1 / (x * 2) + 1, engine="numpy")
    for k in (0, 20, N - 1):
        x = A.copy()
        x[k] = 0
        with np.errstate(divide="ignore"):
            assert jitted(x)[k] == np.inf
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            jitted(x)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            jitted(x)
    np.testing.assert_array_equal(jitted(A), 1 / (A * 2) + 1)


@pytest.mark.usefixtures("small")
def test_calls_from_several_threads() -> None:
    jitted = fg.jit(lambda x: np.sin(x) * 2 + np.cos(x), engine="numpy")
    wrong: list[int] = []

    def call(k: int) -> None:
        x = A * k
        wrong.extend(k for _ in range(20) if not np.array_equal(jitted(x), np.sin(x) * 2 + np.cos(x)))

    threads = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_large_arrays_without_a_fixture() -> None:
    x = np.linspace(0, 1, 300_000)

    def loss(x: Any) -> Any:
        return np.sum(np.exp(-x * x) * np.sin(3 * x) / (1 + x))

    jitted: Any = fg.jit(fg.grad(loss), engine="numpy")
    np.testing.assert_array_equal(jitted(x), plain(fg.grad(loss), x))
    np.testing.assert_allclose(jitted(x), fg.grad(loss)(x), rtol=1e-12, atol=1e-14)
    assert "def blocks_" in jitted.source(x)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_numbers_beside_large_arrays(engine: str, dtype: Any) -> None:
    z, x = dtype(0.6 + 0.3j), np.linspace(-1.0, 1.0, 60_000).reshape(200, 300).astype(dtype)

    def f(z: Any, x: Any) -> Any:
        return np.sum(np.abs(np.sin(z * x + 0.5 * z) * x) ** 2)

    expected, found = (
        fg.value_and_grad(f, argnums=(0, 1))(z, x),
        fg.jit(fg.value_and_grad(f, argnums=(0, 1)), engine=engine)(z, x),
    )
    for a, b in zip(fg.tree.leaves(expected), fg.tree.leaves(found), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype is np.complex64 else 1e-12, atol=1e-6)
