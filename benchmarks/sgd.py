"""One step of SGD (Nesterov momentum and weight decay, float32) on large, usual and many small parameters."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import optax
import torch

import funcgrad as fg
from benchmarks._resnet import resnet50_shapes
from benchmarks._timing import Case, Check, Effort, Suite, interleave, interleave_once

OPTIONS: dict[str, Any] = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4, "nesterov": True}
OURS = "funcgrad"
Shapes = Sequence[tuple[int, ...]]


def _arrays(shapes: Shapes, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def _on_device(shapes: Shapes, seed: int) -> list[Any]:
    return [jax.device_put(x) for x in _arrays(shapes, seed)]


def _jitted(update: Callable[..., Any], grads: Any, state: Any, params: Any) -> Callable[[], Any]:
    """A loop that hands on parameters and state, waiting for each step."""

    def step() -> Any:
        nonlocal state, params
        params, state = update(grads, state, params)
        return jax.block_until_ready((params, state))[0]

    return step


def _ours(shapes: Shapes, *, packed: bool) -> Callable[[], Any]:
    params, grads = _on_device(shapes, 0), _on_device(shapes, 1)
    if packed:
        params, grads = fg.tree.ravel(params), fg.tree.ravel(grads)
    update = fg.jit(lambda *args: fg.sgd_update(*args), donate_argnums=(1, 2))
    return _jitted(update, grads, fg.sgd_init(params, **OPTIONS), params)


def _numpy(shapes: Shapes) -> Callable[[], Any]:
    params, grads = _arrays(shapes, 0), _arrays(shapes, 1)
    state = fg.sgd_init(params, **OPTIONS)

    def step() -> Any:
        nonlocal state, params
        params, state = fg.sgd_update(grads, state, params)
        return params

    return step


def _donated(shapes: Shapes, engine: str) -> Callable[[], Any]:
    """Return a compiled step of NumPy arrays that writes over parameters and buffers."""
    params, grads = _arrays(shapes, 0), _arrays(shapes, 1)
    state = fg.sgd_init(params, **OPTIONS)
    update = fg.jit(lambda *args: fg.sgd_update(*args), engine=engine, donate_argnums=(1, 2))

    def step() -> Any:
        nonlocal state, params
        params, state = update(grads, state, params)
        return params

    return step


def _optax_sgd() -> Any:
    return optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.01, momentum=0.9, nesterov=True))


def _optax_update(optimizer: Any) -> Any:
    def update(grads: Any, state: Any, params: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    return jax.jit(update, donate_argnums=(1, 2))


def _optax(shapes: Shapes) -> Callable[[], Any]:
    params, optimizer = _on_device(shapes, 0), _optax_sgd()
    return _jitted(_optax_update(optimizer), _on_device(shapes, 1), optimizer.init(params), params)


def _torch(shapes: Shapes, **kind: bool) -> Callable[[], Any]:
    params = [torch.tensor(x, requires_grad=True) for x in _arrays(shapes, 0)]
    for p, g in zip(params, _arrays(shapes, 1), strict=True):
        p.grad = torch.tensor(g)
    optimizer = torch.optim.SGD(params, **OPTIONS, **kind)

    def step() -> Any:
        optimizer.step()
        return params

    return step


def _flat(params: Any) -> np.ndarray:
    params = params.unpack() if isinstance(params, fg.tree.Packed) else params
    return np.concatenate([np.ravel(x.detach().numpy() if isinstance(x, torch.Tensor) else x)[:1000] for x in params])


def measure(name: str, shapes: Shapes, limits: dict[str, float], suite: Suite, effort: Effort) -> None:
    """See that all contenders take the same three steps, then time them."""
    many = len(shapes) >= 1000
    steps = {
        OURS: _ours(shapes, packed=many),
        "optax": _optax(shapes),
        "torch foreach": _torch(shapes, foreach=True),
        "torch fused": _torch(shapes, fused=True),
        "funcgrad on NumPy": _numpy(shapes),
    }
    if many:
        steps["funcgrad, not packed"] = _ours(shapes, packed=False)
    for _ in range(3):
        results = {contender: _flat(step()) for contender, step in steps.items()}
    for found in results.values():
        np.testing.assert_allclose(found, results["torch fused"], rtol=1e-4, atol=1e-6)
    suite.cases.append(Case(name, interleave(steps, effort.at_most(40)), ours=OURS, limits=limits))


def measure_donated(name: str, shapes: Shapes, engine: str, limit: float, suite: Suite, effort: Effort) -> None:
    """See that a donated step on an engine that writes source is PyTorch's, then time it."""
    ours = f"funcgrad, {engine}"
    steps = {ours: _donated(shapes, engine), "torch fused": _torch(shapes, fused=True)}
    for _ in range(3):
        results = {contender: _flat(step()) for contender, step in steps.items()}
    np.testing.assert_allclose(results[ours], results["torch fused"], rtol=1e-4, atol=1e-6)
    samples = interleave(steps, effort.at_most(40))
    suite.cases.append(Case(f"{name}: donated, {engine}", samples, ours=ours, limits={"torch fused": limit}))


def measure_build(suite: Suite, effort: Effort) -> None:
    """Time tracing and compiling the update of a thousand leaves."""
    shapes = [(1000,)] * 1000
    optimizer = _optax_sgd()
    params = _on_device(shapes, 0)
    packed = fg.tree.ravel(params)
    states = {OURS: fg.sgd_init(packed, **OPTIONS), "not packed": fg.sgd_init(params, **OPTIONS)}
    optax_state = optimizer.init(params)

    def ours(given: Any, state: Any) -> float:
        update: Any = fg.jit(lambda *args: fg.sgd_update(*args), donate_argnums=(1, 2))
        return _seconds(lambda: update.lower(given, state, given).compile())

    contenders = {
        OURS: lambda: ours(packed, states[OURS]),
        "optax": lambda: _seconds(lambda: _optax_update(optimizer).lower(params, optax_state, params).compile()),
        "funcgrad, not packed": lambda: ours(params, states["not packed"]),
    }
    samples = interleave_once(contenders, effort.at_most(5).rounds)
    suite.cases.append(Case("1,000 leaves: trace + compile", samples, ours=OURS, limits={"optax": 0.5}))


def _seconds(build: Callable[[], Any]) -> float:
    jax.clear_caches()
    start = time.perf_counter()
    build()
    return time.perf_counter() - start


def measure_memory(suite: Suite, effort: Effort) -> None:
    """What a donated step holds at its peak, over parameters, gradients and buffers."""
    for name, shapes in {"one leaf": [(16_000_000,)], "ResNet-50": resnet50_shapes()}.items():
        params = _on_device(shapes, 0)
        update: Any = fg.jit(fg.sgd_update, donate_argnums=(1, 2))
        memory = update.lower(params, fg.sgd_init(params, **OPTIONS), params).compile().memory_analysis()
        held = 3 * sum(x.nbytes for x in params)
        peak = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
        peak += memory.temp_size_in_bytes
        suite.checks.append(Check(f"{name}: peak memory of a donated step", peak / held, "x what it must hold", 1.1))
    del effort


def measure_rows(suite: Suite, effort: Effort) -> None:
    """A step in 1,000 rows of a table of 64 columns: the time does not depend on the height of the table."""
    steps = {f"{height:,} rows": _row_step(height) for height in (1_000_000, 10_000)}
    suite.cases.append(
        Case(
            "1,000 of 1,000,000 rows",
            interleave(steps, effort.at_most(40)),
            ours="1,000,000 rows",
            limits={"10,000 rows": 2.0},
        )
    )


def _row_step(height: int) -> Callable[[], Any]:
    table = jax.device_put(np.zeros((height, 64), np.float32))
    rng = np.random.default_rng(0)
    values = jax.device_put(rng.standard_normal((1000, 64), np.float32))
    rows = fg.sparse.Rows(jax.device_put(rng.integers(0, height, 1000).astype(np.int32)), values, (height, 64))
    update = fg.jit(lambda *args: fg.sgd_update(*args), donate_argnums=(1, 2))
    return _jitted(update, rows, fg.sgd_init(table, lr=0.01), table)


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "16 M in one leaf": lambda suite, effort: measure(
        "one leaf of 16 M", [(16_000_000,)], {"optax": 0.45, "torch fused": 2.0}, suite, effort
    ),
    "ResNet-50": lambda suite, effort: measure(
        "ResNet-50, 161 tensors", resnet50_shapes(), {"optax": 0.45, "torch fused": 1.9}, suite, effort
    ),
    "1,000 small": lambda suite, effort: measure(
        "1,000 tensors of 1,000", [(1000,)] * 1000, {"optax": 0.08, "torch fused": 0.2}, suite, effort
    ),
    "16 M, donated": lambda suite, effort: measure_donated(
        "one leaf of 16 M", [(16_000_000,)], "numpy", 2.0, suite, effort
    ),
    "ResNet-50, donated": lambda suite, effort: measure_donated(
        "ResNet-50, 161 tensors", resnet50_shapes(), "numba", 1.15, suite, effort
    ),
    "rows": measure_rows,
    "memory": measure_memory,
    "build": measure_build,
}
