"""The records of the engines that write source, ``"numpy"`` and ``"numba"``. Their compilers load when first used."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from funcgrad._core.bind import NUMPY_TYPES, bind
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.paths import PathTree
from funcgrad._core.lazy import LazyModule
from funcgrad._engines.engine import NO_SCOPE, Engine, Questions, Written
from funcgrad._engines.signature import Signature

_numpy: Any = LazyModule("funcgrad._engines.source.numpy")
_numba: Any = LazyModule("funcgrad._engines.source.numba")
_call: Any = LazyModule("funcgrad._engines.source.call")
_paths: Any = LazyModule("funcgrad._engines.source.paths")


def _compile_numpy(graph: Graph) -> Callable[..., list]:
    return _numpy.compile_numpy(graph)


def _written_numpy(graph: Graph, signature: Signature) -> Written:
    return _call.written(graph, signature)


def _written_paths_numpy(
    tree: PathTree, signature: Signature, questions: Questions, rolls_above: int | None
) -> Written:
    return _paths.written_paths(tree, signature, questions, rolls_above=rolls_above)


def _written_path_numba(graph: Graph, signature: Signature, answers: Sequence[Hashable]) -> Written | None:
    return _numba.written_path_numba(graph, signature, answers)


def _compile_numba(graph: Graph) -> Callable[..., list]:
    return _numba.compile_numba(graph)


def _written_numba(graph: Graph, signature: Signature) -> Written:
    return _numba.written_numba(graph, signature)


def _written_paths_numba(
    tree: PathTree, signature: Signature, questions: Questions, rolls_above: int | None
) -> Written:
    return _numba.written_paths_numba(tree, signature, questions, rolls_above)


NUMPY = Engine(
    name="numpy",
    owns=lambda x: type(x) in NUMPY_TYPES,
    # NumPy values run through `bind` directly: it has the shortest path.
    run=bind,
    compile=_compile_numpy,
    scope=lambda: NO_SCOPE,
    is_abstract=lambda x: False,
    known=lambda x: x,
    place_beside=lambda value, x: value,
    settle=lambda: None,
    is_tracing=lambda: False,
    spreads=lambda: False,
    lasting=lambda value, given: value,
    tracing=None,
    written=_written_numpy,
    written_paths=_written_paths_numpy,
    # A line of the written program costs little, so the paths share their beginning.
    written_path=None,
    # A line of the written program takes less time than a step of a loop.
    rolls_above=400,
    most_equations=500_000,
    splits_loops=True,
)

NUMBA = Engine(
    name="numba",
    # Its values are NumPy arrays, and the NumPy engine owns those.
    owns=lambda x: False,
    run=NUMPY.run,
    compile=_compile_numba,
    scope=lambda: NO_SCOPE,
    is_abstract=lambda x: False,
    known=NUMPY.known,
    place_beside=NUMPY.place_beside,
    settle=NUMPY.settle,
    is_tracing=NUMPY.is_tracing,
    spreads=NUMPY.spreads,
    lasting=NUMPY.lasting,
    tracing=None,
    written=_written_numba,
    written_paths=_written_paths_numba,
    written_path=_written_path_numba,
    rolls_above=64,
    most_equations=500_000,
    splits_loops=False,
)
