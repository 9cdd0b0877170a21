"""The record of an engine: every function that the rest of the package may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from funcgrad._core.graph.ir import Graph
    from funcgrad._core.graph.paths import PathTree
    from funcgrad._core.primitive import Primitive
    from funcgrad._engines.signature import Signature
    from funcgrad.tree import TreeDef


# A function of the user's arguments, and its source.
Written = tuple["Callable[[tuple, dict], Any]", str]
# For each question of a guard, the function that answers it.
Questions = dict[str, "Callable[[Any], Any]"]


class Tracing(Protocol):
    """Functions of an engine that compiles whole functions of pytrees by tracing them itself. ``fg.jit`` calls them.

    ``flatten`` flattens arguments as the compiler does. ``compile_function`` takes the compiler's options.
    ``PackedResults`` is a pytree that the compiler accepts: values, and the plan to rebuild the result from them.
    ``is_long`` returns whether `Engine.compile` compiles a graph instead. ``is_wide`` returns whether JAX would cut
    values of a dtype to 32 bits outside ``scope``. ``enter`` enters that scope; it returns ``WIDE_LAST`` where 64-bit
    values keep their bits anyway. ``leave`` takes what ``enter`` returned.
    ``spread_over`` returns a sharding for each leaf of a tree, from a prefix of the tree. ``laid_out`` shards traced
    values so. ``jaxs_tree`` returns the compiler's treedef for a result, or ``None`` if its dicts would get another
    order. ``put`` moves an argument to its sharding before the call, and ``typed_at`` is the type of that argument.
    """

    flatten: Callable[[Any], tuple[list[Any], Any]]
    compile_function: Callable[..., Any]
    scope: Callable[[], AbstractContextManager[Any]]
    enter: Callable[[], Any]
    leave: Callable[[Any], None]
    is_long: Callable[[Graph], bool]
    is_wide: Callable[[np.dtype], bool]
    as_arrays: Callable[[Sequence[Any]], list[Any]]
    as_result: Callable[[Any], Any]
    lasting: Callable[..., Any]
    spread_over: Callable[[Any, Any], list[Any]]
    laid_out: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
    put: Callable[[Any, Any], Any]
    typed_at: Callable[[Any, Any], Any]
    jaxs_tree: Callable[[TreeDef], Any]
    rebuild: Callable[[TreeDef], Callable[[Sequence[Any]], Any]]
    PackedResults: Callable[[tuple[Any, Sequence[Any]]], Any]
    WIDE_LAST: Any


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Engine:
    """The functions that run primitives and compile graphs.

    Args:
        name: the value of ``engine=`` in ``fg.jit``.
        owns: returns whether a value of a new type belongs to this engine, which then runs each operation on it.
        run: ``run(primitive, operands, params)`` on bare values, at least one of which is the engine's own.
        compile: compiles a graph to a function from flat bare values to a flat list. It runs once for each graph.
        scope: returns the mode in which operators on the engine's values act as in NumPy.
        is_abstract: returns whether one of its values is a tracer of the engine, whose numbers are not known yet.
        known: returns the array whose numbers a value stands for, NumPy's own in a trace; ``None`` if they are unknown.
        place_beside: ``place_beside(value, x)`` puts a NumPy value on the devices of its array ``x``.
        lasting: ``lasting(value, given)`` returns a result in the form that a caller who passed ``given`` can keep.
        tracing: functions to compile whole functions of pytrees by tracing them, so that a call runs none of our
            Python; ``None`` if ``fg.jit`` stages the function and ``compile`` takes the graph.
        written: ``written(graph, signature)`` returns a function of the user's arguments, check and results
            included, and its source; ``None`` if the engine writes no source, and calls use ``compile``.
        written_paths: ``written_paths(tree, signature, questions, rolls_above)`` returns the same for a tree of paths.
            Stretches of more than ``rolls_above`` equations are rolled, and loops of guards; ``None`` for neither.
        written_path: ``written_path(graph, signature, answers)`` returns the same for one path with its guards, or
            ``None`` where the tree is better. It is for engines to which a call of compiled code costs much.
        rolls_above: a program of more equations than this is rolled before it is compiled (`Graph.roll`).
        most_equations: a program that still has more is refused. Compiling it would take minutes.
        splits_loops: whether each operation of a round is a call of Python, so that small rounds are split: what needs
            no round before runs once for all rounds.
        settle: waits for all Python functions that its programs call.
        is_tracing: returns whether the engine is tracing a function in this thread now.
        spreads: returns whether arrays can be sharded: over several devices, or on a mesh of one that was used.
    """

    name: str
    owns: Callable[[Any], bool]
    run: Callable[[Primitive, tuple, dict], Any]
    compile: Callable[[Graph], Callable[..., list]]
    scope: Callable[[], AbstractContextManager[Any]]
    is_abstract: Callable[[Any], bool]
    known: Callable[[Any], Any]
    place_beside: Callable[[Any, Any], Any]
    lasting: Callable[[Any, Any], Any]
    tracing: Tracing | None
    written: Callable[[Graph, Signature], Written] | None
    written_paths: Callable[[PathTree, Signature, Questions, int | None], Written] | None
    written_path: Callable[[Graph, Signature, Sequence[Hashable]], Written | None] | None
    rolls_above: int
    most_equations: int
    splits_loops: bool
    settle: Callable[[], None]
    is_tracing: Callable[[], bool]
    spreads: Callable[[], bool]


class _NoScope:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


NO_SCOPE: Any = _NoScope()

# Engines other than NumPy that were used already. While this list is empty, no value is tested for its engine, and no
# mode is entered.
in_use: list[Engine] = []
