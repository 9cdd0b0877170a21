"""The small network of ``compiled.py`` in the words of PyTensor, where that is installed."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np


def mlp_gradient(params: Any, x: np.ndarray, y: np.ndarray) -> Callable[[], Any] | None:
    """A call of the gradient of the cross entropy by all parameters, compiled by Numba; ``None`` without PyTensor."""
    if importlib.util.find_spec("pytensor") is None:
        return None
    pytensor = importlib.import_module("pytensor")
    tensor = importlib.import_module("pytensor.tensor")
    weights = [(tensor.dmatrix(f"w{i}"), tensor.dvector(f"b{i}")) for i in range(len(params))]
    inputs, labels = tensor.dmatrix("x"), tensor.dmatrix("y")
    z = inputs
    for w, b in weights[:-1]:
        z = tensor.tanh(tensor.dot(z, w) + b)
    w, b = weights[-1]
    z = tensor.dot(z, w) + b
    z = z - tensor.max(z, axis=1, keepdims=True)
    logs = z - tensor.log(tensor.sum(tensor.exp(z), axis=1, keepdims=True))
    loss = -tensor.mean(tensor.sum(labels * logs, axis=1))
    flat = [each for pair in weights for each in pair]
    function = pytensor.function([*flat, inputs, labels], pytensor.grad(loss, flat), mode="NUMBA", trust_input=True)
    given = [*[layer[name] for layer in params for name in ("w", "b")], x, y]
    function(*given)
    return lambda: function(*given)
