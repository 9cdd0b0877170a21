"""Recurrent cells along sequences of traced values: the outputs, and the cotangents of the operands, as two scans.

The steps of the second scan return the cotangents of their gates. The weights' cotangents are one product after it.

Operands are the states, ``gates``: ``f32[steps, batch, gates * hidden]``, the products of the inputs, and the hidden
weight and perhaps bias.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._ops.program.scan import Loop
from funcgrad._transforms.base.bodies import stage_body
from funcgrad._types import Array
from funcgrad.nn._functions.activations import relu, sigmoid, tanh

Arrays = Sequence[Any]
# A loop, and the numbers in its body, which are its first operands.
Staged = tuple[Sequence[Any], Loop]


class CellSteps(NamedTuple):
    """The two passes of a cell, step by step.

    ``forward(gates, products, state)`` returns the new state and the values that the second pass reads, from the
    products of the hidden state with its weight. ``backward(state_bar, saved)`` returns the cotangents of the gates, of
    the products, and those of the state but for the share of the products.
    """

    forward: Callable[[Any, Any, Arrays], tuple[Arrays, Arrays]]
    backward: Callable[[Arrays, Arrays], tuple[Any, Any, Arrays]]


def _lstm_forward(gates: Array, products: Array, state: Arrays) -> tuple[Arrays, Arrays]:
    i, f, g, o = fnp.split(fnp.add(gates, products), 4, axis=-1)
    i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
    c = fnp.add(fnp.multiply(f, state[1]), fnp.multiply(i, g))
    bent = tanh(c)
    return (fnp.multiply(o, bent), c), (state[1], i, f, g, o, bent)


def _lstm_backward(state_bar: Arrays, saved: Arrays) -> tuple[Any, Any, Arrays]:
    h_bar, c_bar = state_bar
    before, i, f, g, o, bent = saved
    c_bar = fnp.add(c_bar, fnp.multiply(fnp.multiply(h_bar, o), _tanh_slope(bent)))
    parts = [
        fnp.multiply(fnp.multiply(c_bar, g), _logistic_slope(i)),
        fnp.multiply(fnp.multiply(c_bar, before), _logistic_slope(f)),
        fnp.multiply(fnp.multiply(c_bar, i), _tanh_slope(g)),
        fnp.multiply(fnp.multiply(h_bar, bent), _logistic_slope(o)),
    ]
    bar = fnp.concatenate(parts, axis=-1)
    return bar, bar, (None, fnp.multiply(c_bar, f))


def _gru_forward(gates: Array, products: Array, state: Arrays) -> tuple[Arrays, Arrays]:
    (h,) = state
    xr, xz, xn = fnp.split(gates, 3, axis=-1)
    hr, hz, inner = fnp.split(products, 3, axis=-1)
    r, z = sigmoid(fnp.add(xr, hr)), sigmoid(fnp.add(xz, hz))
    n = tanh(fnp.add(xn, fnp.multiply(r, inner)))
    difference = fnp.subtract(h, n)
    return (fnp.add(n, fnp.multiply(z, difference)),), (difference, inner, r, z, n)


def _gru_backward(state_bar: Arrays, saved: Arrays) -> tuple[Any, Any, Arrays]:
    (h_bar,) = state_bar
    difference, inner, r, z, n = saved
    kept = fnp.multiply(h_bar, z)
    z_bar = fnp.multiply(fnp.multiply(h_bar, difference), _logistic_slope(z))
    n_bar = fnp.multiply(fnp.subtract(h_bar, kept), _tanh_slope(n))
    r_bar = fnp.multiply(fnp.multiply(n_bar, inner), _logistic_slope(r))
    gates_bar = fnp.concatenate([r_bar, z_bar, n_bar], axis=-1)
    return gates_bar, fnp.concatenate([r_bar, z_bar, fnp.multiply(n_bar, r)], axis=-1), (kept,)


def _logistic_slope(y: Array) -> Any:
    return fnp.multiply(y, fnp.subtract(1, y))


def _tanh_slope(y: Array) -> Any:
    return fnp.subtract(1, fnp.square(y))


def _rnn(bend: Callable[[Any], Any], slope: Callable[[Any], Any]) -> CellSteps:
    def forward(gates: Array, products: Array, state: Arrays) -> tuple[Arrays, Arrays]:
        del state
        y = bend(fnp.add(gates, products))
        return (y,), (y,)

    def backward(state_bar: Arrays, saved: Arrays) -> tuple[Any, Any, Arrays]:
        bar = fnp.multiply(state_bar[0], slope(saved[0]))
        return bar, bar, (None,)

    return CellSteps(forward, backward)


STEPS: dict[str, CellSteps] = {
    "RNN_TANH": _rnn(tanh, _tanh_slope),
    "RNN_RELU": _rnn(relu, lambda y: fnp.where(fnp.greater(y, 0), fnp.ones_like(y), 0)),
    "LSTM": CellSteps(_lstm_forward, _lstm_backward),
    "GRU": CellSteps(_gru_forward, _gru_backward),
}


def scan_forward(kind: str, reverse: bool, states: Arrays, rest: Arrays) -> tuple[Arrays, Arrays]:
    """Return the outputs with the last states but the first one, and what `scan_backward` reads."""
    gates, *held = rest
    numbers, loop = _forward_loop(kind, reverse, _avals([*held, *states]), len(held), _row(gates), gates.shape[0])
    results = loop(*numbers, *held, *states, gates)
    y = results[len(states)]
    return (y, *results[1 : len(states)]), (y, *results[len(states) + 1 :])


def scan_backward(kind: str, reverse: bool, states: Arrays, rest: Arrays, saved: Arrays, bars: Arrays) -> Arrays:
    """Return the cotangents of the states, the gates, the hidden weight, and the hidden bias if there is one."""
    gates, w, *bias = rest
    y, *rows = saved
    y_bar, *last_bars = bars
    initial = [fnp.zeros_like(states[0]), *last_bars]
    rows = [y_bar, *rows]
    numbers, loop = _backward_loop(kind, reverse, _avals([w, *initial]), tuple(map(_row, rows)), gates.shape[0])
    results = loop(*numbers, w, *initial, *rows)
    state_bars, (gates_bar, *others) = results[: len(states)], results[len(states) :]
    products_bar = others[0] if others else gates_bar
    h = fnp.expand_dims(states[0], 0)
    before = fnp.concatenate([y[1:], h] if reverse else [h, y[:-1]], axis=0)
    w_bar = fnp.tensordot(products_bar, before, axes=((0, 1), (0, 1)))
    return (*state_bars, gates_bar, w_bar, *([fnp.sum(products_bar, axis=(0, 1))] if bias else []))


def _avals(values: Arrays) -> tuple[Aval, ...]:
    return tuple([aval_of(x) for x in values])


def _row(x: Array) -> Aval:
    return Aval(x.shape[1:], x.dtype)


@functools.lru_cache(maxsize=64)
def _forward_loop(kind: str, reverse: bool, avals: tuple[Aval, ...], held: int, row: Aval, steps: int) -> Staged:
    """Return the scan of a cell over operands of these types: weight and bias, the state, and a row of gates."""

    def body(values: list) -> Any:
        w, *bias = values[:held]
        state, gates = values[held:-1], values[-1]
        products = fnp.matmul(state[0], fnp.transpose(w))
        state, saved = STEPS[kind].forward(gates, fnp.add(products, bias[0]) if bias else products, state)
        return (*state, state[0], *saved)

    return _staged(kind, body, [*avals, row], held, len(avals) - held, steps, reverse)


@functools.lru_cache(maxsize=64)
def _backward_loop(kind: str, reverse: bool, avals: tuple[Aval, ...], rows: tuple[Aval, ...], steps: int) -> Staged:
    """Return the scan in the other direction: the weight, the state's cotangent, and rows of cotangents and values."""
    count = len(avals) - 1

    def body(values: list) -> Any:
        w, h_bar, *others = values[: count + 1]
        y_bar, *saved = values[count + 1 :]
        gates_bar, products_bar, kept = STEPS[kind].backward((fnp.add(h_bar, y_bar), *others), saved)
        h_bar = fnp.matmul(products_bar, w)
        h_bar = h_bar if kept[0] is None else fnp.add(h_bar, kept[0])
        # Most cells add the products to the gates, so both have one cotangent.
        others = [] if products_bar is gates_bar else [products_bar]
        return (h_bar, *kept[1:], gates_bar, *others)

    return _staged(kind, body, [*avals, *rows], 1, count, steps, not reverse)


def _staged(
    kind: str, body: Callable[[list], Any], avals: list[Aval], constants: int, carry: int, steps: int, reverse: bool
) -> Staged:
    with untraced():
        staged = stage_body("scan", body, avals, kind.lower())
    numbers = staged.captured
    return numbers, Loop(staged.graph, len(numbers) + constants, carry, steps, reverse, 1)
