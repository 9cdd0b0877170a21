"""Simplification of graphs: constants are folded, equal equations merged, dead ones dropped, and rules applied.

Rules are registered from above, where primitives have names (``_ops/program/rules.py``). A rule reads one equation, may
look at what made its operands, and answers with what stands for its result: an operand there is already, or one that it
has made by further equations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NUMPY_TYPES, Tracer, bind
from funcgrad._core.choose import choose
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.key import params_key, value_key

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# A folded constant may be this large where the program was smaller: repeating a number is cheaper than reading it.
_FOLD_LIMIT_BYTES = 4096


def simplify(graph: Graph, *, numbers_are_data: bool = False) -> Graph:
    """The same function with fewer equations; inputs and outputs keep their order, and all inputs stay.

    Where numbers are data no rule looks at them: a program for another number has the same structure.
    """
    return drop_dead(_Folder(graph, numbers_are_data).fold())


class Site:
    """One equation, as a rule sees it.

    Args:
        folder: the program so far.
        operands: those of the equation, simplified.
        params: its parameters.
        aval: the type of its result.
        source: its line.
    """

    __slots__ = ("_folder", "_source", "aval", "operands", "params", "primitive")

    def __init__(
        self,
        folder: _Folder,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        params: dict,
        aval: Aval,
        source: Any,
    ) -> None:
        self._folder = folder
        self._source = source
        self.primitive = primitive
        self.operands = operands
        self.params = params
        self.aval = aval

    def made(self, x: Operand, primitive: Primitive) -> Equation | None:
        """The equation that makes an operand, where it is one of this primitive."""
        equation = self._folder.makers.get(x) if type(x) is Var else None
        return equation if equation is not None and equation.primitive is primitive else None

    def constant(self, x: Operand) -> Any:
        """The value of an operand; ``None`` where it is computed, or is data."""
        if self._folder.numbers_are_data:
            return None
        return x.value if type(x) is Literal else self._folder.constants.get(x)

    def emit(self, primitive: Primitive, *operands: Operand, **params: Any) -> Operand:
        """The result of one more equation."""
        avals = [x.aval for x in operands]
        return self._folder.add(primitive, operands, params, (Var(primitive.aval(*avals, **params)),), self._source)


Rule = Callable[[Site], Operand | None]

# By primitive, in the order in which they are tried.
RULES: dict[Any, tuple[Rule, ...]] = {}
# Of all that work element by element.
ELEMENTWISE_RULES: list[Rule] = []


class _Folder:
    """One pass in order: each operand is replaced by what its equation was folded or merged into."""

    def __init__(self, graph: Graph, numbers_are_data: bool) -> None:
        self.graph = graph
        self.numbers_are_data = numbers_are_data
        self.constants: dict[Any, Any] = dict(graph.constants)
        self.replaced: dict[Var, Operand] = {}
        self.known: dict[Any, tuple[Var, ...]] = {}
        self.kept: list[Equation] = []
        # What made each variable that is not an input.
        self.makers: dict[Operand, Equation] = {}
        self._shown = _shown(graph)

    def fold(self) -> Graph:
        graph = self.graph
        for equation in graph.equations:
            operands = tuple([self._current(x) for x in equation.operands])
            self.add(equation.primitive, operands, equation.params, equation.results, equation.source)
        outputs = [self._current(x) for x in graph.outputs]
        return trusted_graph(graph.inputs, list(self.constants.items()), self.kept, outputs, graph.name, graph.trees)

    def add(
        self, primitive: Primitive, operands: tuple[Operand, ...], params: dict, results: tuple[Var, ...], source: Any
    ) -> Operand:
        """Append an equation, or note what stands for its results; returns what stands for the first."""
        equation = Equation(primitive, operands, params, results, source)
        if self._fold_by_rule(equation, operands) or self._fold_constants(equation, operands):
            return self._current(results[0])
        everywhere = ELEMENTWISE_RULES if primitive.elementwise and _is_fresh(primitive) else ()
        for rule in (*RULES.get(primitive, ()), *everywhere):
            found = rule(Site(self, primitive, operands, params, results[0].aval, source))
            if found is not None and self._may_stand(found, results[0], primitive):
                self.replaced[results[0]] = found
                if results[0] in self._shown:
                    self._shown.add(found)
                return found
        key = _key(equation, operands)
        same = self.known.get(key) if key is not None else None
        if same is not None and not equation.has_effect:
            self.replaced.update(zip(results, same, strict=True))
            return same[0]
        if key is not None:
            self.known[key] = results
        self.kept.append(equation)
        self.makers.update(dict.fromkeys(results, equation))
        return results[0]

    def _may_stand(self, x: Operand, result: Var, primitive: Primitive) -> bool:
        """Whether one operand may take another's place: of the same type, and new where the caller sees that it is."""
        a, b = x.aval, result.aval
        if a.shape != b.shape or a.dtype != b.dtype or a.weak != b.weak:
            return False
        if type(x) is Literal or result not in self._shown:
            return True
        maker = self.makers.get(x)
        return maker is not None and x not in self._shown and (primitive.view is not None or _is_fresh(maker.primitive))

    def _current(self, x: Operand) -> Operand:
        return self.replaced.get(x, x) if type(x) is Var else x

    def _fold_by_rule(self, equation: Equation, operands: tuple[Operand, ...]) -> bool:
        rule = equation.primitive.forms.fold
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


def _shown(graph: Graph) -> set[Operand]:
    """The variables whose memory may be seen in outputs: outputs, and what views show of others."""
    shown: set[Operand] = set(graph.outputs)
    for equation in reversed(graph.equations):
        if not _is_fresh(equation.primitive) and any(var in shown for var in equation.results):
            shown.update(equation.operands)
    return shown


def _is_fresh(primitive: Primitive) -> bool:
    """Whether results are known to lie in memory of their own."""
    return isinstance(primitive.numpy, np.ufunc) or primitive.numpy is choose


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
    """Without the equations and constants that no output and no effect depends on."""
    live = {x for x in graph.outputs if type(x) is Var}
    kept = []
    for equation in reversed(graph.equations):
        if any(var in live for var in equation.results) or equation.has_effect:
            kept.append(equation)
            live.update(x for x in equation.operands if type(x) is Var)
    constants = [(var, value) for var, value in graph.constants if var in live]
    return trusted_graph(graph.inputs, constants, kept[::-1], graph.outputs, graph.name, graph.trees)


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
    forward = trusted_graph(
        graph.inputs[:known], graph.constants, first, [*graph.outputs[:count], *residuals], graph.name
    )
    inputs = [*residuals, *graph.inputs[known:]]
    backward = trusted_graph(inputs, graph.constants, second, graph.outputs[count:], f"transpose_{graph.name}")
    return drop_dead(forward), drop_dead(backward)


def lift_tracers(graph: Graph) -> tuple[Graph, list[Any]]:
    """The graph with the tracers among its constants as further inputs, and those tracers."""
    captured = [(var, value) for var, value in graph.constants if isinstance(value, Tracer)]
    if not captured:
        return graph, []
    constants = [(var, value) for var, value in graph.constants if not isinstance(value, Tracer)]
    inputs = [*graph.inputs, *[var for var, _ in captured]]
    return trusted_graph(inputs, constants, graph.equations, graph.outputs, graph.name), [
        value for _, value in captured
    ]


def avals_of(values: Any) -> tuple[Aval, ...]:
    """The avals of several values, as a key of what was staged for them."""
    return tuple([aval_of(value) for value in values])
