"""Plans: made once for a signature, bounded in number, and not kept after an error or beside a traced constant."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import PatternSizeError


def counted() -> tuple[Any, list[tuple[int, ...]]]:
    """A function, and the shapes that it was run with."""
    runs: list[tuple[int, ...]] = []

    def f(x: Any) -> Any:
        runs.append(x.shape)
        return x[1:] * x[:-1]

    return f, runs


def test_a_function_runs_once_for_a_signature() -> None:
    f, runs = counted()
    jac = fg.sparse.jacobian(f)
    jac(np.ones(4))
    first = len(runs)
    for _ in range(3):
        jac(2 * np.ones(4))
        jac.pattern(np.ones(4))
        jac.colors(np.ones(4))
        jac.structure(np.ones(4))
        jac.values(np.ones(4))
    assert len(runs) == first
    jac(np.ones(4, np.float32))
    assert len(runs) > first


def test_the_plans_that_were_used_last_are_kept() -> None:
    f, runs = counted()
    jac = fg.sparse.jacobian(f)
    for size in range(3, 23):
        jac(np.ones(size))
        jac(np.ones(3))
    runs.clear()
    jac(np.ones(3))
    jac(np.ones(22))
    assert not runs
    jac(np.ones(4))
    assert runs


def test_nothing_is_kept_after_an_error() -> None:
    f, runs = counted()
    jac = fg.sparse.jacobian(f, max_nonzeros=10)
    for _ in range(2):
        runs.clear()
        with pytest.raises(PatternSizeError):
            jac(np.ones(20))
        assert runs
    assert jac(np.ones(5)).nnz == 8


def test_a_plan_with_a_traced_constant_is_not_kept() -> None:
    def total(a: Any) -> Any:
        values = fg.sparse.jacobian_values(lambda x: a * x**2)
        return np.sum(values(np.ones(3))) + np.sum(values(2 * np.ones(3)))

    np.testing.assert_allclose([fg.grad(total)(1.0), fg.grad(total)(5.0)], 18.0)
    kept = fg.sparse.jacobian_values(lambda x, a: a * x**2)
    gradient = fg.grad(lambda a: np.sum(kept(np.ones(3), a)))
    np.testing.assert_allclose([gradient(1.0), gradient(5.0)], 6.0)


def test_threads_share_a_function() -> None:
    f, _ = counted()
    jac = fg.sparse.jacobian(f)
    found: dict[int, np.ndarray] = {}

    def work(size: int) -> None:
        for _ in range(5):
            found[size] = jac(np.arange(float(size))).toarray()

    threads = [threading.Thread(target=work, args=(size,)) for size in range(2, 26)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for size, matrix in found.items():
        np.testing.assert_array_equal(matrix, fg.jacobian(f)(np.arange(float(size))))


def test_shapes_are_enough_for_a_pattern() -> None:
    jac = fg.sparse.jacobian(lambda x: x[1:] * x[:-1])
    assert jac.pattern(fg.ShapeDtype((50,), np.float32)).shape == (49, 50)
    rows, columns = jac.structure(fg.ShapeDtype((3,), np.float64))
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 1, 1], [0, 1, 1, 2])


def test_jax_arrays() -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.linspace(0, 1, 5)
    for engine in ("numpy", "xla"):
        found = fg.sparse.jacobian(lambda x: x[1:] * x[:-1], engine=engine)(x)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found.toarray(), fg.jacobian(lambda x: x[1:] * x[:-1])(np.asarray(x)))


def test_special_numbers_stay_in_their_elements() -> None:
    x = np.array([np.nan, 1.0, 2.0, np.inf, 3.0, 4.0])
    found = fg.sparse.jacobian(lambda x: x**2)(x).toarray()
    np.testing.assert_array_equal(np.diag(found), 2 * x)
    assert np.count_nonzero(found) == 6


def test_a_long_scan_takes_time_in_proportion_to_its_elements() -> None:
    n = 20_000
    jac = fg.sparse.jacobian(lambda x: fg.scan(lambda c, r: (r, c * r), x[0], x)[1])
    x = np.random.default_rng(3).normal(size=n)
    found, before = jac(x), np.append(x[0], x[:-1])
    assert found.nnz == 2 * n - 1
    assert jac.colors(x).products == 2
    np.testing.assert_allclose(found.diagonal(), np.where(np.arange(n), before, 2 * x[0]))
    np.testing.assert_allclose(found.diagonal(-1), x[1:])
