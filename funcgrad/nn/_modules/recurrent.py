"""Recurrent layers as modules: plain, LSTM and GRU, in layers and directions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn import functional as F
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.recurrent import CELLS, State, Weights, run
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import fill_uniformly, parameter
from funcgrad.nn.utils.rnn import PackedSequence, lengths_of, padded


class RNNBase(Module):
    """The parameters and the run of recurrent layers; `RNN`, `LSTM` and `GRU` say which cell.

    Source: ``torch.nn.RNNBase``.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        if mode not in CELLS:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        _check_options(bias, batch_first, dropout, num_layers)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        out = proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * self._directions
            for suffix in self._suffixes(layer):
                self._add(suffix, (width, out), (device, dtype))
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"][: self._directions]

    def _add(self, suffix: str, widths: tuple[int, int], made: tuple[Any, Any]) -> None:
        gates = CELLS[self.mode][0] * self.hidden_size
        self.register_parameter(f"weight_ih_{suffix}", parameter((gates, widths[0]), *made))
        self.register_parameter(f"weight_hh_{suffix}", parameter((gates, widths[1]), *made))
        if self.bias:
            self.register_parameter(f"bias_ih_{suffix}", parameter((gates,), *made))
            self.register_parameter(f"bias_hh_{suffix}", parameter((gates,), *made))
        if self.proj_size:
            self.register_parameter(f"weight_hr_{suffix}", parameter((self.proj_size, self.hidden_size), *made))

    def reset_parameters(self) -> None:
        """Fill all parameters uniformly within ``1 / sqrt(hidden_size)``."""
        for p in self.parameters():
            fill_uniformly(p, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing; PyTorch's method arranges the memory of CUDA."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        suffixes = [suffix for layer in range(self.num_layers) for suffix in self._suffixes(layer)]
        return [[p for p in self._weights(suffix) if p is not None] for suffix in suffixes]

    def _weights(self, suffix: str) -> Weights:
        held = self._parameters
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return Weights(*[held.get(f"{name}_{suffix}") for name in names])

    def forward(self, input: Array, hx: Array = None) -> Any:
        """Compute the outputs of all steps, and the last state of each layer and direction.

        Args:
            input: ``f32[steps, batch, input_size]``, ``f32[batch, steps, input_size]`` with ``batch_first``,
                ``f32[steps, input_size]``, or a `funcgrad.nn.utils.rnn.PackedSequence`.
            hx: the first state, ``f32[layers * directions, batch, hidden_size]``; zeros by default. An LSTM takes and
                returns a pair of states.
        """
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        x, name = inexact(input), type(self).__name__
        ndim = len(x.shape)
        if ndim not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {ndim}D{self._of_error} instead")
        states = self._given(hx, ndim)
        weight = self._parameters["weight_ih_l0"]
        if is_tensor(input) and is_tensor(weight) and input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype (torch.{input.dtype}) does not match weight dtype (torch.{weight.dtype}). Convert "
                f"input: input.to(torch.{weight.dtype}), or convert model: model.to(torch.{input.dtype})"
            )
        x = fnp.expand_dims(x, 1) if ndim == 2 else fnp.swapaxes(x, 0, 1) if self.batch_first else x
        self._check_width(x)
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        y, last = self._run(x, self._first(states, x.shape[1], x.dtype), None)
        if ndim == 2:
            return y[:, 0], self._returned([each[:, 0] for each in last])
        return (fnp.swapaxes(y, 0, 1) if self.batch_first else y), self._returned(last)

    # PyTorch's messages of plain RNNs have this word.
    _of_error = ""

    def _returned(self, states: list[Any]) -> Any:
        return states[0] if len(states) == 1 else tuple(states)

    def _given(self, hx: Array, ndim: int) -> tuple[Any, ...] | None:
        """Return the states that are given, each with three axes."""
        if hx is None:
            return None
        states = (hx,) if CELLS[self.mode][1] == 1 else tuple(hx)
        if any(len(each.shape) != ndim for each in states):
            kind, dims = ("batched", "3-D") if ndim == 3 else ("unbatched", "2-D")
            found = [f"{len(each.shape)}-D" for each in states]
            if len(states) == 1:
                raise RuntimeError(f"For {kind} {dims} input, hx should also be {dims} but got {found[0]} tensor")
            raise RuntimeError(
                f"For {kind} {dims} input, hx and cx should also be {dims} but got ({', '.join(found)}) tensors"
            )
        return tuple([fnp.expand_dims(each, 1) for each in states]) if ndim == 2 else states

    def _check_width(self, x: Array) -> None:
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )

    def _first(self, states: tuple[Any, ...] | None, batch: int, dtype: DTypeLike) -> list[Any]:
        """Return the first states of all layers and directions, checked; zeros if none are given."""
        count = self.num_layers * self._directions
        widths = (self.proj_size or self.hidden_size, self.hidden_size)[: CELLS[self.mode][1]]
        shapes = [(count, batch, width) for width in widths]
        if states is None:
            return [np.zeros(shape, dtype) for shape in shapes]
        for i, (each, shape) in enumerate(zip(states, shapes, strict=True)):
            if tuple(each.shape) != shape:
                which = "hidden size" if len(shapes) == 1 else f"hidden[{i}] size"
                raise RuntimeError(f"Expected {which} {shape}, got {list(each.shape)}")
        return list(states)

    def _run(self, x: Array, states: list[Any], present: Array) -> tuple[Any, list[Any]]:
        """Run all layers over ``f32[steps, batch, width]``."""
        weights = [[self._weights(suffix) for suffix in self._suffixes(layer)] for layer in range(self.num_layers)]
        return run_layers(self.mode, x, states, weights, self.dropout if self.training else 0.0, present)

    def _packed(self, packed: PackedSequence, hx: Array) -> tuple[PackedSequence, Any]:
        data = inexact(packed.data)
        if len(data.shape) != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {len(data.shape)}")
        self._check_width(data)
        lengths = lengths_of(packed.batch_sizes)
        states = None if hx is None else (hx,) if CELLS[self.mode][1] == 1 else tuple(hx)
        if states is not None:
            states = tuple([_permuted(each, packed.sorted_indices) for each in states])
        present = (np.arange(lengths[0])[:, None] < lengths)[..., None]
        y, last = self._run(padded(data, packed.batch_sizes), self._first(states, len(lengths), data.dtype), present)
        steps, rows = np.nonzero(present[..., 0])
        made = PackedSequence(y[steps, rows], *packed[1:])
        return made, self._returned([_permuted(each, packed.unsorted_indices) for each in last])

    def extra_repr(self) -> str:
        """Return sizes and the options that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", proj_size={self.proj_size}" if self.proj_size else ""
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += "" if self.bias else f", bias={self.bias}"
        text += f", batch_first={self.batch_first}" if self.batch_first else ""
        text += f", dropout={self.dropout}" if self.dropout else ""
        return text + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")


def run_layers(
    mode: str, x: Array, states: list[Any], weights: list[list[Weights]], dropout: float, present: Array
) -> tuple[Any, list[Any]]:
    """Run recurrent layers over sequences.

    Args:
        mode: the kind of cell.
        x: ``f32[steps, batch, width]``.
        states: the first states, each ``f32[layers * directions, batch, hidden_size]``.
        weights: those of each layer, for each direction.
        dropout: the probability of dropout between layers.
        present: which rows of which steps exist; ``None`` for all.
    """
    lasts: list[State] = []
    for layer, of_layer in enumerate(weights):
        if layer and dropout:
            x = F.dropout(x, dropout)
        outputs = []
        for direction, chosen in enumerate(of_layer):
            first = tuple([each[layer * len(of_layer) + direction] for each in states])
            y, last = run(mode, x, first, chosen, reverse=direction == 1, present=present)
            outputs.append(y)
            lasts.append(last)
        x = outputs[0] if len(outputs) == 1 else fnp.concatenate(outputs, axis=-1)
    return x, [fnp.stack(each) for each in zip(*lasts, strict=True)]


def _permuted(x: Array, order: Any) -> Array:
    return x if order is None else fnp.take(x, order, axis=1)


def _check_options(bias: Array, batch_first: Any, dropout: Any, num_layers: Any) -> None:
    if not issubclass(type(dropout), int | float) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")


def _check_sizes(input_size: Any, hidden_size: Any, num_layers: Any, proj_size: Any) -> None:
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int | np.integer):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """Compute ``h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)`` along sequences.

    Args:
        input_size: the length of the last axis of the input.
        hidden_size: the length of the state.
        num_layers: the number of layers.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether biases are added.
        batch_first: whether the batch is the first axis of input and output.
        dropout: the probability of dropout between layers, dimensionless.
        bidirectional: whether there is a second run from the end.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Raises:
        ValueError: a size or an option is out of range.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> outputs, last = nn.RNN(3, 4)(tensor(np.ones((5, 2, 3), np.float32)))
        >>> outputs.shape, last.shape
        ((5, 2, 4), (1, 2, 4))

    Source: ``torch.nn.RNN``; Elman, *Finding structure in time* (1990).
    """

    _of_error = " tensor"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        how = num_layers, bias, batch_first, dropout, bidirectional
        super().__init__(mode, input_size, hidden_size, *how, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Compute a long short-term memory along sequences; the arguments are those of `RNN`.

    Args:
        input_size: the length of the last axis of the input.
        hidden_size: the length of the state.
        num_layers: the number of layers.
        bias: whether biases are added.
        batch_first: whether the batch is the first axis of input and output.
        dropout: the probability of dropout between layers, dimensionless.
        bidirectional: whether there is a second run from the end.
        proj_size: the length to which outputs are projected; 0 for no projection.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> outputs, (h, c) = nn.LSTM(3, 4)(tensor(np.ones((5, 2, 3), np.float32)))
        >>> outputs.shape, h.shape, c.shape
        ((5, 2, 4), (1, 2, 4), (1, 2, 4))

    Source: ``torch.nn.LSTM``; Hochreiter and Schmidhuber, *Long short-term memory* (1997).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        how = num_layers, bias, batch_first, dropout, bidirectional, proj_size
        super().__init__("LSTM", input_size, hidden_size, *how, device=device, dtype=dtype)


class GRU(RNNBase):
    """Compute gated recurrent units along sequences; the arguments are those of `RNN`.

    Source: ``torch.nn.GRU``; Cho et al., *Learning phrase representations using RNN encoder-decoder* (2014).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        proj_size: None = None,
    ) -> None:
        if proj_size is not None:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        how = num_layers, bias, batch_first, dropout, bidirectional
        super().__init__("GRU", input_size, hidden_size, *how, device=device, dtype=dtype)
