"""Scalars made from an unchanged vector are computed before the call if that is safe, else by the program."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.xla.scalars import split_scalars

P = {str(i): np.ones(3, np.float32) for i in range(9)}


def _vector(*numbers: float) -> np.ndarray:
    vector = np.array(numbers)
    vector.flags.writeable = False
    return vector


def _step(v: Any, x: Any, y: Any) -> Any:
    """The type of ``x`` decides which of the numbers are read."""
    rate = v[0] if x.dtype == np.float32 else np.exp(v[1]) / v[0]
    return v, x - rate.astype(x.dtype) * y, rate.astype(np.float32)


def _numpys(v: np.ndarray, x: Any, y: Any) -> Any:
    return jax.tree.map(np.asarray, _step(v, np.asarray(x), np.asarray(y)))


def _check(step: Any, v: np.ndarray, dtype: Any = np.float32) -> None:
    x, y = jnp.arange(3, dtype=dtype), jnp.ones(3, dtype)
    expected, got = _numpys(v, x, y), step(v, x, y)
    assert got[0] is v
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6 if dtype == np.float32 else 2e-3)


@pytest.mark.parametrize("donated", [(), (1,), (0, 1)])
def test_numbers_of_any_kind_give_what_numpy_gives(donated: tuple[int, ...]) -> None:
    step = fg.jit(_step, donate_argnums=donated)
    v = _vector(0.5, 2.0)
    for vector in (v, v, v, _vector(0.25, 1.0), _vector(3.0, 1.0, 7.0), v):
        _check(step, vector)
    # The user may write to these.
    mine = np.array([0.5, 2.0])
    _check(step, mine)
    mine[0] = 7
    _check(step, mine)
    view = mine[:]
    view.flags.writeable = False
    _check(step, view)
    mine[0] = 9
    _check(step, view)
    _check(step, v)


def test_other_types_read_other_numbers() -> None:
    step = fg.jit(_step)
    v = _vector(0.5, 2.0)
    for dtype in (np.float32, np.float16, np.float32, np.float16):
        _check(step, v, dtype)


def test_one_vector_twice_and_two_of_them() -> None:
    step = fg.jit(lambda v, w, x: (v, w, x * v[0].astype(np.float32) + w[1].astype(np.float32)))
    a, b = _vector(2.0, 3.0), _vector(5.0, 7.0)
    for v, w in [(a, a), (a, b), (b, a), (b, b)]:
        got = step(v, w, jnp.ones(2))
        assert got[0] is v
        assert got[1] is w
        np.testing.assert_array_equal(got[2], np.full(2, v[0] + w[1]))


def test_a_step_of_an_optimizer_reads_scalars() -> None:
    graph = fg.make_graph(fg.sgd_update)(P, fg.sgd_init(P, lr=0.5, momentum=0.25, weight_decay=0.1), P)
    vector = next(x for x in graph.inputs if x.aval.shape == (3,) and x.aval.dtype == np.float64)
    parts = split_scalars(graph, vector)
    assert parts is not None
    assert [x.aval.dtype for x in parts.first.outputs] == [np.float32] * 3
    assert vector not in parts.rest.inputs
    assert not any(x.aval.dtype == np.float64 for equation in parts.rest.equations for x in equation.operands)


def test_numbers_that_do_not_fit_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = fg.jit(_step)(_vector(1e300, 1.0), jnp.zeros(2, np.float32), jnp.ones(2, np.float32))
    np.testing.assert_array_equal(got[1], [-np.inf, -np.inf])
