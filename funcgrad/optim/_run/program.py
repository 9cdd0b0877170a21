"""The step of a rule for one structure and dtype: it is staged once, and the programs are made from its graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Graph, Literal, trusted_graph
from funcgrad._core.graph.simplify import drop_dead, simplify
from funcgrad._engines.source.extend import BLOCK, FlatProgram, float_program
from funcgrad._ops.elementwise.cast import cast_p
from funcgrad._ops.program.barrier import separate_p
from funcgrad._transforms.base.stage import stage_flat
from funcgrad._types import Array
from funcgrad.errors import RuleError
from funcgrad.optim._rules.rule import Structure
from funcgrad.optim._run.elementwise import shape_free
from funcgrad.optim._run.results import Slots, results_of

_FLOAT64 = np.dtype(np.float64)
_FLOAT = frozenset({float})
_COMPLEX128 = np.dtype(np.complex128)


def program_of(structure: Structure, dtype: np.dtype, first: bool, shape: tuple[int, ...]) -> Program:
    """Return the program for parameters of a structure and dtype, and of a shape if the rule is not elementwise."""
    key = (dtype, first) if structure.rule.elementwise else (dtype, first, shape)
    found = structure.programs.get(key)
    if found is None:
        made = Program(structure, dtype, first, (BLOCK,) if structure.rule.elementwise else shape)
        found = structure.programs.setdefault(key, made)
    return found


class Program:
    """A step in two graphs: one of the numbers, in float64, and one of the arrays, in their own dtype.

    ``numbers``: hyperparameters, ``t``, scalar slots -> what the second graph reads of them, new scalar slots.
    ``arrays``: parameter, gradient, array slots, numbers -> new parameter, new array slots.

    Args:
        structure: which numbers are there, and the flags.
        dtype: that of the parameter and its slots.
        first: whether the first step is taken, for a rule that gives it a form of its own.
        shape: the shape to stage for.
    """

    def __init__(self, structure: Structure, dtype: np.dtype, first: bool, shape: tuple[int, ...]) -> None:
        self.rule = rule = structure.rule
        self.first = first
        self.scalar_slots = structure.scalars
        self.reads_t = not first and structure.counts
        staged = _staged(structure, first, self.reads_t, dtype, shape)
        array_count = 2 + self.scalar_slots.count(False)
        self.numbers, arrays = _cut(staged, array_count, self.scalar_slots)
        self.array_count = array_count
        # Numbers get the dtype of the arrays. Values that have another dtype on purpose, such as conditions, keep it.
        kinds = [x.aval.dtype for x in arrays.inputs[array_count:]]
        self.kinds = [dtype if kind == _FLOAT64 else kind for kind in kinds]
        avals = [Aval(shape, dtype)] * array_count + [Aval((), kind) for kind in self.kinds]
        # The same equations in the dtype of the parameter.
        self.arrays = simplify(stage_flat(_of_dtype(arrays, dtype).evaluate, avals, f"{rule.name}_step"))
        # The memory that each result may reuse: that of the parameter and of its slots.
        self.aliases = (0, *range(2, array_count))
        # The same for NumPy arrays in given memory, if the rule is elementwise. A first step that has a form of its own
        # runs once, and is not worth compiling a kernel.
        self.flat = FlatProgram(self.arrays, self.aliases, kernels=not first) if rule.elementwise else None

    def scalars(self, numbers: Sequence[Any], t: Any, slots: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the numbers that arrays are combined with, in float64, and the new scalar slots."""
        given = [*numbers, t, *slots] if self.reads_t else [*numbers, *slots]
        if self.numbers is None:
            return given, ()
        found = self._of_floats(given)
        if found is None:
            found = self.numbers.evaluate(*given)
        count = len(found) - len(slots)
        return found[:count], found[count:]

    def _of_floats(self, given: Sequence[Any]) -> Sequence[Any] | None:
        """Compute the numbers with Python's floats, if they are known and the results are numbers."""
        run = self.of_floats
        if run is None or not _FLOAT.issuperset(map(type, given)):
            return None
        try:
            return run(*given)
        except (ArithmeticError, ValueError):
            # NumPy gives the result: infinity or NaN.
            return None

    @functools.cached_property
    def of_floats(self) -> Callable[..., Sequence[Any]] | None:
        """The first graph as a function of Python's floats."""
        return None if self.numbers is None else float_program(self.numbers)

    def run(self, arrays: Sequence[Any], scalars: Sequence[Any], separated: bool) -> list[Any]:
        """Return the new parameter and slots from values of any kind; scalars are converted to their dtype.

        Separated, the slots are finished before the parameter begins: both would read parameter, gradient and old
        slots, and the second compute the first again.
        """
        if not separated or len(self.arrays.outputs) == 1:
            return self.arrays.evaluate(*arrays, *scalars)
        first, second = self._halves
        slots = first.evaluate(*arrays, *scalars)
        kept = separate_p(*slots, *[x for x, read in zip(arrays, self._read_late, strict=True) if read])
        slots, rest = kept[: len(slots)], iter(kept[len(slots) :])
        late = [next(rest) if read else x for x, read in zip(arrays, self._read_late, strict=True)]
        return [*second.evaluate(*late, *scalars, *slots), *slots]

    @functools.cached_property
    def _halves(self) -> tuple[Graph, Graph]:
        """From the inputs to the slots, and from inputs and new slots to the parameter."""
        graph = self.arrays
        p: Any
        slots: list[Any]
        p, *slots = graph.outputs
        first = drop_dead(trusted_graph(graph.inputs, graph.constants, graph.equations, slots, graph.name))
        rest = [equation for equation in graph.equations if not set(equation.results) & set(slots)]
        return first, drop_dead(trusted_graph([*graph.inputs, *slots], graph.constants, rest, [p], graph.name))

    @functools.cached_property
    def _read_late(self) -> list[bool]:
        """Which arrays the second half reads."""
        second = self._halves[1]
        read = {x for equation in second.equations for x in equation.operands} | set(second.outputs)
        return [x in read for x in second.inputs[: self.array_count]]


def _staged(structure: Structure, first: bool, reads_t: bool, dtype: np.dtype, shape: tuple[int, ...]) -> Graph:
    """Stage the step in double precision: parameter, gradient, slots, numbers, ``t`` -> parameter, slots."""
    rule, slots, count = structure.rule, structure.slots, structure.count
    asked = f"{rule.name}_update"
    number = Aval((), _FLOAT64)

    def stage(shape: tuple[int, ...]) -> Graph:
        wide = Aval(shape, _COMPLEX128 if dtype.kind == "c" else _FLOAT64)
        of_slots = [number if slot.scalar else wide for slot in slots]

        def step(p: Array, g: Array, *values: Any) -> list[Any]:
            held = Slots(asked, zip([slot.name for slot in slots], values, strict=False))
            numbers, t = values[len(slots) : len(slots) + count], values[-1]
            made = rule.step(p, g, held, structure.hyper(numbers), 1 if first else t)
            return results_of(asked, made, dict(zip(held, of_slots, strict=True)), wide)

        avals = [wide, wide, *of_slots, *[number] * (count + 1)]
        return _counted(simplify(stage_flat(step, avals, f"{rule.name}_step")), reads_t, asked)

    return shape_free(asked, stage) if rule.elementwise else stage(shape)


def _counted(graph: Graph, reads_t: bool, asked: str) -> Graph:
    """Return the graph without its last input, the number of the step, if the rule does not count steps."""
    if reads_t:
        return graph
    *inputs, t = graph.inputs
    if t in graph.outputs or any(t in equation.operands for equation in graph.equations):
        raise RuleError(
            f"{asked}: the step reads t, the number of the step. The rule is declared without, and keeps no count of "
            "steps. Declare Rule(..., counts=lambda hyper: True)."
        )
    return Graph(inputs, graph.constants, graph.equations, graph.outputs, graph.name)


def _of_dtype(graph: Graph, dtype: np.dtype) -> Graph:
    """Return the graph in another dtype: float64 literals become Python numbers, and casts to float64 change."""

    def weak(x: Array) -> Any:
        return Literal(float(x.value)) if type(x) is Literal and x.aval.dtype == _FLOAT64 else x

    def params(e: Equation) -> dict[str, Any]:
        return {"dtype": dtype} if e.primitive is cast_p and e.params["dtype"] == _FLOAT64 else e.params

    equations = [
        Equation(e.primitive, tuple(map(weak, e.operands)), params(e), e.results, e.source) for e in graph.equations
    ]
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name)


def _cut(graph: Graph, array_count: int, scalar_slots: Sequence[bool]) -> tuple[Graph | None, Graph]:
    """Split a staged step into its two parts. The first is ``None`` if it would compute nothing."""
    slots = graph.inputs[2 : 2 + len(scalar_slots)]
    scalar_inputs = [x for x, scalar in zip(slots, scalar_slots, strict=True) if scalar]
    numbers = list(graph.inputs[2 + len(scalar_slots) :])
    array_inputs = [*graph.inputs[:2], *[x for x, scalar in zip(slots, scalar_slots, strict=True) if not scalar]]
    assert len(array_inputs) == array_count, "a slot is an array or a scalar"
    known: set[Any] = {*scalar_inputs, *numbers}
    first, second = [], []
    for equation in graph.equations:
        alone = all(type(x) is Literal or x in known for x in equation.operands)
        (first if alone else second).append(equation)
        known.update(equation.results if alone else ())
    p, *rest = graph.outputs
    new_scalars = [x for x, scalar in zip(rest, scalar_slots, strict=True) if scalar]
    outputs = [p, *[x for x, scalar in zip(rest, scalar_slots, strict=True) if not scalar]]
    if not first and not scalar_inputs:
        return None, trusted_graph([*array_inputs, *numbers], graph.constants, second, outputs, graph.name)
    read = list(dict.fromkeys(x for equation in second for x in equation.operands if x in known))
    return (
        drop_dead(trusted_graph([*numbers, *scalar_inputs], graph.constants, first, [*read, *new_scalars], graph.name)),
        trusted_graph([*array_inputs, *read], graph.constants, second, outputs, graph.name),
    )
