"""The engine as a record: all that the rest of the package asks of what runs primitives and compiles graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from funcgrad._core.graph.ir import Graph
    from funcgrad._core.primitive import Primitive
    from funcgrad._engines.signature import Signature
    from funcgrad.tree import TreeDef


class Tracing(Protocol):
    """What compiles whole functions of pytrees by tracing them itself: names of a module, which ``fg.jit`` asks for.

    ``flatten`` takes arguments apart as the compiler does; ``compile_function`` takes the compiler's options.
    ``Packed`` is a pytree of values that the compiler takes, after the plan of how they are put together.
    ``is_wide`` says of a dtype whether outside of ``scope`` its values would be cut; ``enter`` enters it, and returns
    ``WIDE_LAST`` where they are not; ``leave`` takes what it returned. ``spread_over`` gives for each leaf of a tree
    how a prefix of the tree wants it spread over devices, and ``laid_out`` has values spread so; an argument
    is ``put`` there before the call, and ``typed_at`` is its type.
    """

    flatten: Callable[[Any], tuple[list[Any], Any]]
    compile_function: Callable[..., Any]
    scope: Callable[[], AbstractContextManager[Any]]
    enter: Callable[[], Any]
    leave: Callable[[Any], None]
    is_wide: Callable[[np.dtype], bool]
    as_arrays: Callable[[Sequence[Any]], list[Any]]
    as_result: Callable[[Any], Any]
    lasting: Callable[..., Any]
    spread_over: Callable[[Any, Any], list[Any]]
    laid_out: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
    put: Callable[[Any, Any], Any]
    typed_at: Callable[[Any, Any], Any]
    rebuild: Callable[[TreeDef], Callable[[Sequence[Any]], Any]]
    Packed: Callable[[tuple[Any, Sequence[Any]]], Any]
    WIDE_LAST: Any


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Engine:
    """What runs primitives and compiles graphs.

    Args:
        name: what ``fg.jit`` knows it by.
        owns: whether a value of a type not met before is this engine's, which then runs what it is an operand of.
        run: ``run(primitive, operands, params)`` on bare values, of which at least one is its own.
        compile: a graph as a function of flat bare values that returns a flat list. It is made once for each graph.
        scope: the mode in which operators work on its values as NumPy's do.
        is_abstract: whether one of its values stands for numbers that are not known yet, in a trace of its own.
        place_beside: ``place_beside(value, x)``, a NumPy value where its array ``x`` lies.
        lasting: ``lasting(value, given)``, a result as the caller may get it who gave these values.
        tracing: what compiles whole functions of pytrees in place of ``fg.jit``, by tracing them itself, so that a call
            runs none of our Python; ``None`` where ``fg.jit`` stages the
            function and ``compile`` takes the graph.
        written: ``written(graph, signature)``, a graph as a function of the user's arguments, guard and results
            included, and its source; ``None`` where it writes no source, and calls go by way of ``compile``.
        settle: waits until what its programs call in Python has been called.
        is_tracing: whether it makes a program in this thread right now, by running what the program is to do.
        spreads: whether it has several devices, over which its arrays may be spread.
    """

    name: str
    owns: Callable[[Any], bool]
    run: Callable[[Primitive, tuple, dict], Any]
    compile: Callable[[Graph], Callable[..., list]]
    scope: Callable[[], AbstractContextManager[Any]]
    is_abstract: Callable[[Any], bool]
    place_beside: Callable[[Any, Any], Any]
    lasting: Callable[[Any, Any], Any]
    tracing: Tracing | None
    written: Callable[[Graph, Signature], tuple[Callable[[tuple, dict], Any], str]] | None
    settle: Callable[[], None]
    is_tracing: Callable[[], bool]
    spreads: Callable[[], bool]


class _NoScope:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


NO_SCOPE: Any = _NoScope()

# Engines beside NumPy that something has been asked of. Before that their modes are nobody's concern, and nobody asks
# of a value whether it is theirs.
in_use: list[Engine] = []
