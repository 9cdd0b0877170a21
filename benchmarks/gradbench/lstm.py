"""`lstm`: the loss of a recurrent network with diagonal weights over a text, and its gradient (ADBench)."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task, arrays


def layer(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> tuple[Any, Any]:
    """Return the next hidden state and cell of one layer; weight and bias are [4 * bits]."""
    gates = np.concatenate([x, hidden, x, hidden]) * weight + bias
    bits = len(hidden)
    opened = 1.0 / (1.0 + np.exp(-gates[: 3 * bits]))
    cell = cell * opened[:bits] + opened[bits : 2 * bits] * np.tanh(gates[3 * bits :])
    return opened[2 * bits :] * np.tanh(cell), cell


def loss(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return the mean cross-entropy of each character's bits, predicted from the characters before it.

    Args:
        main: [2 * layers, 4 * bits], weights and biases in turn.
        extra: [3, bits], weights of the input, weights and biases of the output.
        state: [2 * layers, bits], hidden states and cells in turn.
        sequence: [characters, bits].
    """
    layers = [(main[i], main[i + 1]) for i in range(0, len(main), 2)]
    states = [(state[i], state[i + 1]) for i in range(0, len(state), 2)]
    predictions = []
    for x in sequence[:-1] * extra[0]:
        for i, (weight, bias) in enumerate(layers):
            states[i] = layer(weight, bias, *states[i], x)
            x = states[i][0]  # noqa: PLW2901  (each layer reads the one below)
        predictions.append(x)
    y = np.stack(predictions) * extra[1] + extra[2]
    log_sums = np.log(2.0 + np.sum(np.exp(y), axis=1, keepdims=True))
    return -np.mean(sequence[1:] * (y - log_sums))


def gradient(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Return the gradient by `main` and `extra`, one after the other."""
    by_main, by_extra = fg.grad(loss, argnums=(0, 1))(main, extra, state, sequence)
    return np.concatenate([np.ravel(by_main), np.ravel(by_extra)])


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    del compiler
    read = arrays("main_params", "extra_params", "state", "sequence")
    return {"objective": Task(loss, read), "jacobian": Task(gradient, read)}
