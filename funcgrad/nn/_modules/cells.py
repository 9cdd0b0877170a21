"""One step of recurrent layers as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.recurrent import CELLS, Weights, cell
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import fill_uniformly, length, parameter


class RNNCellBase(Module):
    """The parameters and the step of cells; `RNNCell`, `LSTMCell` and `GRUCell` say which one.

    Source: ``torch.nn.RNNCellBase``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        name, made = type(self).__name__, (device, dtype)
        self.input_size = length(name, "input_size", input_size)
        self.hidden_size = length(name, "hidden_size", hidden_size)
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = parameter((gates, input_size), *made)
        self.weight_hh = parameter((gates, hidden_size), *made)
        self.register_parameter("bias_ih", parameter((gates,), *made) if bias else None)
        self.register_parameter("bias_hh", parameter((gates,), *made) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill all parameters uniformly within ``1 / sqrt(hidden_size)``."""
        for p in self.parameters():
            fill_uniformly(p, self.hidden_size)

    def extra_repr(self) -> str:
        """Return sizes and the options that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        text += "" if self.bias is True else f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, kind: str, x: Array, states: tuple[Any, ...] | None) -> tuple[Any, ...]:
        name = type(self).__name__
        x = inexact(x)
        if len(x.shape) not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {len(x.shape)}D instead")
        for i, each in enumerate(states or ()):
            if len(each.shape) not in (1, 2):
                which = "hidden" if len(states or ()) == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {len(each.shape)}D instead")
        batched = len(x.shape) == 2
        x = x if batched else fnp.expand_dims(x, 0)
        if x.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[-1]} expected {self.input_size}")
        if states is None:
            states = (np.zeros((x.shape[0], self.hidden_size), x.dtype),) * CELLS[kind][1]
        elif not batched:
            states = tuple([fnp.expand_dims(each, 0) for each in states])
        for i, each in enumerate(states):
            if each.shape[0] != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {each.shape[0]}")
            if each.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {each.shape[1]}, expected {self.hidden_size}"
                )
        held = self._parameters
        weights = Weights(held["weight_ih"], held["weight_hh"], held["bias_ih"], held["bias_hh"])
        new = cell(kind, x, states, weights)
        return new if batched else tuple([each[0] for each in new])


class RNNCell(RNNCellBase):
    """Compute one step of `RNN`.

    Source: ``torch.nn.RNNCell``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Array, hx: Array = None) -> Array:
        """Compute the new state ``f32[batch, hidden_size]`` from the input ``f32[batch, input_size]`` and the state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """Compute one step of `LSTM`.

    Source: ``torch.nn.LSTMCell``.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Array, hx: Array = None) -> Any:
        """Compute the new pair of states from the input ``f32[batch, input_size]`` and a pair of states."""
        if is_tensor(hx):
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        if hx is not None and len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        return self._step("LSTM", input, None if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """Compute one step of `GRU`.

    Source: ``torch.nn.GRUCell``.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Array, hx: Array = None) -> Array:
        """Compute the new state ``f32[batch, hidden_size]`` from the input ``f32[batch, input_size]`` and the state."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]
