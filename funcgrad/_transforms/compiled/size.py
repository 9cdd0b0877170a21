"""The warning about programs so large that XLA takes long to compile them."""

from __future__ import annotations

import warnings
from collections import Counter

from funcgrad._core.graph.ir import Graph
from funcgrad._core.tracebacks import caller_level
from funcgrad.errors import LargeProgramWarning

# XLA compiles about 1,000 equations per second in stretches. In one program of this size it takes minutes, or crashes.
MANY_EQUATIONS = 8000


def warn_if_large(graph: Graph, name: str) -> bool:
    """Warn of a large program and name the line with the most equations; return whether it warned."""
    count = len(graph.equations)
    if count <= MANY_EQUATIONS:
        return False
    lines = Counter(equation.source.place for equation in graph.equations if equation.source is not None)
    most = lines.most_common(1)
    where = f", of which {most[0][1]:,} come from {most[0][0]}" if most else ""
    warnings.warn(
        f"jit: the program of {name} has {count:,} equations{where}; XLA compiles some 1,000 of them in a second, "
        "and fewer inside another function that jax.jit compiles. Write a loop that is unrolled with fg.scan or "
        'fg.fori_loop, which compile its body once; or compile with engine="numpy".',
        LargeProgramWarning,
        stacklevel=caller_level(),
    )
    return True
