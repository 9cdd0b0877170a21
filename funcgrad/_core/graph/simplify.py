"""Simplification of graphs: constants are folded, equal equations merged, and dead ones dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NUMPY_TYPES, Tracer, bind
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var
from funcgrad._core.graph.key import params_key, value_key

# A folded constant may be this large where the program was smaller: repeating a number is cheaper than reading it.
_FOLD_LIMIT_BYTES = 4096


def simplify(graph: Graph) -> Graph:
    """The same function with fewer equations; inputs and outputs keep their order, and all inputs stay."""
    return drop_dead(_Folder(graph).fold())


class _Folder:
    """One pass in order: each operand is replaced by what its equation was folded or merged into."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants: dict[Var, Any] = dict(graph.constants)
        self.replaced: dict[Var, Operand] = {}
        self.known: dict[Any, tuple[Var, ...]] = {}

    def fold(self) -> Graph:
        kept = []
        for equation in self.graph.equations:
            operands = tuple([self._current(x) for x in equation.operands])
            if self._fold_by_rule(equation, operands) or self._fold_constants(equation, operands):
                continue
            key = _key(equation, operands)
            found = self.known.get(key) if key is not None else None
            if found is not None:
                self.replaced.update(zip(equation.results, found, strict=True))
                continue
            if key is not None:
                self.known[key] = equation.results
            kept.append(Equation(equation.primitive, operands, equation.params, equation.results, equation.source))
        outputs = [self._current(x) for x in self.graph.outputs]
        graph = self.graph
        return Graph(graph.inputs, list(self.constants.items()), kept, outputs, graph.name, graph.trees)

    def _current(self, x: Operand) -> Operand:
        return self.replaced.get(x, x) if type(x) is Var else x

    def _fold_by_rule(self, equation: Equation, operands: tuple[Operand, ...]) -> bool:
        rule = equation.primitive.fold
        found = None if rule is None else rule(operands, equation.results[0].aval, **equation.params)
        if found is None:
            return False
        self.replaced[equation.results[0]] = found if isinstance(found, Var | Literal) else Literal(found)
        return True

    def _fold_constants(self, equation: Equation, operands: tuple[Operand, ...]) -> bool:
        if equation.primitive.multiple_results or not all(type(x) is Literal or x in self.constants for x in operands):
            return False
        values = tuple([x.value if isinstance(x, Literal) else self.constants[x] for x in operands])
        (result,) = equation.results
        limit = max(_FOLD_LIMIT_BYTES, sum(x.aval.nbytes for x in operands))
        if result.aval.nbytes > limit or any(isinstance(value, Tracer) for value in values):
            return False
        value = bind(equation.primitive, values, equation.params)
        if result.aval.shape == () and type(value) in NUMPY_TYPES:
            self.replaced[result] = Literal(value[()] if isinstance(value, np.ndarray) else value)
        else:
            self.constants[result] = value
        return True


def _key(equation: Equation, operands: tuple[Operand, ...]) -> Any:
    """What makes two equations the same; ``None`` where that cannot be told."""
    names = tuple([value_key(x.value) if type(x) is Literal else x for x in operands])
    try:
        key = (equation.primitive, names, params_key(equation.params))
        hash(key)
    except TypeError:
        return None
    return key


def drop_dead(graph: Graph) -> Graph:
    """Without the equations and constants that no output depends on."""
    live = {x for x in graph.outputs if type(x) is Var}
    kept = []
    for equation in reversed(graph.equations):
        if any(var in live for var in equation.results):
            kept.append(equation)
            live.update(x for x in equation.operands if type(x) is Var)
    constants = [(var, value) for var, value in graph.constants if var in live]
    return Graph(graph.inputs, constants, kept[::-1], graph.outputs, graph.name, graph.trees)


def partition(graph: Graph, known: int, count: int) -> tuple[Graph, Graph]:
    """Cut a graph in two at what only the first ``known`` inputs determine.

    Args:
        graph: its first ``count`` outputs must depend on the known inputs only.
        known: how many inputs the first part has.
        count: how many outputs the first part gives, before the residuals.

    Returns:
        ``first``: known inputs to the first outputs, followed by the residuals. ``second``: residuals, followed by the
        other inputs, to the other outputs.
    """
    unknown: set[Any] = set(graph.inputs[known:])
    first, second = [], []
    for equation in graph.equations:
        if any(x in unknown for x in equation.operands):
            second.append(equation)
            unknown.update(equation.results)
        else:
            first.append(equation)
    constants = dict(graph.constants)
    made = {var for equation in second for var in equation.results} | unknown | set(constants)
    read = [x for equation in second for x in equation.operands] + list(graph.outputs[count:])
    residuals = list(dict.fromkeys(x for x in read if type(x) is Var and x not in made))
    forward = Graph(graph.inputs[:known], graph.constants, first, [*graph.outputs[:count], *residuals], graph.name)
    inputs = [*residuals, *graph.inputs[known:]]
    backward = Graph(inputs, graph.constants, second, graph.outputs[count:], f"transpose_{graph.name}")
    return drop_dead(forward), drop_dead(backward)


def lift_tracers(graph: Graph) -> tuple[Graph, list[Any]]:
    """The graph with the tracers among its constants as further inputs, and those tracers."""
    captured = [(var, value) for var, value in graph.constants if isinstance(value, Tracer)]
    if not captured:
        return graph, []
    constants = [(var, value) for var, value in graph.constants if not isinstance(value, Tracer)]
    inputs = [*graph.inputs, *[var for var, _ in captured]]
    return Graph(inputs, constants, graph.equations, graph.outputs, graph.name), [value for _, value in captured]


def avals_of(values: Any) -> tuple[Aval, ...]:
    """The avals of several values, as a key of what was staged for them."""
    return tuple([aval_of(value) for value in values])
