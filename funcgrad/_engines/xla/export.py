"""Export graphs as StableHLO, the language that XLA reads."""

from __future__ import annotations

import jax

from funcgrad._core.graph.ir import Graph
from funcgrad._engines.xla.run import compile_function, scope


def stablehlo(graph: Graph) -> str:
    """Return the StableHLO module of a graph: one function of its flat inputs."""

    def main(*leaves: jax.Array) -> list:
        return graph.evaluate(*leaves)

    main.__name__ = main.__qualname__ = graph.name if graph.name.isidentifier() else "graph"
    types = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype, weak_type=x.aval.weak) for x in graph.inputs]
    with scope():
        return compile_function(main).lower(*types).as_text()
