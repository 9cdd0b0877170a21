"""The programs that `benchmarks.watch` times, one in a process: ``python benchmarks/_watched.py ROW``.

The process finds funcgrad on its path and imports nothing else of this tree, so any commit can be timed. It prints the
seconds of processor time of the first call, and those of a later call.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcgrad as fg

RNG = np.random.default_rng(0)
# A row makes a function without arguments. Its first call counts as a build, later calls as runs.
Row = Callable[[], Callable[[], Any]]


def _layers(count: int, width: int, dtype: type = np.float32) -> list[np.ndarray]:
    return [(RNG.normal(size=(width, width)) / width).astype(dtype) for _ in range(count)]


def _residual(weights: Any, x: Any) -> Any:
    for w in weights:
        x = x + np.tanh(x @ w)
    return np.mean(x**2)


def _step(engine: str, count: int, width: int) -> Callable[[], Any]:
    weights, x = _layers(count, width), RNG.normal(size=(32, width)).astype(np.float32)
    state = fg.sgd_init(weights, lr=0.01, momentum=0.9)

    @fg.jit(engine=engine)
    def step(weights: Any, state: Any, x: Any) -> Any:
        value, slopes = fg.value_and_grad(_residual)(weights, x)
        return value, *fg.sgd_update(slopes, state, weights)

    return lambda: step(weights, state, x)


def _attention(w: Any, x: Any) -> Any:
    for q, k, v, o in w:
        scores = (x @ q) @ (x @ k).T / 8.0
        scores = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        x = x + (scores / np.sum(scores, axis=1, keepdims=True)) @ (x @ v) @ o
    return np.mean(x**2)


def _attention_step() -> Callable[[], Any]:
    w = [tuple(_layers(4, 64)) for _ in range(4)]
    x = RNG.normal(size=(64, 64)).astype(np.float32)
    gradient = fg.jit(fg.grad(_attention))
    return lambda: gradient(w, x)


def _recurrence(x: Any) -> Any:
    y, total = 0.0, 0.0
    for i in range(1000):
        y = 0.9 * y + np.sin(x[i]) * y + x[i]
        total = total + y * y
    return total


def _mixed(x: Any) -> Any:
    for i in range(60):
        x = np.sin(x) * (0.5 + 0.001 * i * i) + 0.1 * np.sum(x * x[::-1])
    return np.sum(x)


def _heat(u: Any) -> Any:
    for _ in range(40):
        u = u + 0.1 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
    return np.sum(u**2)


def _filled(x: Any) -> Any:
    y = np.zeros((200, 3), like=x)
    for i in range(200):
        y[i] = x[i] * 2.0 + y[i - 1]
    return np.sum(y**2)


def _branching(x: Any) -> Any:
    total = x[0] * 0.0
    for i in range(10):
        total = total + (x[i] ** 2 if x[i] > 0 else -x[i])
    return total


def _scanned(x: Any) -> Any:
    def body(c: Any, v: Any) -> Any:
        return np.tanh(c * 0.9 + v), c

    return np.sum(fg.scan(body, np.zeros(4), x)[1] ** 2)


def _compiled(f: Any, engine: str, *shape: int, **options: Any) -> Callable[[], Any]:
    x = RNG.uniform(-0.1, 0.1, size=shape)
    gradient = fg.jit(fg.grad(f), engine=engine, **options)
    return lambda: gradient(x)


def _eager(f: Any, *shape: int) -> Callable[[], Any]:
    x, gradient = RNG.normal(size=shape), fg.grad(f)
    return lambda: gradient(x)


def _updates(count: int, size: int) -> Callable[[], Any]:
    params = [np.ones(size, np.float32) for _ in range(count)]
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    return lambda: fg.sgd_update(params, state, params)


def _network() -> Callable[[], Any]:
    weights, x = _layers(4, 16, np.float64), RNG.normal(size=(8, 16))
    gradient = fg.grad(_residual)
    return lambda: gradient(weights, x)


def _large_update() -> Callable[[], Any]:
    params = np.ones(1 << 24, np.float32)
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    update = fg.jit(fg.sgd_update)
    return lambda: update(params, state, params)


ROWS: dict[str, Row] = {
    "import": lambda: lambda: None,
    "eager: gradient of two operations": lambda: _eager(lambda x: np.sum(np.tanh(x) * x), 100),
    "eager: gradient of a small network": _network,
    "eager: Hessian": lambda: partial(fg.hessian(lambda x: np.sum(np.sin(x) * x)), np.ones(5)),
    "eager: batch of gradients": lambda: partial(fg.vmap(fg.grad(lambda x: np.sum(np.tanh(x) * x))), np.ones((50, 20))),
    "eager: an array filled by rows": lambda: _eager(_filled, 200, 3),
    "eager: sgd_update": lambda: _updates(2, 10),
    "eager: sgd_update, 200 tensors": lambda: _updates(200, 10),
    "xla: sgd_update, 16 M numbers": _large_update,
    "xla: step, 4 layers of 16": lambda: _step("xla", 4, 16),
    "xla: step, 60 layers of 32": lambda: _step("xla", 60, 32),
    "xla: step, 12 layers of 256": lambda: _step("xla", 12, 256),
    "xla: step, 60 layers of 256": lambda: _step("xla", 60, 256),
    "xla: attention, 4 layers": _attention_step,
    "xla: 60 rounds with sums, not rolled": lambda: _compiled(_mixed, "xla", 5, roll=False),
    "numpy: step, 4 layers of 16": lambda: _step("numpy", 4, 16),
    "numba: step, 4 layers of 16": lambda: _step("numba", 4, 16),
    "xla: recurrence of 1,000 rounds": lambda: _compiled(_recurrence, "xla", 1000),
    "numpy: recurrence of 1,000 rounds": lambda: _compiled(_recurrence, "numpy", 1000),
    "numba: recurrence of 1,000 rounds": lambda: _compiled(_recurrence, "numba", 1000),
    "xla: scan of 1,000 rounds": lambda: _compiled(_scanned, "xla", 1000, 4),
    "numba: stencil in a loop": lambda: _compiled(_heat, "numba", 500),
    "numpy: ten branches": lambda: _compiled(_branching, "numpy", 10, paths=8),
}


def _ready(y: Any) -> None:
    for leaf in fg.tree.leaves(y):
        wait = getattr(leaf, "block_until_ready", None)
        if wait is not None:
            wait()


def times(row: str) -> tuple[float, float]:
    """Return the processor seconds of the first call, with all that it loads, and the best seconds of a later call."""
    start = time.process_time()
    call = ROWS[row]()
    _ready(call())
    first = time.process_time() - start
    best, end = float("inf"), time.perf_counter() + 0.3
    while time.perf_counter() < end:
        start = time.perf_counter()
        _ready(call())
        best = min(best, time.perf_counter() - start)
    return first, best


if __name__ == "__main__":
    if sys.argv[1] == "import":
        # The interpreter, NumPy and funcgrad.
        print(json.dumps([time.process_time(), time.process_time()]))
    else:
        print(json.dumps(times(sys.argv[1])))
