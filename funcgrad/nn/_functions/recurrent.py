"""Recurrent layers: the steps of cells, and their runs over sequences, which are compiled scans."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.trace.reverse import ReverseTracer
from funcgrad._ops.program.scan import Loop
from funcgrad._transforms.base.bodies import stage_body
from funcgrad._transforms.custom.decorators import custom_vjp
from funcgrad._transforms.derivative.forward import jvp
from funcgrad._types import Array
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn._functions.activations import relu, sigmoid, tanh
from funcgrad.nn._functions.linear import linear
from funcgrad.nn._functions.recurrent_numpy import run_backward, run_forward
from funcgrad.nn._functions.recurrent_traced import scan_backward, scan_forward

State = tuple[Any, ...]


class Weights(NamedTuple):
    """The parameters of a cell; biases and the projection of an LSTM's output may be ``None``."""

    input: Any
    hidden: Any
    input_bias: Any
    hidden_bias: Any
    projection: Any = None


def _rnn(activation: Callable[[Any], Any]) -> Callable[[Any, State, Weights], State]:
    def step(gates: Array, state: State, weights: Weights) -> State:
        return (activation(fnp.add(gates, linear(state[0], weights.hidden, weights.hidden_bias))),)

    return step


def _lstm(gates: Array, state: State, weights: Weights) -> State:
    h, c = state
    i, f, g, o = fnp.split(fnp.add(gates, linear(h, weights.hidden, weights.hidden_bias)), 4, axis=-1)
    c = fnp.add(fnp.multiply(sigmoid(f), c), fnp.multiply(sigmoid(i), tanh(g)))
    h = fnp.multiply(sigmoid(o), tanh(c))
    return (h if weights.projection is None else linear(h, weights.projection)), c


def _gru(gates: Array, state: State, weights: Weights) -> State:
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


def cell(kind: str, x: Array, state: State, weights: Weights) -> State:
    """Compute one step: the new state for the input ``f32[batch, in]``."""
    return CELLS[kind][2](linear(x, weights.input, weights.input_bias), state, weights)


def run(
    kind: str, x: Array, state: State, weights: Weights, *, reverse: bool = False, present: Array = None
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
    if kind != "GRU" and weights.input_bias is not None and weights.hidden_bias is not None:
        # Both biases are added to the same sum: one addition to the products of all steps, and none in the loop.
        weights = weights._replace(input_bias=fnp.add(weights.input_bias, weights.hidden_bias), hidden_bias=None)
    # One product for the inputs of all steps.
    gates = linear(x, weights.input, weights.input_bias)
    if (
        present is None
        and weights.projection is None
        and _has_rule((gates, *state, weights.hidden, weights.hidden_bias))
    ):
        return _run_by_rule(kind, reverse, gates, state, weights)
    return _run_scan(kind, reverse, gates, state, weights, present)


def _run_scan(
    kind: str, reverse: bool, gates: Array, state: State, weights: Weights, present: Array = None
) -> tuple[Any, State]:
    held = [fnp.asarray(w) for w in weights[1:] if w is not None]
    rows = [gates] if present is None else [gates, fnp.asarray(present)]
    given = [*held, *map(fnp.asarray, state), *rows]
    avals = tuple([aval_of(x) for x in given[: len(held) + len(state)]])
    which = tuple([w is not None for w in weights])
    loop = _loop(kind, which, avals, tuple([Aval(x.shape[1:], x.dtype) for x in rows]), gates.shape[0], reverse)
    results = loop(*given)
    return results[-1], tuple(results[:-1])


@functools.lru_cache(maxsize=64)
def _loop(
    kind: str, which: tuple[bool, ...], avals: tuple[Aval, ...], rows: tuple[Aval, ...], steps: int, reverse: bool
) -> Loop:
    """Return the scan of a cell over operands of these types: the weights, the state, and the rows."""
    count = sum(which[1:])

    def body(values: list) -> Any:
        held = iter(values[:count])
        weights = Weights(None, *[next(held) if there else None for there in which[1:]])
        state, row = tuple(values[count : len(avals)]), values[len(avals) :]
        new = CELLS[kind][2](row[0], state, weights)
        if len(row) == 2:
            new = tuple([fnp.where(row[1], a, b) for a, b in zip(new, state, strict=True)])
        return (*new, new[0])

    with untraced():
        staged = stage_body("scan", body, [*avals, *rows], kind.lower())
    return Loop(staged.graph, count, len(avals) - count, steps, reverse, 1)


def _has_rule(operands: tuple[Any, ...]) -> bool:
    """Return whether the rule of `_sequence` applies: to NumPy's arrays, and to values that a reverse pass records.

    Staged functions use the scan alone, so their graphs can be pickled and mapped.
    """
    given = [x for x in operands if x is not None]
    if not math.prod(given[0].shape) or any(x.dtype != given[0].dtype for x in given):
        return False
    values = [x._value if is_tensor(x) else x for x in given]
    return all(type(x) is np.ndarray for x in values) or any(type(x) is ReverseTracer for x in values)


def _run_by_rule(kind: str, reverse: bool, gates: Array, state: State, weights: Weights) -> tuple[Any, State]:
    bias = [] if weights.hidden_bias is None else [weights.hidden_bias]
    y, *last = _sequence(kind, reverse)(*state, gates, weights.hidden, *bias)
    return y, (y[0 if reverse else -1], *last)


@functools.cache
def _sequence(kind: str, reverse: bool) -> Callable[..., Any]:
    """Return the function of the states, the gates, the hidden weight and perhaps the hidden bias."""
    count = CELLS[kind][1]

    def composed(*xs: Any) -> Any:
        """Compute the same from operations that have derivatives of every order."""
        gates, hidden, *bias = xs[count:]
        weights = Weights(None, hidden, None, bias[0] if bias else None)
        y, last = _run_scan(kind, reverse, gates, xs[:count], weights)
        return (y, *last[1:])

    def value(*xs: Any) -> Any:
        return run_forward(kind, reverse, xs[:count], xs[count:])[0] if _are_bare(xs) else composed(*xs)

    def forward(*xs: Any) -> Any:
        run = run_forward if _are_bare(xs) else scan_forward
        outputs, saved = run(kind, reverse, xs[:count], xs[count:])
        return outputs, (xs, saved)

    def backward(kept: Any, bars: Array) -> Any:
        xs, saved = kept
        if _are_bare((*xs, *bars)):
            return run_backward(kind, reverse, xs[:count], xs[count:], saved, bars)
        if _are_bare(xs):
            # The first pass kept what the other function reads.
            _, saved = scan_forward(kind, reverse, xs[:count], xs[count:])
        return scan_backward(kind, reverse, xs[:count], xs[count:], saved, bars)

    function: Any = custom_vjp(value)
    function.defvjp(forward, backward)
    function.defjvp(lambda xs, x_dots: jvp(composed, xs, x_dots))
    return function


def _are_bare(xs: Array) -> bool:
    return all(type(x) is np.ndarray for x in xs)
