"""Places that differ from round to round, such as ``p[label[t]]`` of the probabilities that round t computes.

The integer is part of the equation, so equations of two rounds are of two kinds. Here it becomes an operand, which a
loop reads as one of its numbers. Reverse mode scatters to the same place, so its integers become operands too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, trusted_graph
from funcgrad._core.graph.repeats import LEAST_ROUNDS
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.patterns import HOLE, Key, Pattern, entries_of, pattern_of

# The places of one kind of array that are labels: the type and the pattern, and which of the integers are operands.
_Labels = dict[Any, tuple[bool, ...]]


def labelled(graph: Graph) -> Graph | None:
    """Return the same program with labels as operands; ``None`` if it has none."""
    labels = _labels(graph)
    if not labels:
        return None
    return _with_equations(graph, [_labelled(each, labels) for each in graph.equations])


def unlabelled(graph: Graph) -> Graph:
    """Return a program in which the labels that are numbers are part of their equations again."""
    return _with_equations(graph, [_unlabelled(each) for each in graph.equations])


def _labels(graph: Graph) -> _Labels:
    """Return the kinds of places that are labels.

    Each of several results has one such place that is read, and the integers of these places differ.
    """
    # Rows of arrays that are written, and of sums with scattered rows, are found by other means.
    updated = {x for each in graph.equations if each.primitive in (scatter_set_p, scatter_p) for x in each.results}
    made = {x for each in graph.equations if updated.isdisjoint(each.operands) for x in each.results} - updated
    keys: dict[Any, dict[Operand, set[Key]]] = {}
    for equation, (pattern, key) in _at_integers(graph.equations):
        x = equation.operands[0]
        if equation.primitive is index_p and x in made:
            keys.setdefault((x.aval, pattern), {}).setdefault(x, set()).add(key)
    labels: _Labels = {}
    for kind, found in keys.items():
        single = [next(iter(each)) for each in found.values() if len(each) == 1]
        if len(single) == len(found) >= LEAST_ROUNDS and len(set(single)) > 1:
            pattern = kind[1]
            # Kernels take index arrays along the first axes.
            is_first = set(pattern) == {HOLE}
            labels[kind] = tuple([is_first or len(set(column)) > 1 for column in zip(*single, strict=True)])
    return labels


def _at_integers(equations: Iterable[Equation]) -> Iterator[tuple[Equation, tuple[Pattern, Key]]]:
    """Return the reads of parts at integers, and the scatters of one part, with these parts."""
    for equation in equations:
        part = _part_of(equation)
        if part is not None:
            yield equation, part


def _part_of(equation: Equation) -> tuple[Pattern, Key] | None:
    if len(equation.operands) != 1:
        return None
    if equation.primitive is index_p:
        return pattern_of(equation.params["index"], equation.operands[0].aval.shape)
    if equation.primitive is scatter_p:
        return pattern_of(equation.params["indices"][0], equation.params["shape"])
    return None


def _labelled(equation: Equation, labels: _Labels) -> Equation:
    part = _part_of(equation)
    if part is None:
        return equation
    array = equation.operands[0] if equation.primitive is index_p else equation.results[0]
    differ = labels.get((array.aval, part[0]))
    if differ is None:
        return equation
    entries = entries_of(part[0], [SLOT if moves else k for moves, k in zip(differ, part[1], strict=True)])
    places = [Literal(np.int64(k)) for moves, k in zip(differ, part[1], strict=True) if moves]
    return _indexed(equation, (equation.operands[0], *places), Index(entries))


def _unlabelled(equation: Equation) -> Equation:
    if equation.primitive is index_p:
        index = equation.params["index"]
    elif equation.primitive is scatter_p and len(equation.params["indices"]) == 1:
        (index,) = equation.params["indices"]
    else:
        return equation
    places = equation.operands[1:]
    if not places or not all(type(x) is Literal for x in places):
        return equation
    rest = iter([int(x.value) for x in places if type(x) is Literal])
    entries = tuple([next(rest) if each is SLOT else each for each in index.entries])
    return _indexed(equation, equation.operands[:1], Index(entries))


def _indexed(equation: Equation, operands: tuple[Operand, ...], index: Index) -> Equation:
    """Return an equation with another index."""
    if equation.primitive is index_p:
        params: dict[str, Any] = {"index": index}
    else:
        params = {**equation.params, "indices": (index,)}
    return Equation(equation.primitive, operands, params, equation.results, equation.source)


def _with_equations(graph: Graph, equations: Sequence[Equation]) -> Graph:
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


__all__ = ["labelled", "unlabelled"]
