"""Recurrent layers: the steps of cells, and their runs over sequences, which are compiled scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcgrad import numpy as fnp
from funcgrad._transforms.control.loops import scan
from funcgrad.nn._functions.activations import relu, sigmoid, tanh
from funcgrad.nn._functions.linear import linear

State = tuple[Any, ...]


class Weights(NamedTuple):
    """The parameters of a cell; biases and the projection of an LSTM's output may be ``None``."""

    input: Any
    hidden: Any
    input_bias: Any
    hidden_bias: Any
    projection: Any = None


def _rnn(activation: Callable[[Any], Any]) -> Callable[[Any, State, Weights], State]:
    def step(gates: Any, state: State, weights: Weights) -> State:
        return (activation(fnp.add(gates, linear(state[0], weights.hidden, weights.hidden_bias))),)

    return step


def _lstm(gates: Any, state: State, weights: Weights) -> State:
    h, c = state
    i, f, g, o = fnp.split(fnp.add(gates, linear(h, weights.hidden, weights.hidden_bias)), 4, axis=-1)
    c = fnp.add(fnp.multiply(sigmoid(f), c), fnp.multiply(sigmoid(i), tanh(g)))
    h = fnp.multiply(sigmoid(o), tanh(c))
    return (h if weights.projection is None else linear(h, weights.projection)), c


def _gru(gates: Any, state: State, weights: Weights) -> State:
    (h,) = state
    xr, xz, xn = fnp.split(gates, 3, axis=-1)
    hr, hz, hn = fnp.split(linear(h, weights.hidden, weights.hidden_bias), 3, axis=-1)
    r, z = sigmoid(fnp.add(xr, hr)), sigmoid(fnp.add(xz, hz))
    n = tanh(fnp.add(xn, fnp.multiply(r, hn)))
    return (fnp.add(n, fnp.multiply(z, fnp.subtract(h, n))),)


# For each kind of cell: the number of its gates, the number of arrays of its state, and its step.
CELLS: dict[str, tuple[int, int, Callable[[Any, State, Weights], State]]] = {
    "RNN_TANH": (1, 1, _rnn(tanh)),
    "RNN_RELU": (1, 1, _rnn(relu)),
    "LSTM": (4, 2, _lstm),
    "GRU": (3, 1, _gru),
}


def cell(kind: str, x: Any, state: State, weights: Weights) -> State:
    """Compute one step: the new state for the input ``f32[batch, in]``."""
    return CELLS[kind][2](linear(x, weights.input, weights.input_bias), state, weights)


def run(
    kind: str, x: Any, state: State, weights: Weights, *, reverse: bool = False, present: Any = None
) -> tuple[Any, State]:
    """Run a cell over sequences.

    Args:
        kind: which cell.
        x: ``f32[steps, batch, in]``.
        state: arrays ``f32[batch, ...]``.
        weights: the parameters.
        reverse: whether to begin at the end.
        present: ``bool[steps, batch, 1]``: false where a sequence has ended, and its state stays; ``None`` for nowhere.

    Returns:
        The outputs ``f32[steps, batch, out]``, and the last state.
    """
    step = CELLS[kind][2]
    # One product for the inputs of all steps.
    gates = linear(x, weights.input, weights.input_bias)

    def body(state: State, row: Any) -> tuple[State, Any]:
        new = step(row[0], state, weights)
        if present is not None:
            new = tuple([fnp.where(row[1], a, b) for a, b in zip(new, state, strict=True)])
        return new, new[0]

    rows = (gates,) if present is None else (gates, present)
    last, outputs = scan(body, state, rows, reverse=reverse)
    return outputs, last
