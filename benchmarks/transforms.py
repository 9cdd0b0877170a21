"""Fourier transforms, second order, scans, checkpoints: eager Hessian-vector products, jitted loops, their memory."""

import functools
import time
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcgrad as fg
from benchmarks._timing import Case, Check, Effort, Suite, interleave, interleave_once

OURS, PEER = "funcgrad", "JAX"
STEPS, BLOCKS = 1000, 25


def hessian_vector_product(suite: Suite, effort: Effort) -> None:
    """Multiply the Hessian of an MLP's loss with a direction, eagerly on NumPy, against the loss itself (float64)."""
    for sizes, batch in (((784, 256, 128, 10), 128), ((784, 64, 10), 128), ((784, 64, 10), 1024)):
        params, loss = _mlp(sizes, batch)
        rng = np.random.default_rng(1)
        direction = fg.tree.map(lambda x, rng=rng: rng.normal(size=x.shape), params)
        product = fg.jit(lambda p, d, loss=loss: fg.hvp(loss, (p,), (d,)), engine="numpy")
        contenders: dict[str, Callable[[], Any]] = {
            "hvp": lambda loss=loss, p=params, d=direction: fg.hvp(loss, (p,), (d,)),
            "hvp, jitted on NumPy": functools.partial(product, params, direction),
            "gradient": functools.partial(fg.grad(loss), params),
            "the function": functools.partial(loss, params),
        }
        name = f"MLP {'-'.join(map(str, sizes))}, batch {batch}"
        samples = interleave(contenders, effort)
        suite.cases.append(Case(f"{name}: hvp", samples, ours="hvp", limits={"the function": 3.5}))
        flops = fg.make_graph(lambda p, d, loss=loss: fg.hvp(loss, (p,), (d,)))(params, direction).flops
        ratio = flops / fg.make_graph(loss)(params).flops
        suite.notes.append(f"{name}: the product takes {ratio:.2f} times the function's floating-point operations.")


def scan(suite: Suite, effort: Effort) -> None:
    """Run and build the jitted gradient of an RNN of 1,000 steps, scanned (float32)."""
    params, xs = _rnn_data()
    sides = {
        OURS: lambda: fg.jit(fg.value_and_grad(functools.partial(_rnn_loss, np, fg.scan))),
        PEER: lambda: jax.jit(jax.value_and_grad(functools.partial(_rnn_loss, jnp, jax.lax.scan))),
    }
    runs = {name: functools.partial(_wait, build(), params, xs) for name, build in sides.items()}
    _check_equal(runs)
    suite.cases.append(Case("scan of 1,000 steps: run", interleave(runs, effort), limits={PEER: 1.05}))
    builds = {name: functools.partial(_first_call, build, params, xs) for name, build in sides.items()}
    samples = interleave_once(builds, effort.at_most(11).rounds)
    suite.cases.append(Case("scan of 1,000 steps: trace + compile", samples, limits={PEER: 1.10}))


def checkpoint(suite: Suite, effort: Effort) -> None:
    """Compare what the gradient of 1,000 checkpointed steps, 25 blocks of 40, needs in temporary memory (float32)."""
    params, xs = _rnn_data()
    ours = fg.jit(fg.grad(functools.partial(_blocks_loss, np, fg.scan, fg.checkpoint)))
    peer = jax.jit(jax.grad(functools.partial(_blocks_loss, jnp, jax.lax.scan, jax.checkpoint)))
    plain = fg.jit(fg.grad(functools.partial(_rnn_loss, np, fg.scan)))
    _check_equal({OURS: functools.partial(_wait, ours, params, xs), PEER: functools.partial(_wait, peer, params, xs)})
    sizes = {name: _temporary(f, params, xs) for name, f in {OURS: ours, PEER: peer, "plain": plain}.items()}
    suite.checks.append(Check("checkpointed scan: temporary memory / JAX's", sizes[OURS] / sizes[PEER], "x", 1.3))
    suite.checks.append(Check("checkpointed scan / plain scan: temporary memory", sizes[OURS] / sizes["plain"], "x"))
    runs = {OURS: functools.partial(_wait, ours, params, xs), PEER: functools.partial(_wait, peer, params, xs)}
    suite.cases.append(Case("checkpointed scan of 1,000 steps: run", interleave(runs, effort), limits={PEER: 1.05}))


def fourier(suite: Suite, effort: Effort) -> None:
    """Transform 2**20 values and pull a cotangent back, eagerly on NumPy, against the transform itself (float64)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2**20)
    z, half = x + 1j * x[::-1], np.fft.rfft(x[::-1])
    cases = {"fft": (np.fft.fft, z, z[::-1]), "fft of real values": (np.fft.fft, x, z), "rfft": (np.fft.rfft, x, half)}
    for name, (f, primal, cotangent) in cases.items():
        contenders: dict[str, Callable[[], Any]] = {
            "with its gradient": functools.partial(_pulled, f, primal, cotangent),
            "the function": functools.partial(f, primal),
        }
        samples = interleave(contenders, effort)
        limits = {"the function": 2.2}
        suite.cases.append(Case(f"{name}, 2**20 values", samples, ours="with its gradient", limits=limits))


def _pulled(f: Callable[..., Any], primal: Any, cotangent: Any) -> Any:
    y, pull = fg.vjp(f, primal)
    return y, pull(cotangent)


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "fourier": fourier,
    "hvp": hessian_vector_product,
    "scan": scan,
    "checkpoint": checkpoint,
}


def _mlp(sizes: tuple[int, ...], batch: int) -> tuple[Any, Callable[[Any], Any]]:
    """Return parameters and the softmax cross-entropy of a tanh MLP."""
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(n, m)) / n**0.5, rng.normal(size=m) * 0.1) for n, m in pairwise(sizes)]
    x, targets = rng.normal(size=(batch, sizes[0])), np.eye(sizes[-1])[rng.integers(0, sizes[-1], batch)]

    def loss(params: Any) -> Any:
        h = x
        for w, b in params[:-1]:
            h = np.tanh(h @ w + b)
        w, b = params[-1]
        logits = h @ w + b
        logits = logits - np.max(logits, axis=1, keepdims=True)
        log_p = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
        return -np.mean(np.sum(log_p * targets, axis=1))

    return params, loss


def _rnn_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(64, 64)) / 8, "u": rng.normal(size=(32, 64)) / 6, "b": np.zeros(64)}
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), (params, rng.normal(size=(STEPS, 16, 32))))


def _step(xp: ModuleType, params: Any, h: Any, x: Any) -> Any:
    return xp.tanh(h @ params["w"] + x @ params["u"] + params["b"])


def _rnn_loss(xp: ModuleType, scan: Any, params: Any, xs: Any) -> Any:
    h0 = xp.zeros((16, 64), dtype=np.float32)
    h, norms = scan(lambda h, x: (_step(xp, params, h, x), xp.mean(h * h)), h0, xs)
    return xp.mean(norms) + xp.mean(h)


def _blocks_loss(xp: ModuleType, scan: Any, checkpoint: Any, params: Any, xs: Any) -> Any:
    def block(h: Any, xs: Any) -> Any:
        h, norms = scan(lambda h, x: (_step(xp, params, h, x), xp.mean(h * h)), h, xs)
        return h, xp.mean(norms)

    h0 = xp.zeros((16, 64), dtype=np.float32)
    h, means = scan(checkpoint(block), h0, xs.reshape(BLOCKS, STEPS // BLOCKS, 16, 32))
    return xp.mean(means) + xp.mean(h)


def _wait(f: Callable[..., Any], *args: Any) -> Any:
    return jax.block_until_ready(f(*args))


def _first_call(build: Callable[[], Callable[..., Any]], *args: Any) -> float:
    """Return the seconds of the first call of a freshly built function, all of JAX's caches being empty."""
    jax.clear_caches()
    f = build()
    start = time.perf_counter()
    _wait(f, *args)
    return time.perf_counter() - start


def _temporary(f: Any, *args: Any) -> int:
    """Return the bytes that the compiled program takes beside its arguments and results."""
    return f.lower(*args).compile().memory_analysis().temp_size_in_bytes


def _check_equal(runs: dict[str, Callable[[], Any]]) -> None:
    """Raise where the two sides differ: what is not equal is not worth timing."""
    for got, want in zip(jax.tree.leaves(runs[OURS]()), jax.tree.leaves(runs[PEER]()), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=2e-3, atol=1e-6)
