"""Sizes for each axis of space, as convolutions and pools are given them: one number for all, or a number for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.layout.shape import reshape

Sizes = tuple[int, ...]


def per_axis(function: str, name: str, value: Any, axes: int, least: int) -> Sizes:
    """The sizes of an argument, or an error that names it."""
    given = tuple(value) if isinstance(value, list | tuple) else (value,) * axes
    if len(given) == 1:
        given *= axes
    if len(given) != axes or not all(isinstance(n, int | np.integer) and n >= least for n in given):
        raise ValueError(f"{function}: {name} is {value!r}; needed an integer of {least} or more, or {axes} of them.")
    return tuple([int(n) for n in given])


def images(function: str, x: Any, axes: int) -> tuple[Any, bool]:
    """``x`` with an axis for the batch, and whether it had one."""
    if len(x.shape) not in (axes + 1, axes + 2):
        raise ValueError(
            f"{function}: x is {aval_of(x)}; needed {axes} axes of space after one of channels, with or without a "
            "batch before them. Reshape it."
        )
    return (x, True) if len(x.shape) == axes + 2 else (reshape(x, (1, *x.shape)), False)
