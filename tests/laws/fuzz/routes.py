"""The ways to run a program. All must give NumPy's values.

A route is given the program as a function of one pytree (whose leaves are differentiable where the route needs it),
and the pytree; it returns the list of results.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import jax
import numpy as np

import funcgrad as fg
from tests.laws.fuzz.compare import same

Function = Callable[[Any], list[Any]]


class Route(NamedTuple):
    """``run(f, tree, rng)``. ``all_leaves``: integers and bools are traced, too. ``weight``: the relative frequency."""

    name: str
    run: Callable[[Function, Any, Random], list[Any]]
    weight: float
    all_leaves: bool = False
    xla: bool = False


def zeros(tree: Any) -> Any:
    return fg.tree.map(np.zeros_like, tree)


def tangents(tree: Any, rng: Random) -> Any:
    """Draw random numbers of the leaves' types."""
    return fg.tree.map(lambda x: direction(x, rng), tree)


def direction(x: Any, rng: Random) -> Any:
    dtype = np.asarray(x).dtype
    draw = lambda: np.array([round(rng.gauss(0, 1), 2) for _ in range(np.size(x))]).reshape(np.shape(x))
    numbers = draw() + 1j * draw() if dtype.kind == "c" else draw()
    return np.asarray(numbers).astype(dtype)[()] if not np.shape(x) else np.asarray(numbers).astype(dtype)


def on_jax(tree: Any) -> Any:
    with jax.enable_x64(True):
        return fg.tree.map(lambda x: jax.numpy.asarray(x) if hasattr(x, "dtype") else x, tree)


def _on_jax(f: Function, tree: Any, rng: Random) -> list[Any]:
    """Run in JAX's 64-bit mode. Outside of it JAX's next operation would give 32 bits."""
    del rng
    with jax.enable_x64(True):
        return fg.vjp(f, on_jax(tree))[0]


def _vmap_on_jax(f: Function, tree: Any, rng: Random) -> list[Any]:
    with jax.enable_x64(True):
        return _vmap(f, tree, rng, on_jax)


def _vmap(f: Function, tree: Any, rng: Random, place: Callable[[Any], Any] = lambda tree: tree) -> list[Any]:
    """Run a batch of the same example twice."""
    del rng
    stacked = fg.tree.map(lambda x: np.stack([x, x]), tree)
    both = fg.vmap(f)(place(stacked))
    for y in both:
        first, second = np.asarray(y[0]), np.asarray(y[1])
        # BLAS decides the last bits of a product, and may use another kernel for another memory address.
        if not same(first, second, 0.01):
            raise BatchError(first, second)
    return [y[0] for y in both]


class BatchError(Exception):
    """Raised if two equal examples in a batch have different results."""

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        super().__init__(f"the same example twice gives {first} and {second}")
        self.pair = first, second


def _jit(f: Function, tree: Any, rng: Random) -> list[Any]:
    del rng
    return fg.jit(f)(tree)


ROUTES = (
    Route("vjp", lambda f, t, rng: fg.vjp(f, t)[0], 1.0),
    Route("jvp", lambda f, t, rng: fg.jvp(f, (t,), (tangents(t, rng),))[0], 0.5),
    Route("linearize", lambda f, t, rng: fg.linearize(f, t)[0], 0.15),
    Route("jit numpy", lambda f, t, rng: fg.jit(f, engine="numpy")(t), 0.6, all_leaves=True),
    Route("graph", lambda f, t, rng: fg.make_graph(f)(t)(t), 0.15, all_leaves=True),
    Route("vmap", _vmap, 0.3, all_leaves=True),
    Route("checkpoint", lambda f, t, rng: fg.vjp(fg.checkpoint(f), t)[0], 0.08),
    Route("vjp of jit numpy", lambda f, t, rng: fg.vjp(fg.jit(f, engine="numpy"), t)[0], 0.1),
    Route("vmap of vjp", lambda f, t, rng: _vmap(lambda t: fg.vjp(f, t)[0], t, rng), 0.1),
    Route("jit", _jit, 0.07, all_leaves=True, xla=True),
    Route("vjp on jax", _on_jax, 0.04, xla=True),
    Route("vmap on jax", _vmap_on_jax, 0.01, all_leaves=True, xla=True),
    Route("vjp of jit", lambda f, t, rng: fg.vjp(fg.jit(f), t)[0], 0.03, xla=True),
)
