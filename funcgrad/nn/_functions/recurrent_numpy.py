"""Recurrent cells along sequences of NumPy arrays: the outputs, and the cotangents of the operands.

The scan of ``recurrent.py`` computes the same on every engine and under every transform. These loops serve eager code:
they write into arrays for all steps, and compute the weights' cotangents by one product at the end. An LSTM of 20 steps
(batch 32, width 64) takes 0.5 of the scan's time.

In each function ``gates`` is ``f32[steps, batch, gates * hidden]``, the products of the inputs; ``w`` is the hidden
weight ``f32[gates * hidden, hidden]``; ``order`` holds the numbers of the steps in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Arrays = tuple[np.ndarray, ...]


class CellPasses(NamedTuple):
    """The two passes of a cell.

    ``forward(gates, states, w, b, order)`` returns the outputs of all steps, the last states but the first one, and
    what ``backward(gates_bar, hidden_bar, states, w, order, saved, y_bar, last_bars)`` reads. The latter fills the
    cotangents of the gates and of the hidden product, and returns those of the states.
    """

    forward: Callable[..., tuple[np.ndarray, Arrays, Arrays]]
    backward: Callable[..., Arrays]
    # Whether the hidden product's cotangent differs from that of the gates.
    has_hidden: bool = False


def _logistic(x: np.ndarray, out: np.ndarray) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    np.reciprocal(out, out=out)


def _hidden(h: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    y = np.dot(h, w.T)
    if b is not None:
        y += b
    return y


def _states_before(first: np.ndarray, y: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Return the states before the steps: a copy, because the user may write into the outputs ``y``."""
    before = np.empty_like(y)
    before[order[0]] = first
    if order[0] == 0:
        before[1:] = y[:-1]
    else:
        before[:-1] = y[1:]
    return before


def _lstm_forward(
    gates: np.ndarray, states: Arrays, w: np.ndarray, b: np.ndarray | None, order: Sequence[int]
) -> tuple[np.ndarray, Arrays, Arrays]:
    h, c = states
    n, transposed = h.shape[-1], w.T
    acts, y = np.empty_like(gates), np.empty((*gates.shape[:2], n), gates.dtype)
    cells, bent = np.empty_like(y), np.empty_like(y)
    z, added = np.empty_like(gates[0]), np.empty_like(c)
    for t in order:
        a = acts[t]
        np.dot(h, transposed, out=z)
        if b is not None:
            z += b
        z += gates[t]
        # One call for all four gates takes less time than two calls for the three that need it.
        _logistic(z, out=a)
        g = np.tanh(z[:, 2 * n : 3 * n], out=a[:, 2 * n : 3 * n])
        c = np.multiply(a[:, n : 2 * n], c, out=cells[t])
        c += np.multiply(a[:, :n], g, out=added)
        h = np.multiply(a[:, 3 * n :], np.tanh(c, out=bent[t]), out=y[t])
    return y, (c,), (_states_before(states[0], y, order), acts, cells, bent)


def _lstm_backward(
    gates_bar: np.ndarray,
    hidden_bar: np.ndarray,
    states: Arrays,
    w: np.ndarray,
    order: Sequence[int],
    saved: Arrays,
    y_bar: np.ndarray,
    last_bars: Arrays,
) -> Arrays:
    del hidden_bar
    _, acts, cells, bent = saved
    n = w.shape[1]
    slopes = 1 - acts
    slopes *= acts
    np.subtract(1, np.square(acts[..., 2 * n : 3 * n]), out=slopes[..., 2 * n : 3 * n])
    # The derivative of the output by the cell's state.
    through = np.square(bent)
    np.subtract(1, through, out=through)
    through *= acts[..., 3 * n :]
    h_bar, c_bar = np.zeros_like(states[0]), last_bars[0].copy()
    added = np.empty_like(c_bar)
    for k in range(len(order) - 1, -1, -1):
        t = order[k]
        a, bar = acts[t], gates_bar[t]
        h_bar += y_bar[t]
        c_bar += np.multiply(h_bar, through[t], out=added)
        np.multiply(c_bar, a[:, 2 * n : 3 * n], out=bar[:, :n])
        np.multiply(c_bar, cells[order[k - 1]] if k else states[1], out=bar[:, n : 2 * n])
        np.multiply(c_bar, a[:, :n], out=bar[:, 2 * n : 3 * n])
        np.multiply(h_bar, bent[t], out=bar[:, 3 * n :])
        bar *= slopes[t]
        c_bar *= a[:, n : 2 * n]
        np.dot(bar, w, out=h_bar)
    return h_bar, c_bar


def _gru_forward(
    gates: np.ndarray, states: Arrays, w: np.ndarray, b: np.ndarray | None, order: Sequence[int]
) -> tuple[np.ndarray, Arrays, Arrays]:
    (h,) = states
    n = h.shape[-1]
    y = np.empty((*gates.shape[:2], n), gates.dtype)
    acts, inner = np.empty_like(gates), np.empty_like(y)
    for t in order:
        z, a = _hidden(h, w, b), acts[t]
        inner[t] = z[:, 2 * n :]
        z[:, : 2 * n] += gates[t, :, : 2 * n]
        _logistic(z[:, : 2 * n], out=a[:, : 2 * n])
        new = np.multiply(a[:, :n], inner[t], out=a[:, 2 * n :])
        new += gates[t, :, 2 * n :]
        np.tanh(new, out=new)
        h = np.subtract(h, new, out=y[t])
        h *= a[:, n : 2 * n]
        h += new
    return y, (), (_states_before(states[0], y, order), acts, inner)


def _gru_backward(
    gates_bar: np.ndarray,
    hidden_bar: np.ndarray,
    states: Arrays,
    w: np.ndarray,
    order: Sequence[int],
    saved: Arrays,
    y_bar: np.ndarray,
    last_bars: Arrays,
) -> Arrays:
    del last_bars
    before, acts, inner = saved
    n = w.shape[1]
    slopes = acts * (1 - acts)
    slopes[..., 2 * n :] = 1 - acts[..., 2 * n :] ** 2
    h_bar = np.zeros_like(states[0])
    for t in reversed(order):
        a, bar = acts[t], gates_bar[t]
        h_bar += y_bar[t]
        z, new = a[:, n : 2 * n], a[:, 2 * n :]
        np.multiply(h_bar, before[t] - new, out=bar[:, n : 2 * n])
        kept = h_bar * z
        new_bar = np.subtract(h_bar, kept, out=bar[:, 2 * n :])
        new_bar *= slopes[t, :, 2 * n :]
        np.multiply(new_bar, inner[t], out=bar[:, :n])
        bar[:, : 2 * n] *= slopes[t, :, : 2 * n]
        hidden_bar[t, :, : 2 * n] = bar[:, : 2 * n]
        np.multiply(new_bar, a[:, :n], out=hidden_bar[t, :, 2 * n :])
        h_bar = np.dot(hidden_bar[t], w)
        h_bar += kept
    return (h_bar,)


def _rnn(bend: Callable[..., Any], slope: Callable[[np.ndarray], np.ndarray]) -> CellPasses:
    def forward(
        gates: np.ndarray, states: Arrays, w: np.ndarray, b: np.ndarray | None, order: Sequence[int]
    ) -> tuple[np.ndarray, Arrays, Arrays]:
        (h,) = states
        y = np.empty_like(gates)
        for t in order:
            z = _hidden(h, w, b)
            z += gates[t]
            h = bend(z, out=y[t])
        return y, (), (_states_before(states[0], y, order), y)

    def backward(
        gates_bar: np.ndarray,
        hidden_bar: np.ndarray,
        states: Arrays,
        w: np.ndarray,
        order: Sequence[int],
        saved: Arrays,
        y_bar: np.ndarray,
        last_bars: Arrays,
    ) -> Arrays:
        del hidden_bar, last_bars
        slopes, h_bar = slope(saved[1]), np.zeros_like(states[0])
        for t in reversed(order):
            h_bar += y_bar[t]
            h_bar = np.dot(np.multiply(h_bar, slopes[t], out=gates_bar[t]), w)
        return (h_bar,)

    return CellPasses(forward, backward)


KERNELS: dict[str, CellPasses] = {
    "RNN_TANH": _rnn(np.tanh, lambda y: 1 - y * y),
    "RNN_RELU": _rnn(lambda z, out: np.maximum(z, 0, out=out), lambda y: (y > 0).astype(y.dtype)),
    "LSTM": CellPasses(_lstm_forward, _lstm_backward),
    "GRU": CellPasses(_gru_forward, _gru_backward, has_hidden=True),
}


def run_forward(kind: str, reverse: bool, states: Arrays, rest: Arrays) -> tuple[Arrays, Arrays]:
    """Return the outputs with the last states but the first one, and what `run_backward` reads.

    ``rest`` holds the gates, the hidden weight, and the hidden bias if there is one.
    """
    gates, w, b = rest if len(rest) == 3 else (*rest, None)
    with np.errstate(over="ignore"):
        # For large negative values the exponential is infinite, and its reciprocal is the correct 0.
        y, last, saved = KERNELS[kind].forward(gates, states, w, b, _order(gates, reverse))
    return (y, *last), saved


def run_backward(kind: str, reverse: bool, states: Arrays, rest: Arrays, saved: Arrays, bars: Arrays) -> Arrays:
    """Return the cotangents of the states, the gates, the hidden weight, and the hidden bias if there is one."""
    gates, w = rest[:2]
    gates_bar = np.empty_like(gates)
    hidden_bar = np.empty_like(gates) if KERNELS[kind].has_hidden else gates_bar
    state_bars = KERNELS[kind].backward(
        gates_bar, hidden_bar, states, w, _order(gates, reverse), saved, bars[0], bars[1:]
    )
    flat = hidden_bar.reshape(-1, hidden_bar.shape[-1])
    w_bar = np.dot(flat.T, saved[0].reshape(-1, w.shape[1]))
    return (*state_bars, gates_bar, w_bar, *([flat.sum(0)] if len(rest) == 3 else []))


def _order(gates: np.ndarray, reverse: bool) -> Sequence[int]:
    steps = range(len(gates))
    return steps[::-1] if reverse else steps
