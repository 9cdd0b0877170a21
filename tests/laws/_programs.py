"""Programs in plain NumPy, each a real function of one pytree. All ways of differentiation must agree on them.

Each takes the array module first, so that the very same text runs with ``numpy``, ``funcgrad.numpy`` and ``jax.numpy``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as onp  # noqa: ICN001  (the programs call np what they are given)

Loss = Callable[[Any, Any], Any]


class Program(NamedTuple):
    """A loss and the point at which it is differentiated."""

    loss: Loss
    point: Any


class Pair(NamedTuple):
    left: Any
    right: Any


_rng = onp.random.default_rng(7)


def normal(*shape: int) -> Any:
    return _rng.normal(size=shape)


def positive(*shape: int) -> Any:
    return _rng.uniform(0.5, 2.0, size=shape)


VECTOR, MATRIX, TARGET = normal(4), normal(3, 4), normal(3, 2)
LABELS = onp.array([0, 3, 1])
PICKS = onp.array([0, 0, 2, -1])


def polynomial(np: Any, x: Any) -> Any:
    return np.sum(3 * x**3 - x**2 + 2 * x - 1)


def horner(np: Any, x: Any) -> Any:
    y = 0.0
    for coefficient in (1.0, -2.0, 0.5, 3.0):
        y = y * x + coefficient
    return y


def logsumexp(np: Any, x: Any) -> Any:
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def mlp(np: Any, params: Any) -> Any:
    hidden = np.tanh(MATRIX @ params["hidden"][0] + params["hidden"][1])
    return np.mean((hidden @ params["out"] - TARGET) ** 2)


def cross_entropy(np: Any, weights: Any) -> Any:
    logits = MATRIX @ weights
    logits = logits - np.max(logits, axis=1, keepdims=True)
    log_p = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(3), LABELS])


def rnn(np: Any, params: Any) -> Any:
    state = np.zeros(3)
    total = 0.0
    for t in range(4):
        state = np.tanh(params["recurrent"] @ state + params["inputs"][t])
        total = total + np.sum(state * state)
    return total


def attention(np: Any, params: Any) -> Any:
    queries, keys, values = (np.einsum("td,dhk->htk", MATRIX, params[name]) for name in ("q", "k", "v"))
    scores = np.einsum("htk,hsk->hts", queries, keys) / np.sqrt(2.0)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.sum(np.einsum("hts,hsk->thk", weights, values) ** 2)


def nested_trees(np: Any, tree: Any) -> Any:
    first, (second, nothing) = tree["list"]
    assert nothing is None
    return np.sum(first * second) + np.sum(tree["pair"].left ** 2) * tree["pair"].right


def kernel(np: Any, params: Any) -> Any:
    """Return the quadratic form of a squared-exponential kernel."""
    distances = np.sum((MATRIX[:, None, :] - MATRIX[None, :, :]) ** 2 / params["length"] ** 2, axis=-1)
    gram = params["height"] * np.exp(-0.5 * distances) + 0.1 * np.eye(3)
    return params["y"] @ gram @ params["y"] + np.log(np.trace(gram))


def gaussian_process(np: Any, params: Any) -> Any:
    """Return the negative log marginal likelihood of observations, by the Cholesky factor of their covariance."""
    apart = (MATRIX[:, None, :] - MATRIX[None, :, :]) / np.exp(params["log_lengthscale"])
    covariance = np.exp(2 * params["log_amplitude"] - 0.5 * np.sum(apart**2, axis=-1))
    factor = np.linalg.cholesky(covariance + np.exp(2 * params["log_noise"]) * np.eye(3))
    whitened = np.linalg.solve(factor, TARGET[:, 0] - params["mean"])
    return 0.5 * whitened @ whitened + np.sum(np.log(np.diag(factor))) + 1.5 * np.log(2 * np.pi)


def layer_norm(np: Any, params: Any) -> Any:
    centred = params["x"] - np.mean(params["x"], axis=-1, keepdims=True)
    scaled = centred / np.sqrt(np.var(params["x"], axis=-1, keepdims=True) + 1e-5)
    return np.sum(np.sin(scaled * params["gain"] + params["shift"]))


def convolution(np: Any, params: Any) -> Any:
    y = sum(params["kernel"][k] * params["x"][k : k + 4] for k in range(3))
    return np.sum(np.maximum(y, 0.0) ** 2)


def joined(np: Any, x: Any) -> Any:
    rows = np.stack([x, np.flip(x), np.roll(x, 1)])
    left, right = np.split(np.concatenate([rows, rows * rows], axis=1), 2, axis=1)
    return np.sum(np.pad(left, ((1, 0), (0, 1))) ** 3) + np.sum(left * np.cos(right))


def picked(np: Any, x: Any) -> Any:
    return np.sum(x[PICKS] * x[::-1]) + x[1] * np.sum(x[None, 1:3] ** 2) + x[..., -1] ** 3


def piecewise(np: Any, x: Any) -> Any:
    return np.sum(np.where(x > 0, np.sin(x), x * x) + np.clip(x, -0.9, 0.9) + np.abs(x) + np.minimum(x, 0.3))


def ordered(np: Any, x: Any) -> Any:
    return np.sum(np.sort(x) * np.arange(4.0)) + np.sum(np.cumsum(x) ** 2) + np.prod(x) + np.min(x) * np.max(x)


def waves(np: Any, x: Any) -> Any:
    """Compute with complex numbers between a real argument and a real result."""
    amplitudes = np.exp(1j * np.outer(np.arange(3.0), x)) @ (x + 0.5j * x * x)
    return np.sum(np.abs(amplitudes) ** 2) + np.sum(np.real(amplitudes * np.conj(amplitudes[::-1])))


def kepler(np: Any, params: Any) -> Any:
    """Return the eccentric anomaly by Newton's method: a loop of divisions."""
    anomaly = params["mean"]
    for _ in range(4):
        residual = anomaly - params["eccentricity"] * np.sin(anomaly) - params["mean"]
        anomaly = anomaly - residual / (1 - params["eccentricity"] * np.cos(anomaly))
    return np.sum(anomaly)


def predators(np: Any, params: Any) -> Any:
    """Take two steps of the classical Runge-Kutta method on Lotka and Volterra's equations."""

    def slope(y: Any) -> Any:
        prey, hunters = y[0], y[1]
        return np.stack([prey * (params["a"] - hunters), hunters * (prey - params["b"])])

    y = params["y"]
    for _ in range(2):
        k1 = slope(y)
        k2 = slope(y + 0.05 * k1)
        k3 = slope(y + 0.05 * k2)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + 0.1 * k3))
    return np.sum(y * y)


def distances(np: Any, points: Any) -> Any:
    apart = points[:, None, :] - points[None, :, :]
    return np.sum(np.sqrt(np.sum(apart**2, axis=-1) + 1e-3))


def powers(np: Any, params: Any) -> Any:
    return (
        np.sum(params["base"] ** params["exponent"])
        + np.sum(2.0 ** params["exponent"])
        + np.sum(params["base"] ** -1.5)
    )


def methods(np: Any, x: Any) -> Any:
    """Use methods and operators only, and no function of the module."""
    y = (x.reshape(2, 2) @ x.reshape(2, 2).T).ravel()
    return (y[1:] / (1.5 + y[:-1] * y[:-1])).sum() + x.mean() - (-x).max() + (x.T @ x) ** 0.5


PROGRAMS = {
    "polynomial": Program(polynomial, VECTOR),
    "polynomial-of-a-scalar": Program(horner, onp.float64(0.7)),
    "logsumexp": Program(logsumexp, VECTOR),
    "mlp": Program(mlp, {"hidden": [normal(4, 3), normal(3)], "out": normal(3, 2)}),
    "cross-entropy": Program(cross_entropy, normal(4, 4)),
    "rnn": Program(rnn, {"recurrent": normal(3, 3), "inputs": normal(4, 3)}),
    "attention": Program(attention, {name: normal(4, 2, 2) for name in "qkv"}),
    "nested-trees": Program(
        nested_trees, {"list": [normal(3), (normal(2, 3), None)], "pair": Pair(normal(2), normal())}
    ),
    "kernel": Program(kernel, {"length": positive(4), "height": positive(), "y": normal(3)}),
    "layer-norm": Program(layer_norm, {"x": normal(2, 4), "gain": normal(4), "shift": normal(4)}),
    "convolution": Program(convolution, {"kernel": normal(3), "x": normal(6)}),
    "joined": Program(joined, normal(4)),
    "picked": Program(picked, normal(4)),
    "piecewise": Program(piecewise, onp.array([-1.2, 0.6, 0.2, -0.4])),
    "ordered": Program(ordered, onp.array([0.3, -1.1, 2.0, 0.8])),
    "waves": Program(waves, normal(3)),
    "kepler": Program(kepler, {"mean": positive(3), "eccentricity": onp.float64(0.3)}),
    "predators": Program(predators, {"a": positive(), "b": positive(), "y": positive(2)}),
    "distances": Program(distances, normal(3, 2)),
    "powers": Program(powers, {"base": positive(3), "exponent": normal(3)}),
    "methods": Program(methods, normal(4)),
    "gaussian-process": Program(
        gaussian_process,
        {"log_lengthscale": normal(4), "log_amplitude": normal(), "log_noise": onp.float64(-0.7), "mean": normal()},
    ),
}
