"""Rematerialization: the same derivatives from the arguments alone, with less memory."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.ir import check_graph

RNG = np.random.default_rng(2)
W, X = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))
DIRECTION = RNG.normal(size=(3, 3))


def layers(w: Any, x: Any) -> Any:
    return np.tanh(np.sin(x @ w) @ w), {"sum": np.sum(x * x)}


def loss(block: Any, w: Any, x: Any) -> Any:
    y, aux = block(w, x)
    y, _ = block(w, y)
    return np.sum(y**2) + aux["sum"]


def in_scan(block: Any, w: Any, x: Any) -> Any:
    return np.sum(fg.scan(lambda c, row: (block(w, c + row)[0], row), x[0], x)[0])


def closing_over(block: Any, w: Any, x: Any) -> Any:
    return np.sum(fg.checkpoint(lambda y: np.sin(y @ w))(x) ** 2) if block is not layers else np.sum(np.sin(x @ w) ** 2)


@pytest.fixture(params=[loss, in_scan, closing_over])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return the program with and without checkpoints."""
    return partial(request.param, fg.checkpoint(layers)), partial(request.param, layers)


def close(got: Any, wanted: Any) -> None:
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12, atol=1e-12)


def test_derivatives_are_those_of_the_function(pair: Any) -> None:
    f, plain = pair
    close(f(W, X), plain(W, X))
    wanted = fg.grad(plain, (0, 1))(W, X)
    close(fg.grad(f, (0, 1))(W, X), wanted)
    close(fg.jvp(f, (W, X), (W, X)), fg.jvp(plain, (W, X), (W, X)))
    close(fg.linearize(f, W, X)[1](W, X), fg.jvp(plain, (W, X), (W, X))[1])
    product = fg.hvp(lambda w: plain(w, X), (W,), (DIRECTION,))
    close(fg.hvp(lambda w: f(w, X), (W,), (DIRECTION,)), product)
    close(fg.grad(lambda w: np.sum(fg.grad(f)(w, X) * DIRECTION))(W), product)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(pair: Any, engine: str) -> None:
    f, plain = pair
    jit = partial(fg.jit, engine=engine)
    wanted = fg.grad(plain, (0, 1))(W, X)
    close(jit(fg.grad(f, (0, 1)))(W, X), wanted)
    close(fg.grad(jit(f), (0, 1))(W, X), wanted)
    graph = check_graph(fg.make_graph(fg.grad(f, (0, 1)))(W, X))
    close(graph(W, X), wanted)
    with jax.enable_x64(True):
        close(jax.grad(fg.make_graph(f)(W, X), (0, 1))(W, X), wanted)


def test_only_the_arguments_are_kept() -> None:
    """Compare memory between the passes and in the graph: a cheap argument replaces large intermediate values."""

    def wide(x: Any) -> Any:
        return np.sum(np.sin(np.exp(np.sin(np.broadcast_to(x, (200, 1000))))))

    def kept(f: Any) -> int:
        tracemalloc.start()
        _, pullback = fg.vjp(f, np.ones(1000))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del pullback
        return size

    kept(fg.checkpoint(wide))
    assert kept(fg.checkpoint(wide)) < 0.2 * kept(wide)


def test_recomputation_is_not_merged_with_the_forward_pass() -> None:
    def deep(x: Any) -> Any:
        for _ in range(5):
            x = np.sin(x)
        return x

    def sines(f: Any) -> int:
        jitted: Any = fg.jit(fg.grad(lambda x: np.sum(f(x) ** 2)))
        return jitted.lower(np.ones(3)).as_text().count("stablehlo.sine")

    assert sines(fg.checkpoint(deep)) > sines(deep) >= 5


def test_square_root_checkpointing_saves_memory() -> None:
    """1,000 steps in 25 blocks: the residuals of 40 steps and 25 carries, instead of 1,000 steps."""
    w, x = RNG.normal(size=(64, 64)) / 8, np.ones(64)

    def steps(h: Any, count: int) -> Any:
        return fg.scan(lambda h, _: (np.tanh(w @ h), None), h, None, length=count)[0]

    def flat(x: Any) -> Any:
        return np.sum(steps(x, 1000))

    def blocks(x: Any) -> Any:
        block = fg.checkpoint(lambda h: steps(h, 40))
        return np.sum(fg.scan(lambda h, _: (block(h), None), x, None, length=25)[0])

    def peak(f: Any) -> int:
        run = fg.jit(fg.grad(f), engine="numpy")
        close(run(x), run(x))
        tracemalloc.start()
        run(x)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    close(fg.grad(blocks)(x), fg.grad(flat)(x))
    assert peak(blocks) < 0.15 * peak(flat)
    jitted: list[Any] = [fg.jit(fg.grad(f)) for f in (blocks, flat)]
    temporary = [f.lower(x).compile().memory_analysis().temp_size_in_bytes for f in jitted]
    assert temporary[0] < 0.25 * temporary[1]
