"""Arrays made and converted: NumPy's values and dtypes, derivatives kept."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.trace.place import settled
from tests.numpy._surface import check_surface, same

WRONG: Any = "yx"

CASES: dict[str, tuple[Any, tuple]] = {
    "full_like": (lambda m, x: x * m.full_like(x, 3), ((2, 3),)),
    "full_like with a traced number": (lambda m, x, c: x * m.full_like(x, c), ((2, 3), ())),
    "full_like of another shape": (lambda m, x: m.sum(x) * m.full_like(x, 3, shape=(4,)), ((2, 3),)),
    "zeros_like": (lambda m, x: x + m.zeros_like(x), ((2, 3),)),
    "ones_like of another dtype": (lambda m, x: x * m.ones_like(x, dtype=np.float32), ((2, 3),)),
    "astype": (lambda m, x: m.astype(x, np.float32), ((2, 3),)),
    "the astype method": (lambda m, x: x.astype("float32").astype(float), ((2, 3),)),
    "to complex": (lambda m, x: x.astype(complex), ((2, 3),)),
    "copy": (lambda m, x: m.copy(x) * x, ((2, 3),)),
    "linspace": (lambda m, a, b: m.linspace(a, b, 5), ((), ())),
    "linspace without its end": (lambda m, a, b: m.linspace(a, b, 4, endpoint=False), ((2,), ())),
    "linspace with its step": (lambda m, a, b: m.linspace(a, b, 4, retstep=True)[1], ((2,), ())),
    "linspace of one": (lambda m, a, b: m.linspace(a, b, 1), ((), ())),
    "linspace of integers": (lambda m, a: m.linspace(a, 3, 4), ((),)),
    "meshgrid": (lambda m, x, y: m.stack(m.meshgrid(x, y)), ((2,), (3,))),
    "meshgrid in matrix order": (lambda m, x, y: m.stack(m.meshgrid(x, y, x, indexing="ij")), ((2,), (3,))),
    "meshgrid, sparse": (lambda m, x, y: m.add(*m.meshgrid(x, y, sparse=True)), ((2,), (3,))),
}


@pytest.mark.parametrize(("f", "shapes"), CASES.values(), ids=CASES)
def test_surface(f: Any, shapes: tuple, rng: np.random.Generator) -> None:
    check_surface(f, [rng.normal(size=shape) for shape in shapes], tolerance=1e-6)


def test_lists_that_hold_tracers_are_stacked() -> None:
    def f(x: Any) -> Any:
        return np.sum(fnp.array([[x[0], 1.0], [2 * x[1], x[0] * x[1]]]) * np.array([[1.0, 5.0], [7.0, 2.0]]))

    np.testing.assert_array_equal(fg.grad(f)(np.array([3.0, 4.0])), [9.0, 20.0])


def test_lists_of_numbers_and_arrays_stay_plain() -> None:
    assert type(fnp.array([1, 2])) is np.ndarray
    assert fnp.array([1, 2]).dtype == np.array([1, 2]).dtype
    assert fnp.asarray([1, 2], np.float32).dtype == np.float32
    assert fnp.array(2.0, ndmin=2).shape == (1, 1)


def test_array_copies_and_asarray_does_not() -> None:
    x = np.ones(3)
    assert fnp.asarray(x) is x
    assert not np.shares_memory(fnp.array(x), x)
    assert not np.shares_memory(fnp.asarray(x, copy=True), x)
    assert not np.shares_memory(fnp.copy(x), x)


def test_asarray_keeps_tracers_and_engines() -> None:
    assert fg.grad(lambda x: fnp.asarray(x, np.float32) * 2)(1.0) == 2.0
    assert isinstance(fnp.asarray(jax.numpy.ones(2)), jax.Array)
    assert isinstance(fnp.asarray([jax.numpy.ones(2), np.zeros(2, np.float32)]), jax.Array)


def test_full_keeps_derivatives() -> None:
    assert fg.grad(lambda c: np.sum(fnp.full((2, 3), c)))(1.0) == 6.0
    np.testing.assert_array_equal(fnp.full(2, 3), np.full(2, 3))


def test_zeros_like_is_a_constant_of_the_same_engine() -> None:
    seen: list[Any] = []
    fg.grad(lambda x: (seen.append(settled(np.zeros_like(x) + 1)), np.sum(x))[1])(np.ones(2))
    assert type(seen[0]) is np.ndarray
    assert isinstance(fnp.ones_like(jax.numpy.ones(2)), jax.Array)
    assert fnp.empty_like(np.ones(2), dtype=int).dtype == int


def test_questions_about_dtypes() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((np.result_type(x, np.int8), np.can_cast(x.dtype, np.float32), np.iscomplexobj(x), np.isrealobj(x)))
        return np.sum(x)

    fg.grad(f)(np.ones(2))
    assert seen == [(np.dtype(float), False, False, True)]


def test_creation_passes_through() -> None:
    np.testing.assert_array_equal(fnp.eye(2), np.eye(2))
    np.testing.assert_array_equal(fnp.arange(3), np.arange(3))
    np.testing.assert_array_equal(fnp.linspace(0, 1, 7), np.linspace(0, 1, 7))
    assert fnp.newaxis is None


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: x.astype(int, casting="safe"), TypeError, "Cannot cast"),
        (lambda x: fnp.meshgrid(*[x, x], indexing=WRONG), ValueError, "indexing"),
        (lambda x: np.linspace(x, 1, -1), ValueError, "non-negative"),
    ],
)
def test_refusals(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.vjp(f, np.ones(2))


def test_geometric_spaces() -> None:
    ends = [np.float64(0.5), np.float64(8.0)]
    for options in ({"num": 5}, {"num": 4, "endpoint": False}, {"num": 1}):
        check_surface(lambda m, a, b, options=options: m.logspace(a, b, **options), ends)
        check_surface(lambda m, a, b, options=options: m.geomspace(a, b, **options), ends)
    check_surface(lambda m, a, b: m.logspace(a, b, 3, base=2.5), ends)
    for f in (
        lambda x: np.logspace(x[0], x, 3),
        lambda x: np.logspace(x, 2, 3, base=x + 1),
        lambda x: np.logspace(0, x[0], 3, base=x + 1),
        lambda x: np.geomspace(-x, [-3, -5.0, -9], 4),
        lambda x: np.geomspace(x, 7, 3),
        lambda x: np.geomspace(x * 1j, 7, 3, axis=1),
        lambda x: np.geomspace(x + 2j, x - 1j, 4, endpoint=False, axis=-1),
        lambda x: np.geomspace(-x, 7, 3, dtype=complex),
        lambda x: np.logspace(x[:, None], [[1.0, 2]], 3, base=x[:, None] + 1, axis=1),
        lambda x: np.logspace(x, 2, 3, axis=-1),
        lambda x: np.linspace(x, 2, 3, axis=1),
        lambda x: np.linspace(x[:, None], [[1.0, 2]], 4, axis=-2),
    ):
        x = np.array([1.5, 2, 3])
        same(fg.make_graph(f)(x)(x), f(x), 1e-12)
        same(fg.jit(f, engine="xla")(x), f(x), 1e-12)
        fg.check_grads(f, (x,), order=1)
    # Integers are rounded down.
    for f in (lambda x: np.linspace(x, 3, 9, dtype=int), lambda x: np.logspace(x, 0.5, 9, dtype=int)):
        check_surface(lambda m, x, f=f: f(x), [np.float64(-4.0)])
    with pytest.raises(ValueError, match="cannot include zero"):
        fg.grad(lambda x: np.sum(np.geomspace(x, 0, 3)))(1.0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("function", [fnp.copy, fnp.array, fnp.zeros_like, fnp.full_like, fnp.ravel])
def test_jax_arrays_have_the_order_of_rows(function: Any, shape: tuple[int, ...]) -> None:
    """JAX's arrays have no strides, compiled or not."""

    def run(x: Any) -> Any:
        if function is fnp.ravel:
            return fnp.ravel(x, order="K")
        return fnp.full_like(x, 2.5) if function is fnp.full_like else function(x)

    x = jax.numpy.ones(shape)
    for y in (run(x), jax.jit(run)(x)):
        assert isinstance(y, jax.Array)
        np.testing.assert_array_equal(y, run(np.ones(shape, np.float32)))
