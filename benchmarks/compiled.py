"""``fg.jit`` without JAX, on NumPy and on Numba: small gradients, steps, large arrays, first calls and staging."""

import importlib
import importlib.util
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.special
import torch

import funcgrad as fg
from benchmarks import _models_pytensor
from benchmarks._resnet import resnet50_shapes
from benchmarks._timing import Case, Effort, Samples, Suite, interleave, interleave_once
from funcgrad import nn
from funcgrad._engines.source.kernels import parallel as _kernels

OURS = "funcgrad, NumPy"
NUMBA = "funcgrad, Numba"
JAX = "jax.jit"
PYTENSOR = "PyTensor, Numba"
FUSED = "PyTorch, fused"
# The most that the NumPy and the Numba engine may take, of JAX's time.
Limits = tuple[float, float | None]


def _same(ours: Any, theirs: Any) -> None:
    for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


def _against_jax(
    suite: Suite,
    effort: Effort,
    name: str,
    limits: Limits,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    *args: Any,
    others: dict[str, tuple[Callable[[], Any], float]] | None = None,
) -> None:
    """Time a function of ours, with plain NumPy in it, and one of JAX's, on the same arguments in 64 bits.

    ``others`` are timed with them, and are what the Numba engine is compared with too.
    """
    with jax.enable_x64(True):
        mine, compiled, jitted = fg.jit(ours, engine="numpy"), fg.jit(ours, engine="numba"), jax.jit(theirs)
        held = jax.tree.map(jnp.asarray, args)
        _same(mine(*args), jitted(*held))
        _same(compiled(*args), jitted(*held))
        contenders: dict[str, Callable[[], Any]] = {OURS: lambda: mine(*args), NUMBA: lambda: compiled(*args)}
        contenders |= {JAX: lambda: jax.block_until_ready(jitted(*held))}
        contenders |= {other: call for other, (call, _) in (others or {}).items()}
        samples = interleave(contenders, effort)
        _both(suite, name, samples, limits, {other: limit for other, (_, limit) in (others or {}).items()})


def _both(
    suite: Suite, name: str, samples: dict[str, Samples], limits: Limits, others: dict[str, float] | None = None
) -> None:
    """A case for each of our two engines, out of one run."""
    numpy, numba = limits
    suite.cases.append(Case(name, {k: samples[k] for k in (OURS, JAX)}, ours=OURS, limits={JAX: numpy}))
    rest = {k: v for k, v in samples.items() if k != OURS}
    wanted = {**({} if numba is None else {JAX: numba}), **(others or {})}
    suite.cases.append(Case(f"{name}, Numba", rest, ours=NUMBA, limits=wanted))


def _polynomial(np_: Any) -> Callable[..., Any]:
    return lambda a, b: np_.sum(3 * a**3 - b**2)


def measure_small(suite: Suite, effort: Effort) -> None:
    """The gradient of a sum of powers by two vectors of five."""
    a, b = np.linspace(1, 2, 5), np.linspace(0, 1, 5)
    ours, theirs = fg.grad(_polynomial(np), argnums=(0, 1)), jax.grad(_polynomial(jnp), argnums=(0, 1))
    others = _of_pytensor(suite, effort, a, b)
    _against_jax(suite, effort, "gradient of sum(3a^3 - b^2)", (0.85, None), ours, theirs, a, b, others=others)


def _of_pytensor(suite: Suite, effort: Effort, a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    """The same by PyTensor, and how long both take to build it; nothing where PyTensor is not installed."""
    if importlib.util.find_spec("pytensor") is None:
        suite.notes.append("PyTensor is not installed: no comparison with it.")
        return {}
    pytensor = importlib.import_module("pytensor")
    tensor = importlib.import_module("pytensor.tensor")
    # It keeps what Numba compiled on disk too; here it builds.
    pytensor.config.numba__cache = False

    def theirs() -> Callable[..., Any]:
        x, y = tensor.dvector("x"), tensor.dvector("y")
        gradient = pytensor.grad(tensor.sum(3 * x**3 - y**2), [x, y])
        function = pytensor.function([x, y], gradient, mode="NUMBA", trust_input=True)
        function(a, b)
        return function

    def ours(folder: str | None) -> float:
        # What is in memory is forgotten: the cache on disk alone is asked.
        _kernels._compiled.clear()  # noqa: SLF001  (another process, without the start of Numba)
        with tempfile.TemporaryDirectory() as empty:
            os.environ["FUNCGRAD_CACHE_DIR"] = folder or empty
            jitted = fg.jit(fg.grad(_polynomial(np), argnums=(0, 1)), engine="numba")
            return _seconds(lambda: jitted(a, b))

    before = os.environ.get("FUNCGRAD_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        ours(folder)
        times = {
            "compiled": lambda: ours(None),
            "from disk": lambda: ours(folder),
            PYTENSOR: lambda: _seconds(theirs),
        }
        samples = interleave_once(times, 2 if effort.quick else 5)
    if before is None:
        del os.environ["FUNCGRAD_CACHE_DIR"]
    else:
        os.environ["FUNCGRAD_CACHE_DIR"] = before
    for mine, limit in (("compiled", 0.5), ("from disk", 0.05)):
        held = {name: samples[name] for name in (mine, PYTENSOR)}
        suite.cases.append(
            Case(f"built: gradient of sum(3a^3 - b^2), {mine}", held, ours=mine, limits={PYTENSOR: limit})
        )
    function = theirs()
    return {PYTENSOR: (lambda: function(a, b), 1.0)}


def mlp_loss(np_: Any) -> Callable[..., Any]:
    """Cross entropy of a network with tanh between its layers, in the words of NumPy or of ``jax.numpy``."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        for layer in params[:-1]:
            x = np_.tanh(x @ layer["w"] + layer["b"])
        z = x @ params[-1]["w"] + params[-1]["b"]
        z = z - np_.max(z, axis=1, keepdims=True)
        return -np_.mean(np_.sum(y * (z - np_.log(np_.sum(np_.exp(z), axis=1, keepdims=True))), axis=1))

    return loss


def mlp(sizes: tuple[int, ...], batch: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Its parameters, inputs, and labels as rows of an identity."""
    rng = np.random.default_rng(0)
    shapes = itertools.pairwise(sizes)
    params = [{"w": rng.normal(size=shape) / np.sqrt(shape[0]), "b": np.zeros(shape[1])} for shape in shapes]
    return params, rng.normal(size=(batch, sizes[0])), np.eye(sizes[-1])[rng.integers(0, sizes[-1], batch)]


def measure_mlp(suite: Suite, effort: Effort) -> None:
    """The gradient of a small network."""
    given = mlp((64, 32, 32, 10), 8)
    ours, theirs = fg.grad(mlp_loss(np)), jax.grad(mlp_loss(jnp))
    call = _models_pytensor.mlp_gradient(*given)
    others = None if call is None else {PYTENSOR: (call, 1.1)}
    name = "gradient of an MLP 64-32-32-10, batch 8"
    _against_jax(suite, effort, name, (0.65, None), ours, theirs, *given, others=others)


def _our_step(loss: Callable[..., Any]) -> Callable[..., Any]:
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradients = fg.value_and_grad(loss)(params, x, y)
        return *fg.sgd_update(gradients, state, params), value

    return step


def _their_step(loss: Callable[..., Any], optimizer: Any) -> Callable[..., Any]:
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    return step


def _steps(
    suite: Suite, effort: Effort, name: str, limits: Limits, losses: tuple[Callable[..., Any], Any], given: Any
) -> None:
    params, x, y = given
    with jax.enable_x64(True):
        optimizer = optax.sgd(0.1, momentum=0.9)
        ours, compiled = [fg.jit(_our_step(losses[0]), engine=engine) for engine in ("numpy", "numba")]
        theirs = jax.jit(_their_step(losses[1], optimizer))
        state = fg.sgd_init(params, lr=0.1, momentum=0.9)
        held, x_held, y_held = jax.tree.map(jnp.asarray, given)
        their_state = optimizer.init(held)
        _same(ours(params, state, x, y)[::2], theirs(held, their_state, x_held, y_held)[::2])
        _same(compiled(params, state, x, y)[::2], theirs(held, their_state, x_held, y_held)[::2])
        contenders = {
            OURS: lambda: ours(params, state, x, y),
            NUMBA: lambda: compiled(params, state, x, y),
            JAX: lambda: jax.block_until_ready(theirs(held, their_state, x_held, y_held)),
        }
        _both(suite, name, interleave(contenders, effort), limits)


def measure_step(suite: Suite, effort: Effort) -> None:
    """A whole step of ``Linear(5, 2)`` with cross entropy, and SGD with momentum; JAX's with optax."""
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(2, 5)), "b": np.zeros(2)}
    given = params, rng.normal(size=(8, 5)), rng.integers(0, 2, 8)

    def ours(p: Any, x: Any, y: Any) -> Any:
        return nn.cross_entropy(nn.linear(x, p["w"], p["b"]), y)

    def theirs(p: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(x @ p["w"].T + p["b"], y).mean()

    _steps(suite, effort, "whole step of Linear(5, 2)", (1.3, 0.8), (ours, theirs), given)


def measure_large_step(suite: Suite, effort: Effort) -> None:
    """A whole step of a network whose products of matrices take most of the time."""
    losses = mlp_loss(np), mlp_loss(jnp)
    given = mlp((784, 256, 128, 10), 128)
    _steps(suite, effort.at_most(20), "whole step of an MLP 784-256-128-10, batch 128", (1.15, 1.15), losses, given)


def _option(np_: Any, ndtr: Callable[..., Any]) -> Callable[..., Any]:
    def price(spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * np_.sqrt(time)
        d = (np_.log(spot / strike) + (rate + volatility * volatility / 2) * time) / spread
        return np_.sum(spot * ndtr(d) - strike * np_.exp(-rate * time) * ndtr(d - spread))

    return price


def measure_options(suite: Suite, effort: Effort) -> None:
    """The price by Black and Scholes of many options, and its five derivatives."""
    n = 20_000 if effort.quick else 1_000_000
    rng = np.random.default_rng(0)
    ranges = [(80, 120), (80, 120), (0.1, 2), (0.01, 0.05), (0.1, 0.5)]
    given = [rng.uniform(low, high, n) for low, high in ranges]
    ours = fg.value_and_grad(_option(np, scipy.special.ndtr), argnums=range(5))
    theirs = jax.value_and_grad(_option(jnp, jax.scipy.special.ndtr), argnums=range(5))
    name = f"Black-Scholes and five Greeks, {n:,} options"
    _against_jax(suite, effort.at_most(10), name, (1.1, 1.0), ours, theirs, *given)


def measure_regression(suite: Suite, effort: Effort) -> None:
    """The gradient of a logistic regression's loss."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100_000, 20)), rng.integers(0, 2, 100_000) * 2.0 - 1

    def loss(np_: Any) -> Callable[..., Any]:
        return lambda w, x, y: np_.mean(np_.log1p(np_.exp(-y * (x @ w))))

    ours, theirs = fg.grad(loss(np)), jax.grad(loss(jnp))
    name = "gradient of a logistic regression, 100,000 x 20"
    _against_jax(suite, effort.at_most(20), name, (1.5, 1.0), ours, theirs, rng.normal(size=20), x, y)


def measure_mixture(suite: Suite, effort: Effort) -> None:
    """The gradient of the log likelihood of a mixture of five Gaussians with diagonal covariances."""
    rng = np.random.default_rng(0)
    params = {"mean": rng.normal(size=(5, 20)), "log": 0.1 * rng.normal(size=(5, 20)), "weight": np.zeros(5)}

    def likelihood(np_: Any) -> Callable[..., Any]:
        def total(params: Any, x: Any) -> Any:
            z = (x[:, None, :] - params["mean"]) / np_.exp(params["log"])
            each = params["weight"] - np_.sum(params["log"], axis=1) - np_.sum(z * z, axis=2) / 2
            greatest = np_.max(each, axis=1, keepdims=True)
            return np_.sum(np_.log(np_.sum(np_.exp(each - greatest), axis=1))) + np_.sum(greatest)

        return total

    n = 5_000 if effort.quick else 100_000
    name = f"gradient of a Gaussian mixture's log likelihood, {n:,} x 20"
    ours, theirs = fg.grad(likelihood(np)), jax.grad(likelihood(jnp))
    _against_jax(suite, effort.at_most(5), name, (1.5, 1.0), ours, theirs, params, rng.normal(size=(n, 20)))


def measure_donated(suite: Suite, effort: Effort) -> None:
    """Steps of SGD that write over what they are given: of one large leaf, and of the tensors of a ResNet-50."""
    n = 1_000_000 if effort.quick else 16_000_000
    _donated(suite, effort, f"SGD of one leaf of {n:,}", [(n,)], {OURS: 2.0, NUMBA: 1.15})
    _donated(suite, effort, "SGD of ResNet-50's 161 tensors", resnet50_shapes(), {NUMBA: 1.15})


def _donated(suite: Suite, effort: Effort, name: str, shapes: list[tuple[int, ...]], limits: dict[str, float]) -> None:
    params = {f"p{i}": np.ones(shape, np.float32) for i, shape in enumerate(shapes)}
    gradients = {key: np.full(x.shape, 1e-3, np.float32) for key, x in params.items()}

    def step(params: Any, state: Any, gradients: Any) -> Any:
        return fg.sgd_update(gradients, state, params)

    def looped(jitted: Callable[..., Any]) -> Callable[[], Any]:
        held = [{key: x.copy() for key, x in params.items()}, fg.sgd_init(params, lr=0.1, momentum=0.9)]

        def once() -> None:
            held[:] = jitted(*held, gradients)

        return once

    engines = {OURS: "numpy", NUMBA: "numba"}
    contenders = {our: looped(fg.jit(step, engine=each, donate_argnums=(0, 1))) for our, each in engines.items()}
    contenders |= {"NumPy, new arrays": looped(fg.jit(step, engine="numpy")), FUSED: _fused(params, gradients)}
    samples = interleave(contenders, effort.at_most(10))
    for our in engines:
        held = {key: x for key, x in samples.items() if key == our or key not in engines}
        suite.cases.append(Case(f"{name}, {our}", held, ours=our, limits={FUSED: limits[our]} if our in limits else {}))


def _fused(params: dict[str, np.ndarray], gradients: dict[str, np.ndarray]) -> Callable[[], Any]:
    """PyTorch's step in one kernel, on copies."""
    tensors = [torch.tensor(x) for x in params.values()]
    for tensor, gradient in zip(tensors, gradients.values(), strict=True):
        tensor.grad = torch.tensor(gradient)
    return torch.optim.SGD(tensors, lr=0.1, momentum=0.9, fused=True).step


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_first_step(suite: Suite, effort: Effort) -> None:
    """The first call of a whole step of the network, staging and generation included."""
    params, x, y = mlp((64, 32, 32, 10), 8)
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    optimizer = optax.sgd(0.1, momentum=0.9)
    with jax.enable_x64(True):
        held, x_held, y_held = jax.tree.map(jnp.asarray, (params, x, y))
        their_state = optimizer.init(held)

        def ours() -> float:
            mine = fg.jit(_our_step(mlp_loss(np)), engine="numpy")
            return _seconds(lambda: mine(params, state, x, y))

        def theirs() -> float:
            jax.clear_caches()
            jitted = jax.jit(_their_step(mlp_loss(jnp), optimizer))
            return _seconds(lambda: jax.block_until_ready(jitted(held, their_state, x_held, y_held)))

        samples = interleave_once({OURS: ours, JAX: theirs}, 2 if effort.quick else 10)
        suite.cases.append(Case("first call of the MLP's whole step", samples, ours=OURS, limits={JAX: 0.1}))


def measure_first_call(suite: Suite, effort: Effort) -> None:
    """The first call of freshly made functions, and staging alone."""
    given = mlp((64, 32, 32, 10), 8)
    with jax.enable_x64(True):
        held = jax.tree.map(jnp.asarray, given)

        def ours() -> float:
            mine = fg.jit(fg.grad(mlp_loss(np)), engine="numpy")
            return _seconds(lambda: mine(*given))

        def theirs() -> float:
            jax.clear_caches()
            jitted = jax.jit(jax.grad(mlp_loss(jnp)))
            return _seconds(lambda: jax.block_until_ready(jitted(*held)))

        rounds = 2 if effort.quick else 10
        samples = interleave_once({OURS: ours, JAX: theirs}, rounds)
        suite.cases.append(Case("first call of the MLP's gradient", samples, ours=OURS, limits={JAX: 0.1}))
        _staging(suite, given, held, rounds)


def _staging(suite: Suite, given: Any, held: Any, rounds: int) -> None:
    counts = (
        len(fg.make_graph(fg.grad(mlp_loss(np)))(*given).equations),
        len(jax.make_jaxpr(jax.grad(mlp_loss(jnp)))(*held).eqns),
    )

    def ours() -> float:
        return _seconds(lambda: fg.make_graph(fg.grad(mlp_loss(np)))(*given)) / counts[0]

    def theirs() -> float:
        return _seconds(lambda: jax.make_jaxpr(jax.grad(mlp_loss(jnp)))(*held)) / counts[1]

    samples: dict[str, Samples] = interleave_once({"fg.make_graph": ours, "jax.make_jaxpr": theirs}, rounds)
    suite.cases.append(Case("staging, per equation", samples, ours="fg.make_graph", limits={"jax.make_jaxpr": 0.3}))


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "small gradient": measure_small,
    "MLP gradient": measure_mlp,
    "Linear step": measure_step,
    "MLP step": measure_large_step,
    "options": measure_options,
    "logistic regression": measure_regression,
    "mixture": measure_mixture,
    "donated SGD": measure_donated,
    "first step": measure_first_step,
    "first call": measure_first_call,
}
