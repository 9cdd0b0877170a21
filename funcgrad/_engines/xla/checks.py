"""Check numbers that NumPy would refuse and that are known only when a compiled program runs.

A Python integer next to a narrower array must fit into that array's dtype, and an exponent of integers must not be
negative. A compiled program cannot raise, so it returns these numbers as further results, and the call checks them.
Programs without such numbers pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.forms import Requirement
from funcgrad._core.graph.ir import Equation, Graph, Literal, trusted_graph
from funcgrad._core.numbers import refuse_exponent, refuse_number
from funcgrad._engines.xla.record import xla
from funcgrad._types import Value


class NumberCheck(NamedTuple):
    """A condition on a number that a program returns: it fits into a dtype, or it is a valid exponent of integers."""

    dtype: np.dtype
    exponent: bool

    def check(self, x: Value) -> None:
        numbers, room = np.asarray(x), np.iinfo(self.dtype)
        outside = numbers[(numbers < (0 if self.exponent else room.min)) | (numbers > room.max)]
        if outside.size and self.exponent:
            refuse_exponent(int(outside.flat[0]))
        if outside.size:
            refuse_number(outside.flat[0], self.dtype)


def with_checks(graph: Graph) -> tuple[Graph, list[NumberCheck]]:
    """Return the graph with the numbers to check as further outputs, and their conditions."""
    found = [pair for each in graph.equations if (pair := _asked(each)) is not None]
    if not found:
        return graph, []
    outputs = [*graph.outputs, *[number for number, _ in found]]
    wider = trusted_graph(graph.inputs, graph.constants, graph.equations, outputs, graph.name)
    return wider, [check for _, check in found]


def _asked(equation: Equation) -> tuple[Any, NumberCheck] | None:
    """Return the number of an equation that must be checked, with its condition; ``None`` if there is none."""
    requires = equation.primitive.forms.requires
    number = equation.operands[-1] if requires else None
    if number is None or type(number) is Literal:
        return None
    if requires is Requirement.HAS_ROOM:
        return number, NumberCheck(equation.params["dtype"], exponent=False)
    dtype = number.aval.dtype
    return (number, NumberCheck(dtype, exponent=True)) if dtype.kind == "i" else None


def checked(values: Sequence[Any], checks: Sequence[NumberCheck]) -> list[Any]:
    """Check the further results, and return the results without them."""
    count = len(values) - len(checks)
    for x, check in zip(values[count:], checks, strict=True):
        # A tracer of JAX has no value to check.
        if not xla.is_jax_tracer(x):
            check.check(x)
    return list(values[:count])
