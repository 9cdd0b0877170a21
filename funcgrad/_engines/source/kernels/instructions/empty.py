"""Lower operations on empty arrays, such as the first round of `a[i, :j] @ a[:j, j]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Operand
from funcgrad._engines.source.kernels.equations import lowered
from funcgrad._engines.source.kernels.lowering import Lowering, number
from funcgrad._engines.source.kernels.nodes import KernelMemory
from funcgrad._engines.source.kernels.rounds import round_by_round

# A loop of more operations than this, in all of its rounds, is not written round by round.
_MOST = 4000
_SUMS = frozenset({Basic.MATMUL, Basic.DOT_GENERAL})


def has_empty(equation: Equation) -> bool:
    """Return whether an operand or a result has no elements."""
    return any(0 in x.aval.shape for x in (*equation.operands, *equation.results))


def lowered_round(w: Lowering, equation: Equation) -> bool:
    """Record the results of an operation of a loop's body; return whether it has a form."""
    return lowered_empty(w, equation) if has_empty(equation) else lowered(w, equation)


def lowered_empty(w: Lowering, equation: Equation) -> bool:
    """Record the results of an operation on empty arrays; return whether it has a form."""
    basic, results = equation.primitive.forms.basic, list(equation.results)
    if all(not var.aval.size for var in results):
        w.known.update({var: KernelMemory(var.aval.dtype, var.aval.shape).whole() for var in results})
        return True
    if basic is Basic.SCAN:
        loop = equation.params["loop"]
        # The empty arrays take no memory that the rounds of a loop could share.
        return loop.length * len(loop.body.equations) <= _MOST and round_by_round(w, equation)
    if len(results) > 1:
        return False
    if basic is Basic.SCATTER:
        return _scattered(w, equation)
    known = None
    if basic in _SUMS or (basic is Basic.REDUCTION and equation.primitive.forms.ufunc is np.add):
        known = number(0, results[0].aval.dtype)
    elif basic is Basic.WRITE:
        known = w.access(equation.operands[0])
    return known is not None and w.set(equation, known)


def _scattered(w: Lowering, equation: Equation) -> bool:
    """Lower a sum of pieces without those that are empty."""
    params = equation.params
    if any(index.slots for index in params["indices"]):
        return False
    pairs: list[tuple[Operand, Any]] = [
        (x, index) for x, index in zip(equation.operands, params["indices"], strict=True) if x.aval.size
    ]
    if not pairs:
        return w.set(equation, number(0, equation.results[0].aval.dtype))
    operands, indices = zip(*pairs, strict=True)
    rest = Equation(equation.primitive, operands, {**params, "indices": indices}, equation.results, equation.source)
    return w.lower(w, rest)
