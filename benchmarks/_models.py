"""The models of the training steps: each with its loss for both sides, its first parameters and one batch."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import _models_jax, _models_numpy

Loss = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Model:
    """One model: its loss for each side, its first parameters, and one batch, all of NumPy arrays."""

    name: str
    numpy_loss: Loss
    jax_loss: Loss
    params: Any
    x: np.ndarray
    labels: np.ndarray


def one_layer() -> Model:
    """A model so small that its steps show what a call costs."""
    rng = np.random.default_rng(3)
    params = {"head": _dense(rng, 5, 2)}
    labels = rng.integers(0, 2, 8).astype(np.int32)
    return Model("Linear(5, 2)", _models_numpy.linear, _models_jax.linear, params, _normal(rng, 8, 5), labels)


def small_mlp() -> Model:
    sizes = (784, 256, 128, 10)
    rng = np.random.default_rng(0)
    params = [_dense(rng, n, m) for n, m in pairwise(sizes)]
    return Model("MLP", _models_numpy.mlp, _models_jax.mlp, params, _normal(rng, 128, 784), _labels(rng, 128))


def deep_residual_net(layers: int = 60, width: int = 64) -> Model:
    rng = np.random.default_rng(1)
    params = {"layers": [_dense(rng, width, width) for _ in range(layers)], "head": _dense(rng, width, 10)}
    losses = _models_numpy.residual_net, _models_jax.residual_net
    name = f"residual net, {layers} layers" + ("" if width == 64 else f" of {width}")
    return Model(name, *losses, params, _normal(rng, 32, width), _labels(rng, 32))


def small_transformer(blocks: int = 4, width: int = 64) -> Model:
    rng = np.random.default_rng(2)
    params = {"blocks": [_block(rng, width) for _ in range(blocks)], "head": _dense(rng, width, 10)}
    losses = _models_numpy.transformer, _models_jax.transformer
    name = f"attention, {blocks} blocks" + ("" if width == 64 else f" of {width}")
    return Model(name, *losses, params, _normal(rng, 8, 32, width), _labels(rng, 8, 32))


def _block(rng: np.random.Generator, width: int) -> dict[str, Any]:
    def norm() -> dict[str, Any]:
        return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}

    w_1, b_1 = _dense(rng, width, 4 * width)
    w_2, b_2 = _dense(rng, 4 * width, width)
    return {
        "norm_1": norm(),
        "attention": {"w_in": _dense(rng, width, 3 * width)[0], "w_out": _dense(rng, width, width)[0]},
        "norm_2": norm(),
        "feed_forward": {"w_1": w_1, "b_1": b_1, "w_2": w_2, "b_2": b_2},
    }


def _dense(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return _normal(rng, n, m) / np.float32(n**0.5), np.zeros(m, np.float32)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def _labels(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 10, shape).astype(np.int32)
