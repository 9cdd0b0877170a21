"""The factors that keep the variance through nonlinearities."""

from __future__ import annotations

import math

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through a nonlinearity.

    Args:
        nonlinearity: its name, such as ``"relu"``, ``"tanh"`` or ``"leaky_relu"``.
        param: the negative slope of ``"leaky_relu"``; 0.01 by default.

    Returns:
        The factor, dimensionless.

    Raises:
        ValueError: the name is unknown, or the slope is no number.

    Example:
        >>> from funcgrad.nn import init
        >>> round(init.calculate_gain("relu"), 4)
        1.4142

    Source: ``torch.nn.init.calculate_gain``.
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not issubclass(type(param), int | float | None):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]
