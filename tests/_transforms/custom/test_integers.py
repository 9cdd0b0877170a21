"""Integer arguments and results of rules, and tangents that are none."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError

X, N = np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3])
FLOAT0 = jax.dtypes.float0


def power(x: Any, n: Any) -> Any:
    return x**2 * n


@fg.custom_jvp
def by_rule(x: Any, n: Any) -> Any:
    return power(x, n)


@by_rule.defjvp
def _push(primals: Any, tangents: Any) -> Any:
    return fg.jvp(power, primals, tangents)


def test_a_rule_gives_its_arguments_to_jvp() -> None:
    def f(x: Any, n: Any) -> Any:
        return np.sum(by_rule(x, n))

    assert_allclose(fg.grad(f)(X, 2), 4 * X)
    assert_allclose(fg.grad(f)(X, N), 2 * X * N)
    assert_allclose(fg.hessian(f)(X, N), np.diag(2 * N))
    assert_allclose(fg.vmap(fg.grad(by_rule))(X, N), 2 * X * N)
    for engine in ("numpy", "numba", "xla"):
        assert_allclose(fg.jit(fg.grad(f), engine=engine)(X, N), 2 * X * N)
        assert_allclose(fg.grad(fg.jit(f, engine=engine))(X, N), 2 * X * N)
        assert_allclose(fg.jvp(fg.jit(lambda x: f(x, N), engine=engine), (X,), (X,))[1], np.sum(2 * X * X * N))


@pytest.mark.parametrize("tangent", [None, 0, 0.0, False, np.zeros((), FLOAT0), np.zeros(3, int), np.zeros(3, FLOAT0)])
def test_tangents_that_are_none(tangent: Any) -> None:
    n = N if np.shape(tangent) else 2
    value, slope = fg.jvp(power, (X, n), (X, tangent))
    assert_array_equal(value, X**2 * n)
    assert_array_equal(slope, 2 * X * X * n)
    tree = fg.jvp(lambda d: d["x"] ** 2 * d["n"], ({"x": X, "n": n},), ({"x": X, "n": tangent},))
    assert_array_equal(tree[1], slope)


def test_what_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match=r"jvp: a derivative was asked by argument 1 \(n\) of power"):
        fg.jvp(power, (X, 2), (X, 1))
    with pytest.raises(TypeError, match=r"the tangent of argument 1 .* is None; needed an array"):
        fg.jvp(power, (X, 2.0), (X, None))


@pytest.mark.parametrize("none", [None, np.zeros(3, FLOAT0), np.zeros(3, int)])
def test_a_rule_returns_no_tangent_for_integers(none: Any) -> None:
    @fg.custom_jvp
    def doubled(x: Any) -> Any:
        return 2 * x, np.arange(3), x

    doubled.defjvp(lambda primals, tangents: (doubled(*primals), (2 * tangents[0], none, None)))
    (y, places, same), (y_dot, _, same_dot) = fg.jvp(doubled, (X,), (X,))
    assert_array_equal(y, 2 * X)
    assert_array_equal(places, np.arange(3))
    assert_array_equal(same, X)
    assert_array_equal(y_dot, 2 * X)
    assert_array_equal(same_dot, np.zeros(3))
    assert_array_equal(fg.grad(lambda x: np.sum(doubled(x)[0] * doubled(x)[1]))(X), 2 * np.arange(3))
