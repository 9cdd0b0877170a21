"""Axis numbers as NumPy takes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def normalize_axis(axis: Any, ndim: int) -> int:
    """The axis as a non-negative number."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis) % ndim
