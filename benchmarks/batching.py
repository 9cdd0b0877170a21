"""Batching: per-example gradients and a sweep of training runs, against the Python loop and against JAX."""

import functools
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcgrad as fg
from benchmarks._timing import Case, Effort, Suite, interleave

EXAMPLES = 256
OURS, LOOP, PEER = "funcgrad", "Python loop", "JAX, jitted"


def per_example_gradients(suite: Suite, effort: Effort) -> None:
    """The gradient of an MLP's loss for each of 256 examples, eagerly on NumPy (float64)."""
    for sizes, limit in (((10, 16, 1), 50.0), ((32, 64, 10), None)):
        params, xs, ys = _problem(sizes)
        ours = functools.partial(fg.vmap(fg.grad(functools.partial(_loss, np)), in_axes=(None, 0, 0)), params, xs, ys)
        gradient = fg.grad(functools.partial(_loss, np))
        compiled = fg.jit(fg.vmap(gradient, in_axes=(None, 0, 0)), engine="numpy")
        with jax.enable_x64(True):
            arrays = jax.tree.map(jnp.asarray, (params, xs, ys))
            peer = jax.jit(jax.vmap(jax.grad(functools.partial(_loss, jnp)), in_axes=(None, 0, 0)))
            compiled_peer = peer.lower(*arrays).compile()
        contenders: dict[str, Callable[[], Any]] = {
            OURS: ours,
            LOOP: lambda gradient=gradient, p=params, xs=xs, ys=ys: [
                gradient(p, x, y) for x, y in zip(xs, ys, strict=True)
            ],
            "funcgrad, jitted on NumPy": functools.partial(compiled, params, xs, ys),
            PEER: lambda peer=compiled_peer, arrays=arrays: jax.block_until_ready(peer(*arrays)),
        }
        name = "-".join(map(str, sizes))
        limits = {} if limit is None else {LOOP: 1 / limit}
        samples = interleave(contenders, effort.at_most(30))
        suite.cases.append(Case(f"MLP {name}: {EXAMPLES} per-example gradients", samples, limits=limits))


def sweep(suite: Suite, effort: Effort) -> None:
    """Train a linear model for 20 steps under 64 learning rates, eagerly on NumPy (float64)."""
    rng = np.random.default_rng(0)
    xs, start, lrs = rng.normal(size=(32, 8)), np.zeros(8), np.linspace(0.001, 0.1, 64)
    ys = xs @ rng.normal(size=8)

    def train(lr: Any) -> Any:
        w, state = start, fg.sgd_init(start, lr=lr, momentum=0.9)
        for _ in range(20):
            w, state = fg.sgd_update(fg.grad(lambda w: np.mean((xs @ w - ys) ** 2))(w), state, w)
        return w

    contenders = {OURS: lambda: fg.vmap(train)(lrs), LOOP: lambda: [train(lr) for lr in lrs]}
    suite.cases.append(Case("20 steps of SGD under 64 learning rates", interleave(contenders, effort.at_most(15))))


CASES: dict[str, Callable[[Suite, Effort], None]] = {"gradients": per_example_gradients, "sweep": sweep}


def _problem(sizes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]
    return params, rng.normal(size=(EXAMPLES, sizes[0])), rng.normal(size=(EXAMPLES, sizes[-1]))


def _loss(xp: ModuleType, params: Any, x: Any, y: Any) -> Any:
    h = x
    for w, b in params[:-1]:
        h = xp.tanh(h @ w + b)
    w, b = params[-1]
    return xp.mean((h @ w + b - y) ** 2)
