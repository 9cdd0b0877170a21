"""Staging: a function runs once on abstract values, and each primitive with such an operand becomes an equation."""

from __future__ import annotations

import heapq
import operator
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import FLOAT64, Aval, shared_aval
from funcgrad._core.bind import NUMPY_TYPES, Trace, Tracer, active_trace, keeps, next_serial
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.line import Line, origin
from funcgrad._core.lazy import LazyModule
from funcgrad._core.numbers import has_number, is_weak, typed
from funcgrad._core.trace.place import bare_value, frozen
from funcgrad._types import Value
from funcgrad.tree import register_leaf

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

_new: Any = object.__new__
_shared = LazyModule("funcgrad._core.trace.shared")
_length: Any = LazyModule("funcgrad._core.graph.length")

# The most equations of a program that is staged. They take a minute, and 3 GiB.
MOST_STAGED = 5_000_000


@register_leaf
class StagedTracer(Tracer):
    """A value with known shape and dtype but no numbers, and its variable."""

    __slots__ = ()
    _held = ("_variable", "_serial", "_dtype")

    # The name is not ``var``, because arrays have a method ``var``.
    _variable = vars(Tracer)["_node"]
    # The serial number of its creation.
    _serial = vars(Tracer)["_value"]

    def __init__(self, trace: Trace, var: Var) -> None:
        self._owner = trace
        self._variable = var
        self._serial = next_serial()
        self._dtype = var.aval.dtype

    # Getters in C: each operation reads shapes several times.
    aval: Any = property(operator.attrgetter("_variable.aval"))
    shape = property(operator.attrgetter("_variable.aval.shape"), keeps("shape"))


class StagingTrace(Trace):
    """Records equations."""

    concrete = False

    def __init__(self, transform: str = "make_graph", copies: bool = False, effects: bool = True) -> None:
        """With ``copies``, the graph keeps the present numbers of plain arrays: the user may write to them later.

        Without ``effects``, it is a program of tangents alone, and another program runs the function's effects.
        """
        super().__init__()
        # Programs of more equations are rolled before they are differentiated; ``None`` for none.
        self.rolls_above: int | None = None
        # The trace around this one, whose variables are variables here, too.
        self.around: StagingTrace | None = None
        # The values that the inputs stand for, of the traces around.
        self.outside: Sequence[Value] = ()
        # ``names(i)`` describes input ``i`` for messages.
        self.names: Callable[[int], str] | None = None
        self.effects = effects
        self.transform = transform
        self.copies = copies
        self.inputs: list[Var] = []
        self.without_axes: dict[Operand, Callable[[], bool]] = {}
        # The bools that are Python's: results of comparisons of Python numbers.
        self.python_bools: set[Operand] = set()
        self.equations: list[Equation] = []
        # The serial number of each equation.
        self._serials: list[int] = []
        # After this serial number, the program may be too long.
        self._last = next_serial() + MOST_STAGED
        self._constants: dict[int, tuple[Var, Any, Any]] = {}
        self._shared = _shared.SharedParts()

    def input(self, aval: Aval, is_array: Callable[[], bool] | None = None) -> StagedTracer:
        """Return the tracer of an argument. ``is_array`` says whether one without axes is an array, if asked."""
        var = Var(shared_aval(aval))
        if is_array is not None and not aval.shape and not aval.weak:
            self.without_axes[var] = is_array
        self.inputs.append(var)
        return StagedTracer(self, var)

    def keep_first(self, count: int) -> None:
        """Forget all but the first equations, for a function that failed and is tried in another way."""
        del self.equations[count:], self._serials[count:]

    def made_at(self, x: Value) -> str:
        variable = x._variable
        if any(variable is var for var in self.inputs):
            return f"; it is {self.argument(self.inputs.index(variable))}"
        found = [each.source for each in self.equations if variable in each.results and each.source is not None]
        return f"; it was made at {found[0]}" if found else ""

    def argument(self, i: int) -> str:
        """Describe an input, for messages."""
        return "an argument" if self.names is None else self.names(i)

    def comes_from(self, x: Value) -> list[str]:
        """Describe the inputs that a value is computed from."""
        return [*dict.fromkeys(self.sources({x._variable}))]

    def sources(self, needed: set[Operand]) -> list[str]:
        """Describe the inputs that variables are computed from; the variables are added to."""
        for equation in reversed(self.equations):
            if not needed.isdisjoint(equation.results):
                needed.update(each for each in equation.operands if type(each) is Var)
        places = [i for i, var in enumerate(self.inputs) if var in needed]
        if not self.is_differentiated:
            return [self.argument(i) for i in places]
        bare = [bare_value(self.outside[i]) for i in places]
        found = [x._owner.comes_from(x) for x in bare if isinstance(x._owner, StagingTrace)]
        return [*chain.from_iterable(found), *([] if self.around is None else self.around.sources(needed))]

    def is_array(self, x: Value) -> bool:
        """Return whether a value is an argument without axes that is an array. A NumPy number has the same type."""
        asked = self.without_axes.get(x._variable)
        return asked is not None and asked()

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        # Written out for one and two operands: comprehensions would take a quarter of the time of this function.
        variables: Any
        if len(operands) == 2:
            a, b = operands
            if type(a) is type(b) is StagedTracer and a._owner is self and b._owner is self:
                variables = a._variable, b._variable
            else:
                variables = self._read(primitive, operands)
            a, b = variables
            left = a.aval
            if left is b.aval and primitive.keeps_type and left.dtype is FLOAT64 and not left.weak:
                aval = left
            else:
                aval = primitive.aval(left, b.aval, **params)
        elif len(operands) == 1 and type(operands[0]) is StagedTracer and operands[0]._owner is self:
            a = operands[0]._variable
            variables = (a,)
            aval = primitive.aval(a.aval, **params) if params else primitive.aval(a.aval)
        else:
            variables = self._read(primitive, operands)
            aval = primitive.aval(*[x.aval for x in variables], **params)
        # Setting the fields here takes half of the time of a constructor in Python.
        var = _new(Var)
        var.aval = aval
        results = tuple(map(Var, aval)) if primitive.multiple_results else (var,)
        equation = _new(Equation)
        equation.primitive = primitive
        equation.operands = variables
        equation.params = params
        equation.results = results
        equation.source = origin(self._made_at)
        self.equations.append(equation)
        serial = next_serial()
        self._serials.append(serial)
        if serial > self._last:
            self._check_length(serial)
        if primitive.multiple_results:
            return [StagedTracer(self, var) for var in results]
        made = _new(StagedTracer)
        made._owner = self
        made._variable = var
        made._serial = serial
        made._dtype = aval.dtype
        return made

    def _check_length(self, serial: int) -> None:
        """Refuse a program that is too long."""
        rest = MOST_STAGED - len(self.equations)
        if rest < 0:
            most = f"at most {MOST_STAGED:,} are recorded"
            _length.refuse_long(f"{self.transform}: the program so far", self.equations, most)
        self._last = serial + rest

    def _read(self, primitive: Primitive, operands: tuple) -> tuple[Operand, ...]:
        """Return the variables and literals for operands of which some are no tracers of this program."""
        if primitive.elementwise:
            if (found := self._shared.beside_number(operands, self)) is not None:
                return found
            if has_number(operands) and not all(map(is_weak, operands)):
                operands = typed(operands)
        return tuple([self.operand(x) for x in operands])

    def _made_at(self, serial: int) -> Line | None:
        """Return the origin of the last equation recorded before a serial number, which is also that of a node."""
        i = bisect(self._serials, serial)
        return self.equations[i - 1].source if i else None

    def operand(self, x: Value) -> Operand:
        """Return the variable or literal for a value in this graph."""
        if type(x) is StagedTracer and (x._owner is self or x._owner is self.around):
            return x._variable
        if type(x) in NUMPY_TYPES and getattr(x, "shape", ()) == ():
            # The user may write to an array later, so the graph keeps the number. A 0-d value of another engine may be
            # a tracer whose text does not contain its number, so it stays a constant.
            return Literal(x[()] if type(x) is np.ndarray else x)
        if self.copies and type(x) is np.ndarray:
            x = self._shared.constant(x)
        found = self._constants.get(id(x))
        if found is None:
            value = frozen(x)
            if type(value) is StagedTracer and value._owner is self:
                # The value is that of a place of this program.
                return value._variable
            # The key is the id of the user's object, which is kept too: a later object could otherwise get the same id.
            found = self._constants[id(x)] = Var(Aval(x.shape, x.dtype)), value, x
        return found[0]

    def with_equations_around(self, start: int) -> list[Equation]:
        """Return the equations, and those of the trace around from ``start`` on, in the order of the program.

        Equations with effects stay where they are.
        """
        if self.around is None:
            return self.equations
        theirs = [(serial, equation) for serial, equation in self.around.recorded(start) if not equation.has_effect]
        return [equation for _, equation in heapq.merge(self.recorded(), theirs, key=operator.itemgetter(0))]

    def recorded(self, start: int = 0) -> Iterator[tuple[int, Equation]]:
        """Return the equations from ``start`` on, each with its serial number."""
        return zip(self._serials[start:], self.equations[start:], strict=True)

    def graph(self, outputs: Sequence[Any], name: str) -> Graph:
        """Return the recorded program, with the given values as outputs."""
        results = [self.operand(x) for x in outputs]
        constants = [(var, x) for var, x, _ in self._constants.values()]
        return trusted_graph(self.inputs, constants, self.equations, results, name)


def effects_trace() -> StagingTrace | None:
    """Return the trace being staged that records effects which read no traced value; ``None`` if there is none."""
    trace = active_trace()
    while trace is not None and not (isinstance(trace, StagingTrace) and trace.effects):
        trace = trace.outer
    return trace
