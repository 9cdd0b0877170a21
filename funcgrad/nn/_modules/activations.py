"""Activation functions as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

import warnings
from typing import Literal

from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import parameter


class _InPlace(Module):
    """An activation whose only option is to write the result into the input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the option if it is set."""
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """Compute ``max(x, 0)``.

    With ``inplace`` the result is written into ``x``, except into arrays of JAX, which are immutable.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.relu(input, self.inplace)


class SELU(_InPlace):
    """Compute the scaled exponential linear unit; see `funcgrad.nn.functional.selu`."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """Compute ``x * sigmoid(x)``; see `funcgrad.nn.functional.silu`."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """Compute ``x * tanh(softplus(x))``; see `funcgrad.nn.functional.mish`."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.mish(input, self.inplace)


class Hardsigmoid(Module):
    """Compute `funcgrad.nn.functional.hardsigmoid`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """Compute `funcgrad.nn.functional.hardswish`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.hardswish(input, self.inplace)


class Tanh(Module):
    """Compute the hyperbolic tangent."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.tanh(input)


class Sigmoid(Module):
    """Compute the logistic function."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """Compute the logarithm of the logistic function."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.logsigmoid(input)


class Softsign(Module):
    """Compute ``x / (1 + abs(x))``."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.softsign(input)


class Tanhshrink(Module):
    """Compute ``x - tanh(x)``."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.tanhshrink(input)


def _with_inplace(text: str, inplace: bool) -> str:
    return f"{text}, inplace=True" if inplace else text


class Threshold(Module):
    """Compute ``x`` where it is above a threshold, ``value`` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class RReLU(Module):
    """Compute `LeakyReLU` with random slopes in training; see `funcgrad.nn.functional.rrelu`."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Module):
    """Clip to an interval; see `funcgrad.nn.functional.hardtanh`."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                text = f"keyword argument `{name}_value` is deprecated and renamed to `{name}_val`"
                warnings.warn(text, FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """Compute ``min(max(x, 0), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return the option if it is set."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """Compute ``x`` where it is positive, an exponential elsewhere; see `funcgrad.nn.functional.elu`."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(Module):
    """Compute ``x`` where it is positive, an exponential elsewhere; see `funcgrad.nn.functional.celu`."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class LeakyReLU(Module):
    """Compute ``x`` where it is positive, ``negative_slope * x`` elsewhere."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the options."""
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class PReLU(Module):
    """Compute ``x`` where it is positive, ``weight * x`` elsewhere; the weights are learned.

    Args:
        num_parameters: 1, or the number of channels.
        init: the initial weight.
        device: the present one.
        dtype: of the weights; float32 by default.

    Example:
        >>> from funcgrad import nn
        >>> nn.PReLU().weight
        Parameter containing:
        tensor([0.2500], requires_grad=True)

    Source: ``torch.nn.PReLU``.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = parameter((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to their initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the option."""
        return f"num_parameters={self.num_parameters}"


class GELU(Module):
    """Compute ``x`` times the standard normal distribution function of ``x``."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate: Literal["none", "tanh"] = approximate

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """Return the option."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """Compute ``log(1 + exp(beta * x)) / beta``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Return the option."""
        return str(self.lambd)


class Softshrink(_Shrink):
    """Move numbers towards 0 by ``lambd``."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """Set numbers within ``lambd`` of 0 to 0."""

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.hardshrink(input, self.lambd)
