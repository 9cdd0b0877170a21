"""Layers, activation functions and losses as plain functions of arrays."""

from funcgrad.nn._activations import gelu, log_softmax, relu, sigmoid, softmax, tanh
from funcgrad.nn._linear import linear
from funcgrad.nn._losses import cross_entropy, mse_loss, nll_loss

__all__ = [
    "cross_entropy",
    "gelu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]
