"""A graph as the body of a function: straight-line NumPy, a line or two for each equation.

    v2 = multiply(x0, x0)          # model.py:12  loss = np.sum(x * x)
    v3 = multiply(v2, c_3_0, v2)   # model.py:12
    v4 = add_reduce(v3, None)

Each line says which of the user's lines it comes from. Large arrays are dropped after their last use.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var
from funcgrad._core.graph.line import Line
from funcgrad._engines.source.buffers import Buffers
from funcgrad._engines.source.forms import form_of
from funcgrad._types import Value

# A variable smaller than this is not dropped: the ``del`` statement would cost more than its memory.
_DROP_LIMIT_BYTES = 4096
_ROOM_FOR_COMMENT = 60


class Writer:
    """Writes the equations, and tracks names, buffers and 0-d values.

    Args:
        graph: the program.
        donated: inputs whose memory may be written to.
        before: the writer of the lines around these (`inside`).
        prepared: groups the operations of the body of a loop, as those of the graph were grouped.
    """

    def __init__(
        self,
        graph: Graph,
        donated: Sequence[Var] = (),
        before: Writer | None = None,
        prepared: Callable[[Graph], Graph] = lambda graph: graph,
    ) -> None:
        self.graph = graph
        self.prepared = prepared if before is None else before.prepared
        # The number of loops and branches around these lines.
        self.depth = 0 if before is None else before.depth
        # Inputs that are numbers of the program around this one, whose arrays are made there.
        self._outside: dict[Var, tuple[Writer, Operand]] = {}
        self.scope: dict[str, Any] = {} if before is None else before.scope
        self.names: dict[Any, str] = {}
        # The number of the first name: the lines around these use the others.
        self.first = 0 if before is None else before.first + len(before.names)
        self.buffers = Buffers(graph, donated)
        # Variables of shape () that hold NumPy numbers. For these, Python's operators give NumPy's results.
        self.numbers: set[Any] = {var for var in graph.inputs if var.aval.shape == () and not var.aval.weak}
        # Contiguous arrays in C order: results of kernels.
        self.packed: set[Any] = set()
        # The sources of the clusters and kernels that the program calls, by name.
        self.parts: dict[str, str] = {} if before is None else before.parts
        self.values: dict[Any, str] = {} if before is None else before.values
        # For each loop that was written, by the equation's id: the carried values whose memory a round may write to.
        self.carried_own: dict[int, list[bool]] = {} if before is None else before.carried_own
        # The names of memory outside of these lines in which results may be made, and the results that were made there.
        self.places: dict[Any, str] = {}
        self.placed: set[Any] = set()
        self._arrays: dict[Any, str] = {}
        self._before: list[str] = []
        # Variables whose memory was free and now holds another variable. They must not be dropped before that one.
        self.reused: set[Var] = set()
        # The dtypes of the memory for intermediate values that the function takes as arguments, if it takes any. Such
        # a function serves arrays of every length, so its lines contain no shape.
        self.scratch: list[np.dtype] | None = None
        self.inputs: dict[Any, str] = {}
        if before is None:
            self.inputs.update({var: f"x{i}" for i, var in enumerate(graph.inputs)})
            self.names.update(self.inputs)
        # The names of all arguments of the function.
        self.arguments: list[str] = [*self.inputs.values()] if before is None else before.arguments
        # The names of the program's constants, and the number of the first equation.
        self.constants: dict[Var, str] = {}
        self._start = 0
        self._name_constants()

    def _name_constants(self) -> None:
        self.constants.update({var: self.value("k", value) for var, value in self.graph.constants})
        self.names.update(self.constants)

    def goes_on(self, graph: Graph, is_read_later: Callable[[Operand], bool]) -> None:
        """Go on with the next part of the program (`Buffers.goes_on`). Its inputs have names."""
        self.graph = graph
        self._name_constants()
        self._start = self.buffers.goes_on(graph, is_read_later)

    def forked(self) -> Writer:
        """Return a writer in the same state, for one of several ways on."""
        other = copy.copy(self)
        names = ("names", "inputs", "constants", "numbers", "packed", "reused", "_arrays", "_outside", "_before")
        vars(other).update({name: copy.copy(vars(self)[name]) for name in names})
        other.buffers = self.buffers.forked()
        return other

    def inside(self, graph: Graph, donated: Sequence[Var] = ()) -> Writer:
        """Return a writer of the lines of a body: of a loop, or of a branch. The caller names its inputs."""
        writer = Writer(graph, donated, self)
        writer.depth += 1
        return writer

    def passed(self, inside: Writer) -> None:
        """Go on with names that the lines of a body do not have."""
        self.first = max(self.first, inside.first + len(inside.names) - len(self.names))

    def hoisted(self) -> list[str]:
        """Return the lines that a loop after these lines needs before it, once."""
        lines = list(self._before)
        self._before.clear()
        return lines

    def takes(self, var: Var, around: Writer, x: Operand) -> list[str]:
        """Give an input the value that ``x`` has in the program around this one. Return lines that prepare it."""
        lines = []
        if type(x) is Literal or (var.aval.weak and x not in around.numbers):
            text = around.name(x)
            self.numbers.discard(var)
            known = type(x) is Literal and issubclass(type(x.value), np.generic)
            # Python raises on division by zero; NumPy's numbers do not.
            if not known and (not var.aval.weak or var.aval.dtype == np.float64):
                text, known = f"{self.scalar(var.aval.dtype)}({text})", True
            if known:
                self.numbers.add(var)
            lines.append(f"{self.new(var)} = {text}")
        else:
            self.names[var] = around.names[x]
            for known, found in ((around.numbers, self.numbers), (around.packed, self.packed)):
                (found.add if x in known else found.discard)(var)
            self._outside[var] = around, x
        if type(x) is Var and x in around.inputs:
            self.inputs[var] = around.inputs[x]
        return lines

    def body(self) -> list[str]:
        """Return the lines that compute all results."""
        lines = self._converted()
        drops = self._drops()
        dropped: dict[int, list[Var]] = {}
        for i, equation in enumerate(self.graph.equations, self._start):
            written = self._equation(i, equation)
            made = [*self._before, *written]
            self._before.clear()
            lines += [_commented(made[0], equation.source), *made[1:]]
            if i in drops:
                dropped[len(lines)] = drops[i]
                lines.append("")
        for at, variables in dropped.items():
            # Do not drop a variable whose memory another result uses now.
            ended = [var for var in variables if var not in self.reused]
            lines[at] = f"del {', '.join([self.names[var] for var in ended])}" if ended else ""
            self.buffers.dropped(ended)
        return [line for line in lines if line]

    def _converted(self) -> list[str]:
        """Return lines that convert Python floats to NumPy's. Python raises on division by zero; arrays do not."""
        read = {x for equation in self.graph.equations for x in equation.operands}
        lines = []
        for var in self.graph.inputs:
            if var.aval.weak and var.aval.dtype == np.float64 and var in read and var not in self.numbers:
                known = self.names[var]
                name = self.names[var] = f"n{known.removeprefix('x')}"
                self.numbers.add(var)
                lines.append(f"{name} = {self.numpy(np.float64)}({known})")
        return lines

    def _equation(self, i: int, equation: Equation) -> list[str]:
        form = form_of(equation)
        return (form(self, equation, i) if form else None) or self._called(equation)

    def _called(self, equation: Equation) -> list[str]:
        """Return the general form: a call of the primitive's own function."""
        function = self.value(f"{equation.primitive.name}_", equation.primitive.numpy)
        arguments = [self.name(x) for x in equation.operands]
        arguments += [f"{name}={self.value(name, value)}" for name, value in equation.params.items()]
        results = equation.results
        if equation.primitive.view is not None:
            self.buffers.shows(results[0], equation.operands[0])
        elif equation.primitive.forms.new_memory:
            for var in results:
                self.buffers.made(var, own=True)
        else:
            self.buffers.leaks(results, equation.operands)
        names = [self.new(var) for var in results]
        target = f"[{', '.join(names)}]" if equation.primitive.multiple_results else names[0]
        return [f"{target} = {function}({', '.join(arguments)})"]

    def _drops(self) -> dict[int, list[Var]]:
        """Return, for each equation, the large variables that are not read after it."""
        held = {*self.graph.inputs, *[var for var, _ in self.graph.constants]}
        found: dict[int, list[Var]] = {}
        for i, equation in enumerate(self.graph.equations, self._start):
            for var in equation.results:
                last = self.buffers.last.get(var, i)
                if var not in held and last < self.buffers.end and var.aval.nbytes > _DROP_LIMIT_BYTES:
                    found.setdefault(last, []).append(var)
        return found

    def new(self, var: Var) -> str:
        """Give a result a new name and return it."""
        self.names[var] = f"v{self.first + len(self.names)}"
        return self.names[var]

    def scratch_for(self, var: Var) -> str:
        """Return the name of a further argument: memory for an intermediate value."""
        assert self.scratch is not None
        self.scratch.append(var.aval.dtype)
        return f"w{len(self.scratch) - 1}"

    def name(self, x: Operand) -> str:
        """Return the text of an operand."""
        return self._literal(x.value) if type(x) is Literal else self.names[x]

    def number(self, x: Operand) -> str:
        """Return the text of an operand next to a NumPy number. A Python float takes the dtype of that number."""
        if type(x) is Literal and issubclass(type(x.value), np.floating) and np.isfinite(x.value):
            text = repr(float(x.value))
            return f"({text})" if text.startswith("-") else text
        return self.name(x)

    def array(self, x: Operand) -> str:
        """Return the text of an operand next to arrays: a ufunc reads a 0-d array in half the time of a number."""
        if type(x) is Literal:
            if issubclass(type(x.value), np.generic):
                return self.value("c", np.asarray(x.value), key=("c", str(x.value.dtype), x.value.tobytes()))
            return self._literal(x.value)
        if x not in self.numbers:
            return self.names[x]
        if x in self._outside and self.depth > self._outside[x][0].depth:
            around, outside = self._outside[x]
            return around.array(outside)
        if x not in self._arrays:
            self._arrays[x] = f"{self.names[x]}_"
            self._before.append(f"{self._arrays[x]} = {self.numpy(np.asarray)}({self.names[x]})")
        return self._arrays[x]

    def _literal(self, value: Value) -> str:
        plain = type(value) in (bool, int) or (type(value) is float and np.isfinite(value))
        return f"({value!r})" if plain else self.value("l", value)

    def numpy(self, function: Any) -> str:
        """Return the name of a NumPy function.

        A function of another package could have the name of a Python builtin.
        """
        return self.value(function.__name__, function, bare=getattr(np, function.__name__, None) is function)

    def scalar(self, dtype: np.dtype) -> str:
        """Return the name of NumPy's class of numbers of this dtype."""
        return self.value(dtype.type.__name__, dtype.type, bare=getattr(np, dtype.type.__name__, None) is dtype.type)

    def reduce(self, function: np.ufunc) -> str:
        """Return the name of a ufunc's reduction."""
        return self.value(f"{function.__name__}_reduce", function.reduce, key=("reduce", function), bare=True)

    def value(self, hint: str, value: Value, *, key: Any = None, bare: bool = False) -> str:
        """Return a name for a value; equal values get one name."""
        key = id(value) if key is None else key
        name = self.values.get(key)
        if name is None:
            hint = re.sub(r"\W", "_", hint)
            name = hint if bare and hint not in self.scope else f"{hint}_{len(self.scope)}"
            self.values[key] = name
            self.scope[name] = value
        return name


def _commented(line: str, source: Line | None) -> str:
    """Append the user's source line to a line of code."""
    return line if source is None else f"{line:<{_ROOM_FOR_COMMENT}}  # {source}  {source.text}".rstrip()


def results_of(writer: Writer) -> tuple[list[str], list[str]]:
    """Return the names of the outputs, each in its own memory, and the lines that copy shared ones.

    An argument that is an output is returned as it is; any other memory that is visible elsewhere is copied.
    """
    graph, buffers = writer.graph, writer.buffers
    names: list[str] = []
    lines: list[str] = []
    unknown: list[str] = []
    taken: set[Any] = set()
    buffers.used.update(buffers.root(x) for x in graph.outputs if x not in writer.inputs)
    for k, x in enumerate(graph.outputs):
        if type(x) is Literal:
            names.append(writer.name(x))
        elif x in writer.inputs:
            names.append(writer.inputs[x])
        elif x in writer.numbers:
            names.append(writer.names[x])
        elif x.aval.shape == () and not x.aval.weak:
            # A program's value without axes may be an array; the structure of the result says where one is needed.
            names.append(f"{writer.scalar(x.aval.dtype)}({writer.names[x]})")
        elif x.aval.shape != () and buffers.is_own(x) and buffers.root(x) not in taken and buffers.is_whole(x):
            taken.add(buffers.root(x))
            names.append(writer.names[x])
        else:
            names.append(name := f"y{k}")
            known = x.aval.shape != () and (buffers.is_own(x) or x in writer.constants)
            lines.append(f"{name} = {writer.names[x]}{'.copy()' if known else ''}")
            unknown += [] if known else [name]
    if unknown:
        held = [*writer.arguments, *writer.constants.values()]
        held = dict.fromkeys([*held, *[name for name in names if name not in unknown]])
        copy = writer.value("in_own_memory", in_own_memory, bare=True)
        given = f"({', '.join(unknown)},), ({''.join(f'{name}, ' for name in held)})"
        lines.append(f"{', '.join(unknown)}, = {copy}({given})")
    return names, lines


def in_own_memory(results: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the results, each in its own memory: views and arrays that are visible elsewhere are copied."""
    seen = set(map(_memory, others))
    made = []
    for y in results:
        shared = isinstance(y, np.ndarray) and (y.base is not None or id(y) in seen)
        made.append(y.copy() if shared else y)
        seen.add(id(made[-1]))
    return made


def _memory(x: Value) -> int:
    while isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray):
        x = x.base
    return id(x)
