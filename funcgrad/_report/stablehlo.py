"""Write graphs in StableHLO."""

from __future__ import annotations

from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import Graph
from funcgrad._engines.xla.record import xla
from funcgrad.errors import ConcretizationTypeError


def to_stablehlo(graph: Graph) -> str:
    """Return the text of the module."""
    for _, value in graph.constants:
        if isinstance(value, Tracer):
            raise ConcretizationTypeError(
                f"to_stablehlo: a constant of {graph.name} is traced by a running {value._owner.transform}; needed "
                "numbers, because the text contains them. Make the graph outside of transforms, or make it an "
                "argument."
            )
    return xla.stablehlo(graph)
