"""Python integers among the arguments of a program on XLA, which stand beside narrower ones: whether they had room.

A program cannot raise, so it hands out these numbers too, and the call looks at them. Others pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Graph, Literal
from funcgrad._core.numbers import refuse_number
from funcgrad._engines.xla.door import xla


def with_fits(graph: Graph) -> tuple[Graph, list[np.dtype]]:
    """The graph with the numbers that must have room as further outputs, and the dtypes that must have it."""
    # By name: primitives lie above the engines.
    fits = [each for each in graph.equations if each.primitive.name == "fit" and type(each.operands[0]) is not Literal]
    if not fits:
        return graph, []
    outputs = [*graph.outputs, *[each.operands[0] for each in fits]]
    wider = Graph(graph.inputs, graph.constants, graph.equations, outputs, graph.name)
    return wider, [each.params["dtype"] for each in fits]


def without_fits(values: Sequence[Any], dtypes: Sequence[np.dtype]) -> list[Any]:
    """The results without these numbers; refused where one had no room."""
    count = len(values) - len(dtypes)
    for x, dtype in zip(values[count:], dtypes, strict=True):
        # Inside of a transform of JAX's it is not known.
        if not xla.is_jax_tracer(x):
            numbers, room = np.asarray(x), np.iinfo(dtype)
            outside = numbers[(numbers < room.min) | (numbers > room.max)]
            if outside.size:
                refuse_number(outside.flat[0], dtype)
    return list(values[:count])
