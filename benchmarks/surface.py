"""NumPy's surface: functions on small plain arrays and convolutions, beside their peers."""

import statistics
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import funcgrad as fg
import funcgrad.numpy as fnp
from benchmarks._timing import Case, Check, Effort, Suite, interleave
from funcgrad import nn

X, Y, M = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.9]), 2 * np.eye(3) + 0.1
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        [
            "sin",
            "cos",
            "tanh",
            "exp",
            "log",
            "sqrt",
            "abs",
            "negative",
            "square",
            "sign",
            "floor",
            "isnan",
            "reciprocal",
            "log1p",
        ],
        (X,),
    ),
    **dict.fromkeys(
        ["sum", "prod", "mean", "std", "var", "max", "min", "argmax", "median", "any", "all", "nansum", "ptp"], (X,)
    ),
    **dict.fromkeys(["sort", "argsort", "cumsum", "diff", "ravel", "flip", "round", "squeeze", "nan_to_num"], (X,)),
    **dict.fromkeys(
        ["add", "subtract", "multiply", "divide", "power", "maximum", "arctan2", "hypot", "greater", "equal"], (X, Y)
    ),
    **dict.fromkeys(["dot", "inner", "outer", "cross", "kron", "vdot"], (X, Y)),
    **dict.fromkeys(["transpose", "trace", "diagonal", "tril"], (M,)),
    "matmul": (M, X),
    "einsum": ("i,i->", X, Y),
    "tensordot": (X, Y, 1),
    "where": (X > Y, X, Y),
    "clip": (X, 1.0, 2.0),
    "concatenate": ([X, Y],),
    "stack": ([X, Y],),
    "reshape": (X, (3, 1)),
    "take": (X, np.array([2, 0, 1])),
    "repeat": (X, 2),
    "roll": (X, 1),
    "pad": (X, 1),
    "broadcast_to": (X, (2, 3)),
    "interp": (Y, X, Y),
    "quantile": (X, 0.5),
    "zeros": (3,),
    "ones_like": (X,),
    "linspace": (0.0, 1.0, 5),
    "array": ([1.0, 2.0],),
}


def plain_arrays(suite: Suite, effort: Effort) -> None:
    """Call `funcgrad.numpy`'s functions on untraced arrays of three numbers, and NumPy's own."""
    ratios: dict[str, float] = {}
    for name, args in CALLS.items():
        ours, numpys = getattr(fnp, name), getattr(np, name)
        np.testing.assert_array_equal(ours(*args), numpys(*args))
        contenders: dict[str, Callable[[], Any]] = {
            "funcgrad": lambda call=ours, args=args: call(*args),
            "NumPy": lambda call=numpys, args=args: call(*args),
        }
        samples = interleave(contenders, effort.at_most(10))
        ratios[name] = samples["funcgrad"].ratio_to(samples["NumPy"])
    slowest = max(ratios, key=ratios.__getitem__)
    suite.checks.append(
        Check(f"median of {len(ratios)} functions over NumPy's", statistics.median(ratios.values()), "x", 1.5)
    )
    suite.checks.append(Check(f"slowest of them ({slowest})", ratios[slowest], "x", 2.0))


def convolutions(suite: Suite, effort: Effort) -> None:
    """Differentiate LeNet's two convolutions, with the pools between, of a batch of 32 images of 28 x 28."""
    rng = np.random.default_rng(0)
    images: Any = rng.normal(size=(32, 1, 28, 28)).astype(np.float32)
    kernels = [rng.normal(size=shape, scale=0.1).astype(np.float32) for shape in ((6, 1, 5, 5), (16, 6, 5, 5))]

    def loss(kernels: Any) -> Any:
        y = nn.max_pool2d(np.maximum(nn.conv2d(images, kernels[0], padding=2), 0), 2)
        return np.sum(np.maximum(nn.conv2d(y, kernels[1]), 0) ** 2)

    def jax_loss(kernels: Any) -> Any:
        y = jax.lax.conv_general_dilated(images, kernels[0], (1, 1), ((2, 2), (2, 2)))
        pooled = jax.lax.reduce_window(jnp.maximum(y, 0), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        y = jax.lax.conv_general_dilated(pooled, kernels[1], (1, 1), ((0, 0), (0, 0)))
        return jnp.sum(jnp.maximum(y, 0) ** 2)

    gradient = fg.grad(loss)
    compiled, on_numpy, by_jax = fg.jit(gradient), fg.jit(gradient, engine="numpy"), jax.jit(jax.grad(jax_loss))
    contenders: dict[str, Callable[[], Any]] = {
        "funcgrad": lambda: gradient(kernels),
        "funcgrad, NumPy engine": lambda: on_numpy(kernels),
        "funcgrad, XLA": lambda: jax.block_until_ready(compiled(kernels)),
        "PyTorch": _lenet_in_torch(images, kernels),
        "JAX": lambda: jax.block_until_ready(by_jax(kernels)),
    }
    expected = gradient(kernels)
    for call in contenders.values():
        for found, each in zip(call(), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), each, rtol=2e-4, atol=2e-3)
    samples = interleave(contenders, effort.at_most(40))
    suite.cases.append(Case("LeNet's convolutions, eager", samples, limits={"PyTorch": 1.5}))
    suite.cases.append(Case("LeNet's convolutions, XLA", samples, ours="funcgrad, XLA", limits={"JAX": 1.05}))


def random_numbers(suite: Suite, effort: Effort) -> None:
    """Draw a million numbers of the same keys, on NumPy, by `fg.jit` and by JAX (float32)."""
    key, theirs, shape = fg.random.key(0), jax.random.key(0), (10**6,)
    third = np.float32(0.3)
    draws: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
        "uniform": (lambda k: fg.random.uniform(k, shape, "f4"), lambda k: jax.random.uniform(k, shape), 0),
        "normal": (lambda k: fg.random.normal(k, shape, "f4"), lambda k: jax.random.normal(k, shape), 1e-5),
        "randint": (
            lambda k: fg.random.randint(k, shape, 0, 1000, "i4"),
            lambda k: jax.random.randint(k, shape, 0, 1000),
            0,
        ),
        "bernoulli": (
            lambda k: fg.random.bernoulli(k, third, shape),
            lambda k: jax.random.bernoulli(k, third, shape),
            0,
        ),
    }
    for name, (draw, peer, tolerance) in draws.items():
        compiled, by_jax = fg.jit(draw), jax.jit(peer)
        contenders: dict[str, Callable[[], Any]] = {
            "funcgrad": lambda draw=draw: draw(key),
            "funcgrad, XLA": lambda compiled=compiled: jax.block_until_ready(compiled(key)),
            "JAX": lambda by_jax=by_jax: jax.block_until_ready(by_jax(theirs)),
        }
        expected = np.asarray(contenders["JAX"]())
        for call in contenders.values():
            np.testing.assert_allclose(np.asarray(call()), expected, rtol=tolerance, atol=tolerance)
        samples = interleave(contenders, effort.at_most(40))
        suite.cases.append(Case(f"random.{name} of 1,000,000, eager", samples))
        suite.cases.append(
            Case(f"random.{name} of 1,000,000, XLA", samples, ours="funcgrad, XLA", limits={"JAX": 1.05})
        )


def _lenet_in_torch(images: np.ndarray, kernels: list[np.ndarray]) -> Callable[[], Any]:
    inputs, leaves = torch.tensor(images), [torch.tensor(kernel, requires_grad=True) for kernel in kernels]
    functional = torch.nn.functional

    def call() -> Any:
        y = functional.max_pool2d(torch.relu(functional.conv2d(inputs, leaves[0], padding=2)), 2)
        return torch.autograd.grad((torch.relu(functional.conv2d(y, leaves[1])) ** 2).sum(), leaves)

    return call


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "plain arrays": plain_arrays,
    "convolutions": convolutions,
    "random numbers": random_numbers,
}
