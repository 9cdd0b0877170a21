"""Elementwise graphs as code that writes to given memory: a ufunc for each equation, or one loop over the elements.

    def run(a0, a1, a2, s0, s1, o0, o1, w0=None):      def run(a0, a1, a2, s0, s1, o0, o1):
        multiply(a2, s1, o1)                               for i in range(a0.size):
        add(o1, a1, o1)                                        x0 = a0[i]; x1 = a1[i]; x2 = a2[i]
        w0 = multiply(o1, s0, w0)                              v0 = x2 * s1
        subtract(a0, w0, o0)                                   ...

``a`` are the arrays, ``s`` the scalars, ``o`` the memory of the results. Output ``k`` may use the memory of array
``aliases[k]``: it is written after the last read of that array. ``w`` is scratch memory, allocated if not given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.choose import choose
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var

_OPERATORS = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.true_divide: "{} / {}",
    np.negative: "-{}",
}
# For a single number, these Python expressions give the results of the ufuncs.
_EXPRESSIONS = {
    **_OPERATORS,
    choose: "({1} if {0} else {2})",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.equal: "{} == {}",
}
# Compilers of loops know these as functions of numbers, with NumPy's results.
_FUNCTIONS = frozenset({np.sqrt, np.absolute, np.maximum, np.minimum, np.exp, np.log, np.sign, np.square})


class UfuncWriter:
    """Writes a ufunc for each equation, into the memory of a result if that is free already, else into scratch.

    Args:
        graph: the first ``arrays`` inputs are arrays of one shape and dtype, the others scalars.
        arrays: the number of arrays.
        aliases: for each output, the number of the array whose memory it may use.
    """

    def __init__(self, graph: Graph, arrays: int, aliases: Sequence[int]) -> None:
        self.scratch = 0
        self.scope: dict[str, Any] = {"copyto": np.copyto}
        self._graph = graph
        self._aliases = aliases
        self._dtype = graph.inputs[0].aval.dtype
        self._names: dict[Any, str] = {x: f"a{i}" for i, x in enumerate(graph.inputs[:arrays])}
        self._names.update({x: f"s{i}" for i, x in enumerate(graph.inputs[arrays:])})
        self._last = last_reads(graph)
        self._made: dict[Any, int] = {x: i for i, equation in enumerate(graph.equations) for x in equation.results}
        # For each output, the equation from which its memory is free; and the variable that each piece of memory holds.
        self._free_from = [self._last.get(graph.inputs[alias], -1) for alias in aliases]
        self._occupied: dict[str, Var | None] = {}

    def source(self) -> str:
        """Return the code of ``run(*arrays, *scalars, *outputs, *scratch)``."""
        graph = self._graph
        # An unchanged input that is an output must be copied before another result is written into its memory.
        written = [graph.inputs[alias] for alias in self._aliases]
        kept = {k: x for k, x in enumerate(graph.outputs) if x in written and x is not written[k]}
        lines = [f"r{k} = {self._names[x]}.copy()" for k, x in kept.items()]
        lines += [line for i, equation in enumerate(graph.equations) for line in self._lines(i, equation)]
        for k, x in enumerate(graph.outputs):
            if k in kept or self._names.get(x) != f"o{k}":
                lines.append(f"copyto(o{k}, {f'r{k}' if k in kept else self._name(x)})")
        outputs = [f"o{k}" for k in range(len(self._graph.outputs))]
        scratch = [f"w{k}=None" for k in range(self.scratch)]
        names = [*[self._names[x] for x in self._graph.inputs], *outputs, *scratch]
        return "\n    ".join([f"def run({', '.join(names)}):", *(lines or ["pass"])])

    def _lines(self, i: int, equation: Equation) -> list[str]:
        arguments = [self._name(x) for x in equation.operands]
        for register, x in self._occupied.items():
            if x is not None and self._last.get(x, i) <= i:
                self._occupied[register] = None
        (result,) = equation.results
        target = self._target(i, result)
        self._names[result] = target
        self._occupied[target] = result
        function = self._given(equation.primitive.numpy)
        plain = isinstance(equation.primitive.numpy, np.ufunc) and result.aval.dtype == self._dtype
        params = [f"{name}={self._given(value)}" for name, value in equation.params.items()]
        if plain and not params:
            # ``out`` by position is faster, where the ufunc allows it.
            out = target if equation.primitive.numpy in _OPERATORS else f"out={target}"
            call = f"{function}({', '.join([*arguments, out])})"
            return [call if target.startswith("o") else f"{target} = {call}"]
        call = f"{function}({', '.join([*arguments, *params])})"
        return [f"copyto({target}, {call})" if target.startswith("o") else f"{target} = {call}"]

    def _target(self, i: int, result: Var) -> str:
        """Return the memory of a result: its own if it is an output, that of an output made later, or scratch."""
        for k, x in enumerate(self._graph.outputs):
            if x is result and self._free_from[k] <= i:
                return f"o{k}"
        end = self._last.get(result, i)
        for k, x in enumerate(self._graph.outputs):
            fits = self._free_from[k] <= i and self._made.get(x, -1) >= end and self._occupied.get(f"o{k}") is None
            if fits and result.aval.dtype == self._dtype and result not in self._graph.outputs:
                return f"o{k}"
        if result.aval.dtype != self._dtype:
            return f"v{i}"
        register = next((f"w{k}" for k in range(self.scratch) if self._occupied.get(f"w{k}") is None), None)
        if register is None:
            register = f"w{self.scratch}"
            self.scratch += 1
        return register

    def _name(self, x: Any) -> str:
        return self._given(x.value) if type(x) is Literal else self._names[x]

    def _given(self, value: Any) -> str:
        name = f"g{len(self.scope)}"
        self.scope[name] = value
        return name


def last_reads(graph: Graph) -> dict[Any, int]:
    """Return the number of the last equation that reads each variable; the number of equations for an output."""
    last: dict[Any, int] = {x: i for i, equation in enumerate(graph.equations) for x in equation.operands}
    last.update({x: len(graph.equations) for x in graph.outputs})
    return last


def ufunc_program(graph: Graph, arrays: int, aliases: Sequence[int]) -> tuple[Callable[..., None], int]:
    """Return the function of arrays, scalars, result memory and scratch, and the number of scratch arrays."""
    writer = UfuncWriter(graph, arrays, aliases)
    return _executed(writer.source(), writer.scope, graph.name), writer.scratch


def loop_program(
    graph: Graph, arrays: int, aliases: Sequence[int], in_place: bool
) -> tuple[Callable[..., None], list[Any]] | None:
    """Return the function of arrays, scalars, literals and (unless in place) memory of results, as one loop in Python.

    A loop that works in place is a separate function. If one array were passed twice, the compiler would assume that
    one element depends on another, and would not use vector instructions.

    Returns:
        The loop, to be compiled; and the literals, to be passed in the dtype of the arrays, so that they do not widen
        it. ``None`` if an equation has no form that compilers of loops know.
    """
    names: dict[Any, str] = {x: f"x{i}" for i, x in enumerate(graph.inputs[:arrays])}
    names.update({x: f"s{i}" for i, x in enumerate(graph.inputs[arrays:])})
    literals: list[Any] = []
    scope: dict[str, Any] = {}

    def name(x: Any) -> str:
        if type(x) is Literal:
            literals.append(x.value)
            return f"l{len(literals) - 1}"
        return names[x]

    read = {x for equation in graph.equations for x in equation.operands} | set(graph.outputs)
    body = [f"x{i} = a{i}[i]" for i, x in enumerate(graph.inputs[:arrays]) if x in read]
    for i, equation in enumerate(graph.equations):
        function = equation.primitive.numpy
        if equation.params or (function not in _EXPRESSIONS and function not in _FUNCTIONS):
            return None
        operands = [name(x) for x in equation.operands]
        form = _EXPRESSIONS.get(function)
        if form is None:
            scope[f"f{i}"] = function
            form = f"f{i}({', '.join(['{}'] * len(operands))})"
        names[equation.results[0]] = f"v{i}"
        body.append(f"v{i} = {form.format(*operands)}")
    places = [f"a{alias}" if in_place else f"o{k}" for k, alias in enumerate(aliases)]
    body += [f"{place}[i] = {name(x)}" for place, x in zip(places, graph.outputs, strict=True)]
    arguments = [f"a{i}" for i in range(arrays)] + [f"s{i}" for i in range(len(graph.inputs) - arrays)]
    arguments += [f"l{i}" for i in range(len(literals))] + ([] if in_place else places)
    lines = [f"def run({', '.join(arguments)}):", "    for i in range(a0.size):", *[f"        {line}" for line in body]]
    return _executed("\n".join(lines), scope, graph.name), literals


# The same for Python floats. The two extrema must return NaN if an operand is NaN, which Python's do not.
_OF_FLOATS = {
    **_EXPRESSIONS,
    np.power: "pow({}, {})",
    np.absolute: "abs({})",
    np.sqrt: "sqrt({})",
    np.maximum: "({0} if {0} >= {1} or {0} != {0} else {1})",
    np.minimum: "({0} if {0} <= {1} or {0} != {0} else {1})",
}


def float_program(graph: Graph) -> Callable[..., tuple[Any, ...]] | None:
    """Return the function of Python floats for a graph of scalars; ``None`` if an equation has no form for floats.

    If NumPy would warn (division by zero, overflow), it raises ``ArithmeticError`` or ``ValueError``. For twenty
    equations it takes a tenth of NumPy's time.
    """
    names: dict[Any, str] = {x: f"s{i}" for i, x in enumerate(graph.inputs)}
    lines = []
    for i, equation in enumerate(graph.equations):
        form = _OF_FLOATS.get(equation.primitive.numpy)
        known = all(math.isfinite(x.value) if type(x) is Literal else x in names for x in equation.operands)
        if form is None or equation.params or not known:
            return None
        operands = [f"({float(x.value)!r})" if type(x) is Literal else names[x] for x in equation.operands]
        names[equation.results[0]] = f"v{i}"
        lines.append(f"v{i} = {form.format(*operands)}")
    if any(type(x) is Literal or x not in names for x in graph.outputs):
        return None
    results = "".join([f"{names[x]}, " for x in graph.outputs])
    head = f"def run({', '.join([names[x] for x in graph.inputs])}):"
    return _executed(
        "\n    ".join([head, *lines, f"return ({results})"]), {"sqrt": math.sqrt, "pow": math.pow}, graph.name
    )


def _executed(source: str, scope: dict[str, Any], name: str) -> Callable[..., Any]:
    exec(compile(source, f"<funcgrad {name}>", "exec"), scope)
    return scope["run"]
