"""Programs that take long to compile on XLA, and programs that are too long to compile: a warning and an error."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad._core.graph.ir import Graph
from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import caller_level
from funcgrad._engines.engine import Engine
from funcgrad.errors import LargeProgramWarning

_length: Any = LazyModule("funcgrad._core.graph.length")

# XLA compiles about 1,000 equations per second in stretches. In one program of this size it takes minutes, or crashes.
MANY_EQUATIONS = 8000


def warn_if_large(graph: Graph, name: str) -> bool:
    """Warn of a large program and name the line with the most equations; return whether it warned."""
    count = len(graph.equations)
    if count <= MANY_EQUATIONS:
        return False
    warnings.warn(
        f"jit: the program of {name} has {count:,} equations{_length.made_by(graph.equations, 1)}; XLA compiles some "
        "1,000 of them in a second, and fewer inside another function that jax.jit compiles. Write a loop that is "
        'unrolled with fg.scan or fg.fori_loop, which compile its body once; or compile with engine="numpy".',
        LargeProgramWarning,
        stacklevel=caller_level(),
    )
    return True


def refuse_if_too_long(graph: Graph, name: str, engine: Engine) -> None:
    """Refuse a program that the engine does not compile within minutes. Equations of the bodies of loops count."""
    equations = _length.every_equation(graph)
    if len(equations) > engine.most_equations:
        most = f'the engine "{engine.name}" compiles at most {engine.most_equations:,}'
        _length.refuse_long(f"jit: the program of {name}", equations, most)
