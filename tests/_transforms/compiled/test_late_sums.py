"""Large sums of pieces are added where the pieces are made, and large constants end with their last reader."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.index import late

N = 200
DATA = np.random.default_rng(0).standard_normal((N, N))
WEIGHTS = np.cos(np.arange(N * N)).reshape(N, N)


def covariance(data: Any) -> Any:
    """Sum the covariances of columns, each written beside the diagonal, with weights."""
    with fg.intercept():
        cov = np.zeros_like(data)
    for i in range(N):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:]
    return np.sum(cov * WEIGHTS)


def filtered(x: Any) -> Any:
    """Sum a filter along the columns, which reads two columns back."""
    y = x.copy()
    for j in range(2, N):
        y[:, j] = x[:, j] * y[0, 0] + 0.5 * y[:, j - 1] - 0.2 * y[:, j - 2]
        y[j, :] = y[j, :] + y[j - 1, :] * y[j - 2, ::-1]
    return np.sum(y * WEIGHTS) / N


@pytest.mark.parametrize("f", [covariance, filtered])
@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_the_numbers_are_those_of_the_eager_gradient(f: Any, engine: str) -> None:
    x = 0.01 * DATA
    value, gradient = fg.jit(fg.value_and_grad(f), engine=engine)(x)
    expected = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(np.asarray(value), expected[0], rtol=1e-12)
    np.testing.assert_allclose(np.asarray(gradient), expected[1], rtol=1e-12, atol=1e-14)


def test_no_number_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits, signs of zeros among them, are those of sums that are made as a whole."""
    x = np.where(np.random.default_rng(1).random((N, N)) < 0.2, -0.0, 0.01 * DATA)
    programs: list[Any] = [covariance, filtered]
    for f in programs:
        pieces = fg.jit(fg.grad(f), engine="numpy")(x)
        with monkeypatch.context() as context:
            context.setattr(late, "_LARGE", N * N)
            assert fg.jit(fg.grad(f), engine="numpy")(x).tobytes() == pieces.tobytes()


def test_a_sum_of_many_pieces_holds_one_at_a_time() -> None:
    compiled = fg.jit(fg.grad(covariance), engine="numpy")
    scatters = Counter(e.primitive.name for e in compiled.graph(DATA).equations)["scatter"]
    assert scatters == 1
    compiled(DATA)
    tracemalloc.start()
    compiled(DATA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The pieces have 200 * 200 * 100 elements together.
    assert peak < 12 * DATA.nbytes


def test_constants_that_folding_makes_end_with_their_last_reader() -> None:
    """Each write to the known cotangent of the result makes another constant as large."""
    fg.jit(fg.grad(covariance), engine="numpy").graph(DATA)
    compiled = fg.jit(fg.grad(covariance), engine="numpy")
    tracemalloc.start()
    graph = compiled.graph(DATA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(graph.equations) > 10 * N
    # 400 constants of the size of the data were held.
    assert peak < 100 * DATA.nbytes


def test_folded_writes_leave_the_users_arrays_alone() -> None:
    """A folded write is in place only in memory that folding made."""
    known = np.arange(10_000.0)
    before = known.copy()

    def written(x: Any) -> Any:
        parts = []
        with fg.intercept():
            made = np.zeros(10_000)
        for k in range(80):
            made[k : k + 5000] = known[k : k + 5000]
            parts.append(made[:7000] + 0.0)
            made[k] = 1.0
        return x * sum(np.sum(part[::700]) for part in parts), parts[3]

    expected = written(2.0)
    found = fg.jit(written, engine="numpy")(2.0)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(known, before)
