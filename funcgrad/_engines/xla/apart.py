"""Numbers that follow from what a program hands through, as an optimizer's hyperparameters: computed before the call.

XLA takes a scalar of a vector apart anew (slice, conversion, broadcast) in each loop that it fuses, and a step has some
for each parameter; what is an argument it cannot repeat. So the equations that read nothing else, and make scalars, are
a program of their own, which runs on NumPy once for each object that is handed through.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._core.graph.key import graph_key
from funcgrad._engines.engine import Tracing

# An argument costs some 0.4 us a call.
_MOST_SCALARS = 16
# The basic operations, beside elementwise ones, that make numbers of a vector.
_TAKING_APART = frozenset({Basic.BARRIER, Basic.CAST, Basic.INDEX, Basic.RESHAPE, Basic.SPLIT})


class OtherNumbersError(Exception):
    """A program for other types reads other numbers: it is called with its arguments as they are."""


class Parts(NamedTuple):
    """A graph in two: ``first`` makes scalars of one input, ``rest`` all else of the other inputs and these scalars."""

    first: Graph
    rest: Graph


def apart(graph: Graph, vector: Var) -> Parts | None:
    """The two parts, where of an input nothing is read but scalars that are made of it."""
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
    # What is handed through is no result of the program; something must stand in its place.
    outputs = [Literal(0.0) if x is vector else x for x in graph.outputs]
    return Parts(
        trusted_graph([vector], (), first, list(read), f"numbers of {graph.name}"),
        trusted_graph([*others, *read], graph.constants, second, outputs, graph.name),
    )


def _makes_scalars(equation: Equation) -> bool:
    primitive = equation.primitive
    of_numbers = primitive.elementwise or primitive.forms.basic in _TAKING_APART
    return of_numbers and all(y.aval.shape == () for y in equation.results)


def is_lasting(x: Any) -> bool:
    """Whether an argument is NumPy's own memory that nobody can write to: what was made of it holds as long as it."""
    return type(x) is np.ndarray and x.base is None and not x.flags.writeable


class Numbers:
    """The scalars that a program reads of one leaf, and those of the last call.

    Args:
        first: what makes them.
        place: where the leaf stands.
        vector: the one that it was made for.
        xla: the engine.
    """

    __slots__ = ("_first", "_last", "_xla", "count", "place", "vector")

    def __init__(self, first: Graph, place: int, vector: np.ndarray, xla: Tracing) -> None:
        self._first = first
        self._xla = xla
        self.place = place
        self.vector = vector
        self.count = len(first.outputs)
        # The leaf, what was made of it, and whether that lies on the device.
        self._last: tuple[Any, list[Any], bool] = None, [], False

    def of(self, vector: Any) -> list[Any] | None:
        """The scalars for this leaf; ``None`` where it may change, or is of another type."""
        held, made, is_placed = self._last
        if vector is held:
            if not is_placed:
                made = self._xla.as_arrays(made)
                self._last = held, made, True
            return made
        if not is_lasting(vector) or vector.shape != self.vector.shape or vector.dtype != self.vector.dtype:
            return None
        # As on XLA nobody is told of a learning rate of 1e300.
        with np.errstate(all="ignore"):
            made = [np.asarray(x) for x in self._first.evaluate(vector)]
        # What JAX has in its other mode too goes as it is: a number that is there once is not worth a place.
        is_placed = any(self._xla.is_wide(x.dtype) for x in made)
        made = self._xla.as_arrays(made) if is_placed else made
        self._last = vector, made, is_placed
        return made

    def rest_of(self, graph: Graph, vector: Var) -> Graph:
        """The part of a graph that reads them."""
        parts = apart(graph, vector)
        if parts is None or graph_key(parts.first) != graph_key(self._first):
            raise OtherNumbersError
        return parts.rest
