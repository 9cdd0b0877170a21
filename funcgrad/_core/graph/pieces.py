"""Sums of pieces of an array: whether pieces overlap, and which results have no negative zero."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.equation import Equation, Operand

# The operations whose elements are those of their operand.
VIEWS = frozenset({Basic.INDEX, Basic.RESHAPE, Basic.TRANSPOSE, Basic.COPY, Basic.FLIP, Basic.BROADCAST})
# Sums of more pieces are not searched for overlaps, which takes time.
_PIECES = 8


def are_apart(equation: Equation) -> bool:
    """Return whether no element is in two pieces of a sum at indices without arrays."""
    indices = equation.params["indices"]
    if len(indices) == 1:
        return True
    if len(indices) > _PIECES:
        return False
    taken = np.zeros(equation.params["shape"], bool)
    for index in indices:
        if np.any(taken[index.entries]):
            return False
        taken[index.entries] = True
    return True


def is_plain(equation: Equation, has_plain: Callable[[Operand], bool]) -> bool:
    """Return whether no element of the result is a negative zero, if ``has_plain`` tells it for an operand."""
    basic, operands, params = equation.primitive.forms.basic, equation.operands, equation.params
    if equation.primitive.numpy is np.add:
        return any(map(has_plain, operands))
    if basic is Basic.SCATTER:
        return True
    if basic is Basic.WRITE:
        return not params["index"].slots and all(map(has_plain, operands))
    if basic is Basic.FILL:
        return type(params["value"]) in (int, float) and math.copysign(1, params["value"]) > 0
    return basic in VIEWS and len(operands) == 1 and has_plain(operands[0])
