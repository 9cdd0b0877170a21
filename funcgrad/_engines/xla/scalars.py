"""Compute scalars from an optimizer's hyperparameters before the call, once for each change of the hyperparameters.

A step reads several scalars from one vector for each parameter. XLA would repeat their slices, casts and broadcasts in
each loop that it fuses; it cannot repeat an argument. Therefore the equations that read only this vector and make
scalars form a graph of their own. NumPy runs it once for each new vector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._core.graph.key import graph_key
from funcgrad._engines.engine import Tracing
from funcgrad._types import Value

# The limit exists because each argument costs some 0.4 us per call.
_MOST_SCALARS = 16
# Basic operations that make scalars of a vector, in addition to elementwise primitives.
_UNPACKING = frozenset({Basic.BARRIER, Basic.CAST, Basic.INDEX, Basic.RESHAPE, Basic.SPLIT})


class OtherScalarsError(Exception):
    """A program for other types reads other scalars, so it must be called with its arguments as they are."""


class SplitGraph(NamedTuple):
    """A graph in two parts.

    ``first`` makes scalars of one input; ``rest`` computes the results from them and other inputs.
    """

    first: Graph
    rest: Graph


def split_scalars(graph: Graph, vector: Var) -> SplitGraph | None:
    """Return the two parts of a graph; ``None`` if the graph reads more of the input than a few scalars made of it."""
    known = {vector}
    first: list[Equation] = []
    second: list[Equation] = []
    for equation in graph.equations:
        alone = _makes_scalars(equation) and all(type(x) is Literal or x in known for x in equation.operands)
        (first if alone else second).append(equation)
        known.update(equation.results if alone else ())
    read = dict.fromkeys(x for equation in second for x in equation.operands if type(x) is Var and x in known)
    read |= dict.fromkeys(x for x in graph.outputs if type(x) is Var and x in known - {vector})
    if not read or len(read) > _MOST_SCALARS or vector in read:
        return None
    others = [x for x in graph.inputs if x is not vector]
    # The unchanged vector is no result of the program; a zero takes its place among the outputs.
    outputs = [Literal(0.0) if x is vector else x for x in graph.outputs]
    return SplitGraph(
        trusted_graph([vector], (), first, list(read), f"numbers of {graph.name}"),
        trusted_graph([*others, *read], graph.constants, second, outputs, graph.name),
    )


def _makes_scalars(equation: Equation) -> bool:
    primitive = equation.primitive
    of_numbers = primitive.elementwise or primitive.forms.basic in _UNPACKING
    return of_numbers and all(y.aval.shape == () for y in equation.results)


def is_lasting(x: Value) -> bool:
    """Return whether an argument is a read-only NumPy array that owns its memory: scalars made of it stay valid."""
    return type(x) is np.ndarray and x.base is None and not x.flags.writeable


class Scalars:
    """The scalars that a program reads from one leaf, with those of the last call kept.

    Args:
        first: the graph that makes them.
        place: the position of the leaf.
        vector: the leaf of the first call.
        xla: the engine.
    """

    __slots__ = ("_first", "_last", "_xla", "count", "place", "vector")

    def __init__(self, first: Graph, place: int, vector: np.ndarray, xla: Tracing) -> None:
        self._first = first
        self._xla = xla
        self.place = place
        self.vector = vector
        self.count = len(first.outputs)
        # The leaf, the scalars made of it, and whether they are on the device.
        self._last: tuple[Any, list[Any], bool] = None, [], False

    def of(self, vector: Any) -> list[Any] | None:
        """Return the scalars for this leaf; ``None`` if the leaf may change, or is of another type."""
        held, made, is_placed = self._last
        if vector is held:
            if not is_placed:
                made = self._xla.as_arrays(made)
                self._last = held, made, True
            return made
        if not is_lasting(vector) or vector.shape != self.vector.shape or vector.dtype != self.vector.dtype:
            return None
        # XLA does not warn about a learning rate of 1e300, so NumPy must not either.
        with np.errstate(all="ignore"):
            made = [np.asarray(x) for x in self._first.evaluate(vector)]
        # 32-bit scalars stay NumPy's on the first use: a vector that is used once is not worth the copy to the device.
        is_placed = any(self._xla.is_wide(x.dtype) for x in made)
        made = self._xla.as_arrays(made) if is_placed else made
        self._last = vector, made, is_placed
        return made

    def rest_of(self, graph: Graph, vector: Var) -> Graph:
        """Return the part of a graph that reads the scalars."""
        parts = split_scalars(graph, vector)
        if parts is None or graph_key(parts.first) != graph_key(self._first):
            raise OtherScalarsError
        return parts.rest
