"""Simplification of graphs: folds constants, merges equal equations, drops unused ones, and applies rules.

The rooms above register rules, because they know primitives by name (``_ops/program/rules.py``). A rule reads one
equation, and may look at the equations that made its operands. It returns the operand that replaces the result: an
existing one, or the result of new equations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NUMPY_TYPES, Tracer, bind
from funcgrad._core.choose import choose
from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.key import params_key
from funcgrad.tree.extend import static_key

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# The largest constant that folding may create from smaller ones: repeating a number is cheaper than reading a large
# constant.
_FOLD_LIMIT_BYTES = 4096
# Larger constants are not compared with each other.
_COMPARED_BYTES = 1 << 16


def simplify(graph: Graph, *, numbers_are_data: bool = False) -> Graph:
    """Return the same function with fewer equations. All inputs stay; inputs and outputs keep their order.

    If numbers are data, no rule looks at them: the program for another number has the same structure.
    """
    return drop_dead(_Folder(graph, numbers_are_data).fold())


class Site:
    """One equation as a rule sees it.

    Args:
        folder: the program so far.
        operands: the simplified operands of the equation.
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
        """Return the equation that made an operand, if it applies this primitive."""
        equation = self._folder.makers.get(x) if type(x) is Var else None
        return equation if equation is not None and equation.primitive is primitive else None

    def constant(self, x: Operand) -> Any:
        """Return the value of an operand; ``None`` if it is computed, or is data."""
        if self._folder.numbers_are_data:
            return None
        return x.value if type(x) is Literal else self._folder.constants.get(x)

    def emit(self, primitive: Primitive, *operands: Operand, **params: Any) -> Operand:
        """Add an equation and return its result."""
        avals = [x.aval for x in operands]
        return self._folder.add(primitive, operands, params, (Var(primitive.aval(*avals, **params)),), self._source)


Rule = Callable[[Site], Operand | None]

# Rules by primitive, in the order in which they are tried.
RULES: dict[Any, tuple[Rule, ...]] = {}
# Rules for all elementwise primitives.
ELEMENTWISE_RULES: list[Rule] = []


class _Folder:
    """One pass in order. It replaces each operand by the value that its equation was folded or merged into."""

    def __init__(self, graph: Graph, numbers_are_data: bool) -> None:
        self.graph = graph
        self.numbers_are_data = numbers_are_data
        self.constants: dict[Any, Any] = {}
        # The first constant of equal bits and layout.
        self._equal: dict[Any, Var] = {}
        self.replaced: dict[Var, Operand] = {}
        self.known: dict[Any, tuple[Var, ...]] = {}
        self.kept: list[Equation] = []
        # The equation that made each variable that is not an input.
        self.makers: dict[Operand, Equation] = {}
        self._shown = _shown(graph)
        # Large constants that folding made, and that no kept equation reads. Their memory ends with their last reader:
        # 1,000 writes to one constant of 2 MB took 2 GB.
        self._passing: set[Operand] = set()
        self._number = 0
        for var, value in graph.constants:
            self._keep(var, value)

    def _keep(self, var: Var, value: Any) -> None:
        """Add a constant. Equal constants are one variable, except outputs, which may not share memory."""
        is_small = type(value) is np.ndarray and value.nbytes <= _COMPARED_BYTES and not value.dtype.hasobject
        if is_small and not self.numbers_are_data and var not in self._shown:
            key = var.aval, value.strides, value.dtype, value.tobytes()
            first = self._equal.setdefault(key, var)
            # A write in place may have replaced the first constant.
            if first in self.constants:
                self.replaced[var] = first
                self._passing -= {first, var}
                return
            self._equal[key] = var
        self.constants[var] = value

    @functools.cached_property
    def _last(self) -> dict[Any, int]:
        """The number of the last equation that reads each variable of the program."""
        last: dict[Any, int] = {x: i for i, equation in enumerate(self.graph.equations) for x in equation.operands}
        return last | dict.fromkeys(self.graph.outputs, len(self.graph.equations))

    def fold(self) -> Graph:
        graph = self.graph
        for self._number, equation in enumerate(graph.equations):
            operands = tuple([self._current(x) for x in equation.operands])
            self.add(equation.primitive, operands, equation.params, equation.results, equation.source)
        outputs = [self._current(x) for x in graph.outputs]
        return trusted_graph(graph.inputs, list(self.constants.items()), self.kept, outputs, graph.name, graph.trees)

    def add(
        self, primitive: Primitive, operands: tuple[Operand, ...], params: dict, results: tuple[Var, ...], source: Any
    ) -> Operand:
        """Append an equation, or note the replacements of its results; return the replacement of the first result."""
        equation = Equation(primitive, operands, params, results, source)
        if self._fold_by_rule(equation, operands) or self._fold_constants(equation, operands):
            return self._current(results[0])
        everywhere = ELEMENTWISE_RULES if primitive.elementwise and _is_fresh(primitive) else ()
        for rule in (*RULES.get(primitive, ()), *everywhere):
            found = rule(Site(self, primitive, operands, params, results[0].aval, source))
            if found is not None and self._may_stand(found, results[0], primitive):
                self.replaced[results[0]] = found
                self._passing.discard(found)
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
        if self._passing:
            self._passing.difference_update(operands)
        self.makers.update(dict.fromkeys(results, equation))
        return results[0]

    def _may_stand(self, x: Operand, result: Var, primitive: Primitive) -> bool:
        """Return whether an operand may replace a result.

        It has the same type, and is a new array if the caller sees it.
        """
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
        self._passing.discard(self.replaced[equation.results[0]])
        return True

    def _fold_constants(self, equation: Equation, operands: tuple[Operand, ...]) -> bool:
        if equation.primitive.multiple_results or not all(type(x) is Literal or x in self.constants for x in operands):
            return False
        values = tuple([x.value if isinstance(x, Literal) else self.constants[x] for x in operands])
        (result,) = equation.results
        limit = max(_FOLD_LIMIT_BYTES, sum(x.aval.nbytes for x in operands))
        if result.aval.nbytes > limit or any(isinstance(value, Tracer) for value in values):
            return False
        value = self._computed(equation, operands, values)
        if result.aval.shape == () and type(value) in NUMPY_TYPES:
            self.replaced[result] = Literal(value[()] if isinstance(value, np.ndarray) else value)
        else:
            self._keep(result, value)
        return True

    def _computed(self, equation: Equation, operands: tuple[Operand, ...], values: tuple) -> Any:
        """Return the result of an equation of constants. A write that is the last reader of its array is in place."""
        (result,), passing = equation.results, self._passing
        ended = {x for x in operands if x in passing and self._last.get(x, 0) <= self._number} if passing else set()
        writes = (
            equation.primitive.forms.basic is Basic.WRITE and operands[0] in ended and operands[0] not in operands[1:]
        )
        if writes:
            value = values[0]
            value[equation.params["index"].filled(values[2:])] = values[1]
        else:
            value = bind(equation.primitive, values, equation.params)
            shared = [known for x, known in zip(operands, values, strict=True) if x in passing]
            if type(value) is np.ndarray and any(np.may_share_memory(value, known) for known in shared):
                value = value.copy()
        for x in ended:
            passing.remove(x)
            del self.constants[x]
        own = type(value) is np.ndarray and value.base is None and (writes or not any(value is each for each in values))
        if own and result.aval.nbytes > _FOLD_LIMIT_BYTES and result in self._last:
            passing.add(result)
        return value


def _shown(graph: Graph) -> set[Operand]:
    """Return the variables whose memory outputs may show: the outputs, and the bases of views among them."""
    shown: set[Operand] = set(graph.outputs)
    for equation in reversed(graph.equations):
        if not _is_fresh(equation.primitive) and any(var in shown for var in equation.results):
            shown.update(equation.operands)
    return shown


def _is_fresh(primitive: Primitive) -> bool:
    """Return whether results are known to lie in memory of their own."""
    return isinstance(primitive.numpy, np.ufunc) or primitive.numpy is choose


def _key(equation: Equation, operands: tuple[Operand, ...]) -> Any:
    """Return a key that equal equations share, or ``None`` if the equation cannot be compared."""
    names = tuple([static_key(x.value) if type(x) is Literal else x for x in operands])
    try:
        key = (equation.primitive, names, params_key(equation.params))
        hash(key)
    except TypeError:
        return None
    return key


def drop_dead(graph: Graph) -> Graph:
    """Return the graph without the equations and constants that no output and no effect depends on."""
    live: set[Any] = set(graph.outputs)
    kept = []
    for equation in reversed(graph.equations):
        is_live = not live.isdisjoint(equation.results)
        if is_live or ((equation.params or equation.primitive.effect) and equation.has_effect):
            kept.append(equation)
            live.update(equation.operands)
    constants = [(var, value) for var, value in graph.constants if var in live]
    return trusted_graph(graph.inputs, constants, kept[::-1], graph.outputs, graph.name, graph.trees)


def partition(graph: Graph, known: int, count: int) -> tuple[Graph, Graph]:
    """Cut a graph into the part that the first ``known`` inputs determine, and the rest.

    Args:
        graph: its first ``count`` outputs must depend on the known inputs only.
        known: the number of inputs of the first part.
        count: the number of outputs of the first part, before the residuals.

    Returns:
        ``first`` computes the first outputs and the residuals from the known inputs. ``second`` computes the other
        outputs from the residuals and the other inputs.
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
    """Return the graph with the tracers among its constants as further inputs, and these tracers."""
    captured = [(var, value) for var, value in graph.constants if isinstance(value, Tracer)]
    if not captured:
        return graph, []
    constants = [(var, value) for var, value in graph.constants if not isinstance(value, Tracer)]
    inputs = [*graph.inputs, *[var for var, _ in captured]]
    return trusted_graph(inputs, constants, graph.equations, graph.outputs, graph.name), [
        value for _, value in captured
    ]


def avals_of(values: Any) -> tuple[Aval, ...]:
    """Return the avals of several values, as a key of what was staged for them."""
    return tuple([aval_of(value) for value in values])
