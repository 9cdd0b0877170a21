"""What a program on XLA computes and NumPy refuses, by numbers that are not known when it is compiled.

These are Python integers among the arguments that stand beside narrower ones, which must have room there, and the
exponents of integers, which must not be negative. A program cannot raise, so it hands out these numbers too, and the
call looks at them. Others pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.forms import Requirement
from funcgrad._core.graph.ir import Equation, Graph, Literal, trusted_graph
from funcgrad._core.numbers import refuse_exponent, refuse_number
from funcgrad._engines.xla.door import xla


class Fit(NamedTuple):
    """A condition on a number that a program hands out: a dtype's room, or that of an exponent of integers."""

    dtype: np.dtype
    exponent: bool

    def check(self, x: Any) -> None:
        numbers, room = np.asarray(x), np.iinfo(self.dtype)
        outside = numbers[(numbers < (0 if self.exponent else room.min)) | (numbers > room.max)]
        if outside.size and self.exponent:
            refuse_exponent(int(outside.flat[0]))
        if outside.size:
            refuse_number(outside.flat[0], self.dtype)


def with_fits(graph: Graph) -> tuple[Graph, list[Fit]]:
    """The graph with the numbers that are looked at as further outputs, and what is asked of them."""
    found = [pair for each in graph.equations if (pair := _asked(each)) is not None]
    if not found:
        return graph, []
    outputs = [*graph.outputs, *[number for number, _ in found]]
    wider = trusted_graph(graph.inputs, graph.constants, graph.equations, outputs, graph.name)
    return wider, [fit for _, fit in found]


def _asked(equation: Equation) -> tuple[Any, Fit] | None:
    """The number of an equation that is to be looked at, if any."""
    requires = equation.primitive.forms.requires
    number = equation.operands[-1] if requires else None
    if number is None or type(number) is Literal:
        return None
    if requires is Requirement.HAS_ROOM:
        return number, Fit(equation.params["dtype"], exponent=False)
    dtype = number.aval.dtype
    return (number, Fit(dtype, exponent=True)) if dtype.kind == "i" else None


def without_fits(values: Sequence[Any], fits: Sequence[Fit]) -> list[Any]:
    """The results without these numbers; refused where one does not fit."""
    count = len(values) - len(fits)
    for x, fit in zip(values[count:], fits, strict=True):
        # Inside of a transform of JAX's it is not known.
        if not xla.is_jax_tracer(x):
            fit.check(x)
    return list(values[:count])
