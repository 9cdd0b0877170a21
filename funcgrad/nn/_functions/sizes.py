"""Check the sizes of convolutions and pooling: one number for all spatial axes, or a number for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array

Sizes = tuple[int, ...]


def per_axis(function: str, name: str, value: Any, axes: int, least: int) -> Sizes:
    """Return the sizes for each axis, or raise an error that names the argument."""
    given = tuple(value) if isinstance(value, list | tuple) else (value,) * axes
    if len(given) == 1:
        given *= axes
    if len(given) != axes or not all(isinstance(n, int | np.integer) and n >= least for n in given):
        raise ValueError(f"{function}: {name} is {value!r}; needed an integer of {least} or more, or {axes} of them.")
    return tuple([int(n) for n in given])


def images(function: str, x: Array, axes: int) -> tuple[Any, bool]:
    """Return ``x`` with a batch axis, and whether it had one before."""
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ValueError(
            f"{function}: x is {aval_of(x)}; needed one channel axis and {axes} spatial axes, with or without a batch "
            "axis before them. Reshape it."
        )
    return (x, True) if len(x.shape) == axes + 2 else (reshape(x, (1, *x.shape)), False)
