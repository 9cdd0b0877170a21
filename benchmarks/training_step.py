"""Jitted training steps: our plain NumPy loss under `fg.jit` with `fg.sgd_update`, against JAX with optax by hand."""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import funcgrad as fg
from benchmarks import _models
from benchmarks._compile_log import CompileLog
from benchmarks._models import Model
from benchmarks._timing import Breakdown, Case, Effort, Samples, Suite, interleave, interleave_once, joined

LEARNING_RATE, MOMENTUM = 0.02, 0.9
CHECKED_STEPS = 5
BUILDS = 4
# First calls of a deep network, which take up to a minute each.
DEEP = 2
OURS, PEER = "funcgrad", "JAX + optax"


@dataclass(frozen=True)
class Side:
    """One contender: what makes a fresh jitted `(params, state, x, labels) -> (params, state, loss)`, and the state."""

    build: Callable[[], Callable[..., Any]]
    init: Callable[[Any], Any]


class Trainer:
    """A jitted step together with the parameters and the state that it has reached."""

    def __init__(self, side: Side, model: Model) -> None:
        self._step = side.build()
        self._params = _on_device(model.params)
        self._state = side.init(self._params)
        self._batch = _on_device((model.x, model.labels))

    def step(self) -> Any:
        """Take one step, wait for all that it returns, and return its loss."""
        self._params, self._state, loss = self._step(self._params, self._state, *self._batch)
        jax.block_until_ready((self._params, self._state, loss))
        return loss


def measure(model: Model, suite: Suite, effort: Effort, builds: int = BUILDS, first_calls: int = 9) -> None:
    """See that both sides train alike, then time their steps, then their first calls."""
    sides = {OURS: _ours(model), PEER: _peer(model)}
    _check_losses(model, sides)
    suite.cases.append(Case(f"{model.name}: step", _time_steps(model, sides, effort, builds), limits={PEER: 1.05}))
    logs = {name: CompileLog() for name in sides}
    calls = {name: functools.partial(_first_call, side, model, logs[name]) for name, side in sides.items()}
    samples = interleave_once(calls, effort.at_most(first_calls).rounds)
    suite.cases.append(Case(f"{model.name}: trace + compile", samples, limits={PEER: 1.0}))
    phases = {name: log.medians() for name, log in logs.items()}
    suite.breakdowns.append(Breakdown(f"{model.name}: first call", phases))


def deep(suite: Suite, effort: Effort) -> None:
    """Time networks of equal layers: few and many, narrow and wide."""
    small = _models.deep_residual_net(12, 32), _models.deep_residual_net(12, 256), _models.small_transformer(12)
    large = (
        *[_models.deep_residual_net(layers, width) for layers in (60, 100) for width in (32, 256)],
        *[_models.small_transformer(*size) for size in ((24, 64), (48, 64), (12, 256))],
    )
    for model in small if effort.quick else (*small, *large):
        measure(model, suite, effort, builds=1, first_calls=DEEP)


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "linear": lambda suite, effort: measure(_models.one_layer(), suite, effort),
    "mlp": lambda suite, effort: measure(_models.small_mlp(), suite, effort),
    "residual net": lambda suite, effort: measure(_models.deep_residual_net(), suite, effort),
    "attention": lambda suite, effort: measure(_models.small_transformer(), suite, effort),
    "deep": deep,
}


def _ours(model: Model) -> Side:
    def build() -> Callable[..., Any]:
        def step(params: Any, state: Any, x: Any, labels: Any) -> Any:
            loss, grads = fg.value_and_grad(model.numpy_loss)(params, x, labels)
            params, state = fg.sgd_update(grads, state, params)
            return params, state, loss

        return fg.jit(step, donate_argnums=(0, 1))

    return Side(build, lambda params: fg.sgd_init(params, lr=LEARNING_RATE, momentum=MOMENTUM))


def _peer(model: Model) -> Side:
    optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)

    def build() -> Callable[..., Any]:
        def step(params: Any, state: Any, x: Any, labels: Any) -> Any:
            loss, grads = jax.value_and_grad(model.jax_loss)(params, x, labels)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, loss

        return jax.jit(step, donate_argnums=(0, 1))

    return Side(build, optimizer.init)


def _time_steps(model: Model, sides: Mapping[str, Side], effort: Effort, builds: int) -> dict[str, Samples]:
    """Time the steps of several pairs of fresh builds: builds of one program can differ by where their buffers lie."""
    batches: list[dict[str, Samples]] = []
    for _ in range(builds):
        trainers = {name: Trainer(side, model) for name, side in sides.items()}
        steps = {name: trainer.step for name, trainer in trainers.items()}
        batches.append(interleave(steps, effort.at_most(effort.rounds // BUILDS)))
    return {name: joined([batch[name] for batch in batches]) for name in sides}


def _first_call(side: Side, model: Model, log: CompileLog) -> float:
    """Return the seconds of the first call of a freshly built step, all of JAX's caches being empty."""
    jax.clear_caches()
    trainer = Trainer(side, model)
    with log.call():
        start = time.perf_counter()
        trainer.step()
        return time.perf_counter() - start


def _check_losses(model: Model, sides: Mapping[str, Side]) -> None:
    """Raise where the two sides do not train alike."""
    losses: dict[str, list[float]] = {}
    for name, side in sides.items():
        trainer = Trainer(side, model)
        losses[name] = [float(trainer.step()) for _ in range(CHECKED_STEPS)]
    np.testing.assert_allclose(losses[OURS], losses[PEER], rtol=2e-4)


def _on_device(tree: Any) -> Any:
    """Return JAX's own copy of every array: donation destroys it."""
    return jax.tree.map(jnp.array, tree)
