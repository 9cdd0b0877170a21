"""Eager gradients of small functions, where the time is the tracer's own: two 2-vectors, and a small MLP."""

from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import autograd
import autograd.numpy as anp
import autograd.scipy.linalg
import jax
import jax.numpy as jnp
import numpy as np
import torch

import funcgrad as fg
from benchmarks._timing import Case, Effort, Suite, interleave

# On two threads PyTorch is a sixth slower here, and hundreds of times slower when another process wants a core.
TORCH_THREADS = 1
ONE_THREAD = "PyTorch runs on one thread: its best for arrays this small."
LAYER_SIZES = (64, 32, 32, 10)
BATCH = 8


def two_vectors(suite: Suite, effort: Effort) -> None:
    """Differentiate `sum(3 a^3 - b^2)` by both of its 2-vectors (float64)."""

    def loss(a: Any, b: Any) -> Any:
        return np.sum(3 * a**3 - b**2)

    def autograd_loss(a: Any, b: Any) -> Any:
        return anp.sum(3 * a**3 - b**2)

    def jax_loss(a: Any, b: Any) -> Any:
        return jnp.sum(3 * a**3 - b**2)

    def torch_gradient() -> Any:
        leaf_a.grad = leaf_b.grad = None
        torch.sum(3 * leaf_a**3 - leaf_b**2).backward()
        return leaf_a.grad, leaf_b.grad

    a, b = np.array([2.0, 3.0]), np.array([6.0, 4.0])
    leaf_a, leaf_b = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    ours = fg.grad(loss, argnums=(0, 1))
    peer = autograd.grad(autograd_loss, argnum=(0, 1))
    contenders: dict[str, Callable[[], Any]] = {
        "funcgrad": lambda: ours(a, b),
        "autograd": lambda: peer(a, b),
        "PyTorch": torch_gradient,
        "JAX, eager": _in_64_bit(jax.grad(jax_loss, argnums=(0, 1)), a, b),
        "NumPy, forward only": lambda: loss(a, b),
    }
    _check_gradients((9 * a**2, -2 * b), contenders)
    limits = {"autograd": 0.30, "PyTorch": 0.50}
    suite.cases.append(Case("sum(3*a**3 - b**2)", interleave(contenders, effort), limits=limits))
    suite.notes.append(ONE_THREAD)


def mlp(suite: Suite, effort: Effort) -> None:
    """Differentiate a 64-32-32-10 tanh MLP with softmax cross-entropy on 8 rows by its list of (w, b) (float64)."""
    params, x, targets, labels = _mlp_data()
    loss = _mlp_loss(np)
    ours = fg.grad(loss)
    peer = autograd.grad(_mlp_loss(anp))
    forward, fused = _torch_mlp(params, x, targets, labels)
    contenders: dict[str, Callable[[], Any]] = {
        "funcgrad": lambda: ours(params, x, targets),
        "autograd": lambda: peer(params, x, targets),
        "PyTorch, same formula": forward,
        "PyTorch, F.cross_entropy": fused,
        "JAX, eager": _in_64_bit(jax.grad(_mlp_loss(jnp)), params, x, targets),
        "NumPy, forward only": lambda: loss(params, x, targets),
    }
    _check_gradients(peer(params, x, targets), contenders)
    limits = {"autograd": 0.45, "PyTorch, same formula": 0.80}
    suite.cases.append(Case("MLP 64-32-32-10, batch 8", interleave(contenders, effort), limits=limits))


def gaussian_process(suite: Suite, effort: Effort) -> None:
    """Differentiate the likelihood of a Gaussian process of 200 points, with BLAS's own number of threads (float64)."""
    rng = np.random.default_rng(0)
    points, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    squares = np.sum((points[:, None] - points) ** 2, axis=-1)
    params = np.array([0.0, 0.3, -1.0])
    ours = fg.value_and_grad(_likelihood(np, fg.scipy.linalg, squares, y))
    peer = autograd.value_and_grad(_likelihood(anp, autograd.scipy.linalg, squares, y))
    contenders = {"funcgrad": lambda: ours(params), "autograd": lambda: peer(params)}
    _check_gradients(ours(params)[1:], {"autograd": lambda: peer(params)[1:]})
    suite.cases.append(Case("Gaussian process, n = 200", interleave(contenders, effort), limits={"autograd": 0.5}))


def _likelihood(xp: ModuleType, linalg: ModuleType, squares: np.ndarray, y: np.ndarray) -> Callable[[Any], Any]:
    """Return the negative log marginal likelihood up to a constant, as written for `xp`."""

    def loss(params: Any) -> Any:
        covariance = xp.exp(2 * params[0] - 0.5 * squares * xp.exp(-2 * params[1]))
        factor = xp.linalg.cholesky(covariance + xp.exp(2 * params[2]) * xp.eye(len(y)))
        whitened = linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * whitened @ whitened + xp.sum(xp.log(xp.diag(factor)))

    return loss


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "two vectors": two_vectors,
    "mlp": mlp,
    "gaussian process": gaussian_process,
}


def _mlp_loss(xp: ModuleType) -> Callable[[Any, Any, Any], Any]:
    """Return the loss as written for `xp`: NumPy for us, and each peer's copy of it."""

    def loss(params: Any, x: Any, targets: Any) -> Any:
        for w, b in params[:-1]:
            x = xp.tanh(x @ w + b)
        w, b = params[-1]
        logits = x @ w + b
        logits = logits - xp.max(logits, axis=1, keepdims=True)
        log_p = logits - xp.log(xp.sum(xp.exp(logits), axis=1, keepdims=True))
        return -xp.mean(xp.sum(log_p * targets, axis=1))

    return loss


def _torch_mlp(params: Any, x: Any, targets: Any, labels: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return PyTorch's gradient twice: with our formula spelled out, and with its fused cross-entropy."""
    leaves = [(torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True)) for w, b in params]
    rows, target_rows, classes = torch.tensor(x), torch.tensor(targets), torch.tensor(labels)

    def logits() -> Any:
        h = rows
        for w, b in leaves:
            w.grad = b.grad = None
        for w, b in leaves[:-1]:
            h = torch.tanh(h @ w + b)
        w, b = leaves[-1]
        return h @ w + b

    def gradients(loss: Any) -> Any:
        loss.backward()
        return [(w.grad, b.grad) for w, b in leaves]

    def spelled_out() -> Any:
        z = logits()
        z = z - torch.amax(z, dim=1, keepdim=True)
        log_p = z - torch.log(torch.sum(torch.exp(z), dim=1, keepdim=True))
        return gradients(-torch.mean(torch.sum(log_p * target_rows, dim=1)))

    return spelled_out, lambda: gradients(torch.nn.functional.cross_entropy(logits(), classes))


def _mlp_data() -> tuple[Any, Any, Any, Any]:
    """Return float64 parameters, rows, one-hot targets and labels."""
    rng = np.random.default_rng(0)
    pairs = pairwise(LAYER_SIZES)
    params = [(rng.normal(size=(n, m)) / n**0.5, rng.normal(size=m) * 0.1) for n, m in pairs]
    labels = rng.integers(0, LAYER_SIZES[-1], BATCH)
    return params, rng.normal(size=(BATCH, LAYER_SIZES[0])), np.eye(LAYER_SIZES[-1])[labels], labels


def _in_64_bit(gradient: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Return JAX's gradient of float64 arguments that it already holds; it waits for the result."""
    with jax.enable_x64(True):
        arrays = jax.tree.map(jnp.asarray, args)

    def call() -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready(gradient(*arrays))

    return call


def _check_gradients(expected: Any, contenders: dict[str, Callable[[], Any]]) -> None:
    """Raise where a contender's gradient differs: what is not equal is not worth timing."""
    wanted = jax.tree.leaves(expected)
    for name, call in contenders.items():
        if name.endswith("forward only"):
            continue
        for want, got in zip(wanted, jax.tree.leaves(call()), strict=True):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-12, err_msg=name)
