"""Elements of matrices: written as parts at equal distances, or read from joined parts, beside the dense ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.sparse import _elements

SCALES = np.linspace(0.5, 2.0, 12)
ORDER = np.random.default_rng(3).permutation(12)


class Case(NamedTuple):
    """A function, whether its Hessian is sought, and the number of writes that put its elements in place."""

    f: Callable[[Any], Any]
    of_gradient: bool
    writes: int


def _tridiagonal(x: Any) -> Any:
    y = np.pad(x, 1)
    return (3 - 2 * x) * x + 1 - y[:-2] - 2 * y[2:]


def _pentadiagonal(x: Any) -> Any:
    y = np.pad(x * x, 2)
    return y[:-4] - 4 * y[1:-3] + 6 * y[2:-2] * x - 4 * y[3:-1] + y[4:]


def _rosen(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _grid(x: Any) -> Any:
    u = np.pad(x.reshape(3, 4), 1)
    return u[:-2, 1:-1] * u[2:, 1:-1] + u[1:-1, :-2] + 2 * u[1:-1, 2:] ** 2


CASES = {
    "a band": Case(_tridiagonal, False, 1),
    "a wide band": Case(_pentadiagonal, False, 11),
    "numbers alone": Case(lambda x: 3 * x[1:] - x[:-1], False, 0),
    "arrays that the program holds": Case(lambda x: SCALES * x, False, 0),
    "numbers and arrays in one element": Case(lambda x: 3 * x + x * x * SCALES - x[::-1], False, 2),
    "every other row": Case(lambda x: x[::2] * x[1::2], False, 2),
    "backwards": Case(lambda x: x[::-1] ** 2, False, 1),
    "both triangles": Case(_rosen, True, 3),
    "one element": Case(lambda x: x[3] ** 3, True, 1),
    "rows in no order": Case(lambda x: x[ORDER] ** 2 * x, False, 11),
    "a grid": Case(_grid, False, 11),
}


def _made(case: Case, **options: Any) -> Any:
    return (fg.sparse.hessian if case.of_gradient else fg.sparse.jacobian)(case.f, **options)


@pytest.fixture(params=["written", "read"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Elements are written, however few one write has, and then read in order."""
    most = 64 if request.param == "written" else -1
    monkeypatch.setattr(_elements, "most_writes", lambda count: most)
    return request.param


def _writes(compute: Any, x: np.ndarray) -> int | None:
    plan, _ = compute._plans.find((x,), {})
    assert plan._elements is not None
    return None if plan._elements.writes is None else len(plan._elements.writes)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_the_matrix_is_the_dense_one(name: str, engine: str, way: str) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    case = CASES[name]
    compute = _made(case, engine=engine)
    for seed in range(2):
        x = np.random.default_rng(seed).normal(size=12)
        expected = np.asarray((fg.hessian if case.of_gradient else fg.jacobian)(case.f)(x)).reshape(-1, 12)
        np.testing.assert_allclose(compute(x).toarray(), expected, rtol=1e-6 if engine == "xla" else 1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_both_ways_are_taken(name: str, way: str) -> None:
    case = CASES[name]
    assert _writes(_made(case), np.ones(12)) == (case.writes if way == "written" or not case.writes else None)


def test_few_long_writes_are_taken_and_many_short_ones_are_not() -> None:
    assert _writes(fg.sparse.jacobian(_pentadiagonal), np.ones(12)) is None
    assert _writes(fg.sparse.jacobian(_pentadiagonal), np.ones(5_000)) == CASES["a wide band"].writes
    order = np.random.default_rng(3).permutation(5_000)
    assert _writes(fg.sparse.jacobian(lambda x: x[order] ** 2 * x), np.ones(5_000)) is None


@pytest.mark.parametrize("name", CASES)
def test_the_elements_have_derivatives(name: str, way: str) -> None:
    case = CASES[name]
    x = np.random.default_rng(1).normal(size=12)
    values = (fg.sparse.hessian_values if case.of_gradient else fg.sparse.jacobian_values)(case.f)
    rows, columns = _made(case).structure(x)

    def dense(x: Any) -> Any:
        return (fg.hessian if case.of_gradient else fg.jacobian)(case.f)(x).reshape(-1, 12)[rows, columns]

    np.testing.assert_allclose(fg.jacobian(values)(x), fg.jacobian(dense)(x), rtol=1e-12, atol=1e-12)
    stack = np.stack([x, 2 * x])
    np.testing.assert_allclose(fg.vmap(values)(stack), np.stack([values(x), values(2 * x)]), rtol=1e-12)


@pytest.mark.parametrize("name", ["numbers alone", "a band"])
def test_a_matrix_has_memory_of_its_own(name: str, way: str) -> None:
    compute, x = _made(CASES[name]), np.ones(12)
    first = compute(x)
    expected = first.toarray()
    first.data[:] = 7
    first.indices[:] = 0
    np.testing.assert_array_equal(compute(x).toarray(), expected)
    values = fg.sparse.jacobian_values(CASES[name].f)
    values(x)[:] = 7
    np.testing.assert_array_equal(values(x), compute(x).data)


def test_indices_have_32_bits() -> None:
    found = _made(CASES["a band"])(np.ones(12))
    assert (found.indices.dtype, found.indptr.dtype) == (np.int32, np.int32)
