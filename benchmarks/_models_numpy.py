"""The losses of the training steps as a NumPy user writes them. `_models_jax.py` is the same by hand in `jax.numpy`."""

from typing import Any

import numpy as np

HEADS = 4


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the mean negative log-likelihood of integer labels along the last axis."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return -np.mean(np.take_along_axis(log_p, labels[..., None], axis=-1))


def linear(params: Any, x: Any, labels: Any) -> Any:
    """Return the loss of one dense layer."""
    w, b = params["head"]
    return cross_entropy(x @ w + b, labels)


def mlp(params: Any, x: Any, labels: Any) -> Any:
    """Return the loss of a ReLU multilayer perceptron."""
    for w, b in params[:-1]:
        x = np.maximum(x @ w + b, 0.0)
    w, b = params[-1]
    return cross_entropy(x @ w + b, labels)


def residual_net(params: Any, x: Any, labels: Any) -> Any:
    """Return the loss of dense residual layers, one after the other."""
    for w, b in params["layers"]:
        x = x + 0.1 * np.tanh(x @ w + b)
    w, b = params["head"]
    return cross_entropy(x @ w + b, labels)


def transformer(params: Any, x: Any, labels: Any) -> Any:
    """Return the loss of causal attention blocks that label every position."""
    for block in params["blocks"]:
        x = x + _attention(block["attention"], _layer_norm(block["norm_1"], x))
        x = x + _feed_forward(block["feed_forward"], _layer_norm(block["norm_2"], x))
    w, b = params["head"]
    return cross_entropy(x @ w + b, labels)


def _layer_norm(params: Any, x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * params["scale"] + params["shift"]


def _attention(params: Any, x: Any) -> Any:
    batch, length, width = x.shape
    qkv = np.reshape(np.matmul(x, params["w_in"]), (batch, length, 3, HEADS, width // HEADS))
    q, k, v = np.transpose(qkv, (2, 0, 3, 1, 4))
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * (width // HEADS) ** -0.5
    scores = np.where(np.tril(np.ones((length, length), dtype=bool)), scores, -1e9)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    mixed = np.einsum("bhqk,bhkd->bhqd", weights, v)
    return np.matmul(np.reshape(np.transpose(mixed, (0, 2, 1, 3)), x.shape), params["w_out"])


def _feed_forward(params: Any, x: Any) -> Any:
    hidden = np.tanh(np.matmul(x, params["w_1"]) + params["b_1"])
    return np.matmul(hidden, params["w_2"]) + params["b_2"]
