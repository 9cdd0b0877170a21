"""``associative_scan`` compared with JAX: lengths, directions, axes and trees, on each engine, with derivatives."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeMismatchError

LENGTHS = [1, 2, 3, 4, 7, 16, 17]


def product(np: Any) -> Any:
    return lambda a, b: np.einsum("nij,njk->nik", a, b)


def after(first: Any, second: Any) -> Any:
    """Combine two steps of ``h = a * h + b``."""
    return {"a": first["a"] * second["a"], "b": first["b"] * second["a"] + second["b"]}


def same(got: Any, expected: Any) -> None:
    got, expected = fg.tree.leaves(got), jax.tree.leaves(expected)
    for y, y_jax in zip(got, expected, strict=True):
        assert (y.shape, y.dtype) == (y_jax.shape, y_jax.dtype)
        np.testing.assert_allclose(y, y_jax, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_trees_and_matrices(length: int, reverse: bool, rng: np.random.Generator) -> None:
    elems = {"a": rng.normal(size=(2, length)), "b": rng.normal(size=(2, length))}
    matrices = rng.normal(size=(length, 2, 2))
    with jax.enable_x64(True):
        expected = jax.lax.associative_scan(after, elems, reverse=reverse, axis=1)
        products = jax.lax.associative_scan(product(jax.numpy), matrices, reverse=reverse)
    for axis in (1, -1):
        same(fg.associative_scan(after, elems, reverse=reverse, axis=axis), expected)
    same(fg.associative_scan(product(np), matrices, reverse=reverse), products)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_compiled_and_differentiated(engine: str, rng: np.random.Generator) -> None:
    elems = {"a": rng.normal(size=9), "b": rng.normal(size=9)}

    def loss(scan: Any) -> Any:
        return lambda elems: (scan(after, elems, reverse=True)["b"] ** 2).sum()

    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(loss(jax.lax.associative_scan))(elems)
    got, slope = fg.jit(fg.value_and_grad(loss(fg.associative_scan)), engine=engine)(elems)
    same((got, slope), (value, gradient))
    same(fg.grad(loss(fg.associative_scan))(elems), gradient)


def test_it_equals_a_loop_over_a_batch(rng: np.random.Generator) -> None:
    xs = rng.normal(size=(3, 10))
    same(fg.vmap(lambda x: fg.associative_scan(np.add, x))(xs), np.cumsum(xs, 1))
    assert fg.associative_scan(np.add, np.ones((0, 2))).shape == (0, 2)
    assert fg.associative_scan(np.logical_or, np.array([False, True, False])).tolist() == [False, True, True]
    assert fg.associative_scan(np.add, np.ones(5, np.float32)).dtype == np.float32
    single = np.ones(1)
    assert not np.may_share_memory(fg.associative_scan(np.add, single), single)


def test_what_is_refused() -> None:
    x = np.ones(3)
    with pytest.raises(ValueError, match="elems has no arrays"):
        fg.associative_scan(np.add, [])
    with pytest.raises(ValueError, match=r"a leaf of elems is f64\[3\]; needed an array with axis 1"):
        fg.associative_scan(np.add, x, axis=1)
    with pytest.raises(ValueError, match=r"lengths \[3, 4\] along axis 0"):
        fg.associative_scan(lambda a, b: a, (x, np.ones(4)))
    with pytest.raises(TreeMismatchError, match="needed the structure of its arguments"):
        fg.associative_scan(lambda a, b: (a, b), x)
    with pytest.raises(TypeError, match=r"returned f64\[\] for elements f64\[1\]"):
        fg.associative_scan(lambda a, b: (a + b).sum(), x)
    with pytest.raises(TypeError, match="needed a function"):
        fg.associative_scan(x, x)  # pyright: ignore[reportArgumentType]  (refused)


def _into_first(a: Any, b: Any) -> Any:
    a *= b
    return a


def _into_second(a: Any, b: Any) -> Any:
    b *= a
    return b


@pytest.mark.parametrize("f", [_into_first, _into_second])
@pytest.mark.parametrize("size", LENGTHS)
def test_a_function_may_write_to_what_it_gets(f: Any, size: int) -> None:
    elems = np.linspace(0.5, 1.5, size)
    given = elems.copy()

    def product_of_all(x: Any) -> Any:
        return fg.associative_scan(f, x)[-1]

    for run in [lambda g: g, *[lambda g, e=engine: fg.jit(g, engine=e) for engine in ("numpy", "numba", "xla")]]:
        same(run(lambda x: fg.associative_scan(f, x))(given), np.cumprod(elems))
        same(run(lambda x: fg.associative_scan(f, x, reverse=True))(given), np.cumprod(elems[::-1])[::-1])
        same(run(fg.grad(product_of_all))(given), np.prod(elems) / elems)
    same(fg.jacfwd(product_of_all)(given), np.prod(elems) / elems)
    same(fg.vmap(lambda x: fg.associative_scan(f, x))(np.stack([given, given]))[1], np.cumprod(elems))
    same(given, elems)
