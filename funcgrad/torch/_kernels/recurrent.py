"""Recurrent functions of PyTorch's namespace: whole layers and single cells, with the arguments of its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn import extend as nn
from funcgrad.nn.utils.rnn import lengths_of, padded
from funcgrad.torch._functions import of_tensors

_SIGNATURE = (
    "({lead}{states} hx, tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool "
    "bidirectional{end})"
)


def _layer(name: str, kind: str) -> Callable[..., Any]:
    """Return the function of PyTorch's that runs whole layers of one kind."""
    is_lstm = kind == "LSTM"

    def layer(input: Array, *args: Any) -> Any:  # noqa: A002  (PyTorch's name)
        is_packed = len(args) == 8 and is_tensor(args[0]) and not isinstance(args[1], bool)
        is_packed = is_packed and isinstance(args[2], list | tuple)
        hx = args[1] if is_packed else args[0] if args else None
        if len(args) != 8 or isinstance(hx, list | tuple) is not is_lstm:
            _refuse_arguments(name, is_lstm, (input, *args))
        sizes, rest = (args[0], [*args[1:], False]) if is_packed else (None, list(args))
        states = list(rest[0]) if is_lstm else [rest[0]]
        if is_lstm and len(states) != 2:
            raise RuntimeError("lstm expects two hidden states")
        num_layers, dropout, train, bidirectional, batch_first = rest[3:]
        projects = is_lstm and tuple(states[0].shape[2:]) != tuple(states[1].shape[2:])
        directions = 2 if bidirectional else 1
        weights = _weights(rest[1], rest[2], num_layers, directions, is_lstm=is_lstm, projects=projects)
        dropout = dropout if train else 0.0
        if sizes is None:
            y, last = nn.run_layers(
                kind, input.transpose(0, 1) if batch_first else input, states, weights, dropout, None
            )
            y = y.transpose(0, 1) if batch_first else y
        else:
            lengths = lengths_of(sizes)
            present = (np.arange(lengths[0])[:, None] < lengths)[..., None]
            y, last = nn.run_layers(kind, padded(input, sizes), states, weights, dropout, present)
            y = y[np.nonzero(present[..., 0])]
        return (y, *last)

    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = "Return the outputs of all steps, and the last states; the arguments are those of PyTorch's kernel."
    return layer


def _weights(
    params: Any, has_biases: bool, layers: int, directions: int, *, is_lstm: bool, projects: bool
) -> list[list[nn.Weights]]:
    """Return the parameters by layer and direction."""
    stride = (4 if has_biases else 2) + projects
    if is_lstm and len(params) % stride:
        raise RuntimeError(f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {stride}")
    if len(params) != stride * layers * directions:
        raise RuntimeError("got an incorrect number of RNN parameters")
    rows = [list(params[i : i + stride]) for i in range(0, len(params), stride)]
    made = []
    for row in rows:
        projection = row.pop() if projects else None
        biases = (row[2], row[3]) if has_biases else (None, None)
        made.append(nn.Weights(row[0], row[1], *biases, projection))
    return [made[i : i + directions] for i in range(0, len(made), directions)]


def _refuse_arguments(name: str, is_lstm: bool, given: tuple[Any, ...]) -> None:
    states = "tuple of Tensors" if is_lstm else "Tensor"
    packed = _SIGNATURE.format(lead="Tensor data, Tensor batch_sizes, ", states=states, end="")
    whole = _SIGNATURE.format(lead="Tensor input, ", states=states, end=", bool batch_first")
    got = ", ".join("Tensor" if is_tensor(x) else type(x).__name__ for x in given)
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n * {packed}\n"
        f" * {whole}\n"
    )


def _check_cell(gates: int, input: Array, hx: Array, w_ih: Array, w_hh: Array, which: int = 0) -> None:  # noqa: A002  (PyTorch's name)
    """Refuse sizes that do not fit, in PyTorch's words."""
    for x in (input, hx):
        if len(x.shape) < 2:
            raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    if hx.shape[0] != input.shape[0]:
        raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{which} batch size {hx.shape[0]}")
    if hx.shape[1] != w_hh.shape[1]:
        raise RuntimeError(f"hidden{which} has inconsistent hidden_size: got {hx.shape[1]}, expected {w_hh.shape[1]}")
    rows = w_ih.shape[0], w_hh.shape[0]
    if rows != (gates * hx.shape[1],) * 2:
        raise RuntimeError(
            f"weights of {rows[0]} and {rows[1]} rows were given; needed {gates} times the hidden size {hx.shape[1]}."
        )


def _cell(name: str, kind: str, gates: int, says: str) -> Callable[..., Any]:
    """Return the function of PyTorch's that computes one step of a cell with one state."""

    def cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array = None, b_hh: Array = None) -> Any:  # noqa: A002  (PyTorch's name)
        _check_cell(gates, input, hx, w_ih, w_hh)
        return nn.cell(kind, input, (hx,), nn.Weights(w_ih, w_hh, b_ih, b_hh))[0]

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"Return the next state of {says}."
    return cell


def lstm_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array = None, b_hh: Array = None) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the next state and the next memory of a layer of long short-term memory."""
    if not isinstance(hx, tuple | list):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    for i, state in enumerate(hx):
        _check_cell(4, input, state, w_ih, w_hh, i)
    return nn.cell("LSTM", input, tuple(hx), nn.Weights(w_ih, w_hh, b_ih, b_hh))


_ALL: tuple[Callable[..., Any], ...] = (
    *(_layer(name, name.upper()) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")),
    _cell("gru_cell", "GRU", 3, "a layer of gated recurrent units"),
    _cell("rnn_tanh_cell", "RNN_TANH", 1, "a plain recurrent layer"),
    _cell("rnn_relu_cell", "RNN_RELU", 1, "a plain recurrent layer"),
    lstm_cell,
)
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: of_tensors(function) for function in _ALL}
