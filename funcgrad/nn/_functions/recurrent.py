"""Recurrent layers: the steps of cells, and their runs over sequences, which are compiled scans."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import top_trace, untraced
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.custom import custom_vjp_p
from funcgrad._ops.program.custom_batch import Backward
from funcgrad._ops.program.scan import Loop
from funcgrad._transforms.base.bodies import stage_body
from funcgrad._transforms.derivative.reverse import vjp
from funcgrad._types import Array
from funcgrad.autograd import Tensor
from funcgrad.nn._functions.activations import relu, sigmoid, tanh
from funcgrad.nn._functions.linear import linear
from funcgrad.nn._functions.recurrent_numpy import run_backward, run_forward

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
    if present is None and weights.projection is None and _are_eager((x, *state, *weights[:4])):
        gates = _rows_linear(x, weights.input, weights.input_bias)
        return _run_eagerly(_sequence(kind, reverse, weights.hidden_bias is not None), gates, state, weights)
    gates = linear(x, weights.input, weights.input_bias)
    return _run_scan(kind, reverse, gates, state, weights, present)


def _run_scan(
    kind: str, reverse: bool, gates: Array, state: State, weights: Weights, present: Array = None
) -> tuple[Any, State]:
    # The gates have the bias of the inputs already. The loop would carry its cotangent, which is 0.
    weights = weights._replace(input_bias=None)
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


def _are_eager(operands: tuple[Any, ...]) -> bool:
    """Return whether all operands are NumPy arrays, or tensors of such, of one dtype."""
    given = [x for x in operands if x is not None]
    values = [x._value if type(x) is Tensor else x for x in given]
    return all(type(x) is np.ndarray and x.dtype == values[0].dtype for x in values) and values[0].size > 0


def _rows_linear(x: Array, weight: Array, bias: Array) -> Any:
    """Return the products of all rows ``f32[steps, batch, in]``. A matrix of rows takes its bias in place."""
    y = linear(reshape(x, (x.shape[0] * x.shape[1], x.shape[2])), weight, bias)
    return reshape(y, (x.shape[0], x.shape[1], weight.shape[0]))


def _run_eagerly(rule: _SequenceRule, gates: Array, state: State, weights: Weights) -> tuple[Any, State]:
    operands = (*state, gates, weights.hidden, *([] if weights.hidden_bias is None else [weights.hidden_bias]))
    is_bare = top_trace(operands) is None
    y, *last = rule.value(operands) if is_bare else custom_vjp_p(*operands, graph=None, rule=rule)
    return y, (y[0 if rule.reverse else -1], *last)


class _SequenceRule:
    """The derivative of a layer's loop, for an equation ``custom_vjp``.

    The operands are the states, the gates, the hidden weight and perhaps the hidden bias. A function declared with
    ``fg.custom_vjp`` would copy all operands and all kept arrays, which takes a sixth of the time of an LSTM's step.
    """

    __slots__ = ("_count", "_kind", "arity", "name", "reverse")

    pushes = None
    instantiate = True

    def __init__(self, kind: str, reverse: bool, has_bias: bool) -> None:
        self._kind = kind
        self._count = CELLS[kind][1]
        self.reverse = reverse
        self.name = kind.lower()
        self.arity = self._count + 2 + has_bias

    def composed(self, *xs: Any) -> tuple[Any, ...]:
        """Compute the same from operations that have derivatives of every order."""
        gates, hidden, *bias = xs[self._count :]
        weights = Weights(None, hidden, None, bias[0] if bias else None)
        y, last = _run_scan(self._kind, self.reverse, gates, xs[: self._count], weights)
        return (y, *last[1:])

    def value(self, xs: Sequence[Any]) -> list[Any]:
        return self.forward(xs)[0]

    def forward(self, xs: Sequence[Any]) -> tuple[list, list, Backward]:
        if not _are_bare(xs):
            return list(self.composed(*xs)), list(xs), self._pulled
        outputs, saved = run_forward(self._kind, self.reverse, tuple(xs[: self._count]), tuple(xs[self._count :]))
        return list(outputs), [*xs, *saved], self._pulled

    def _pulled(self, residuals: Sequence[Any], y_bars: Sequence[Any]) -> list[Any]:
        xs, saved = residuals[: self.arity], tuple(residuals[self.arity :])
        if not (saved and _are_bare(residuals) and _are_bare(y_bars)):
            return list(vjp(self.composed, *xs)[1](tuple(y_bars)))
        states, rest = tuple(xs[: self._count]), tuple(xs[self._count :])
        return list(run_backward(self._kind, self.reverse, states, rest, saved, tuple(y_bars)))


@functools.cache
def _sequence(kind: str, reverse: bool, has_bias: bool) -> _SequenceRule:
    """Return the one rule of these loops: equal calls have an equal rule."""
    return _SequenceRule(kind, reverse, has_bias)


def _are_bare(xs: Array) -> bool:
    return all(type(x) is np.ndarray for x in xs)
