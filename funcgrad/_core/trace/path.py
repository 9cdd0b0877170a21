"""Staging along one path: the numbers of one call are computed as well, so that Python can branch on them.

A `StagingTrace` knows only types, so ``if x > 0`` is refused. A `PathTrace` computes the number of every variable that
it records. When Python asks a value for ``bool``, ``int`` or an index, the trace answers with the number and records a
guard: the program holds for all numbers that give the same answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import Tracer, bind, untraced
from funcgrad._core.graph.ir import Literal, Operand, Var
from funcgrad._core.numbers import differentiated
from funcgrad._core.trace.place import bare_value
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

# ``record(trace, x, asked, answer)`` adds the equation of a guard, and ``ask(asked, number)`` computes its answer. The
# operations set them, because the primitive is theirs.
Record = Callable[["PathTrace", StagedTracer, str, Any], None]
Ask = Callable[[str, Any], Any]


class PathTrace(StagingTrace):
    """Records the equations of one path, with their numbers.

    Args:
        transform: the name of the transform, for messages.
        record: adds the equation of a guard.
        ask: computes the answer of a guard from a number.
        answers: the answers of the first guards, where a compiled program gave them already. They win over the numbers
            that are computed here, which may be rounded in another way. Effects before the last of them happened
            already and are not repeated.
        runs_effects: whether effects happen while the path is recorded.
        ask_success: asks the results of an operation that fails for some numbers whether it failed.
    """

    follows = True
    unknown = "each number would need a path of its own"

    def __init__(
        self,
        transform: str,
        record: Record,
        ask: Ask,
        answers: Iterable[Any] = (),
        runs_effects: bool = True,
        ask_success: Callable[[Any], None] = lambda results: None,
    ) -> None:
        super().__init__(transform, copies=True)
        self._record = record
        self._ask = ask
        self._given = tuple(answers)
        self._runs_effects = runs_effects
        self._ask_success = ask_success
        self.answers: list[Any] = []
        # Why the program does not hold for other numbers with the same answers; empty while it does.
        self.unkept = ""
        self._filters = warnings.filters
        self._numbers: dict[Operand, Any] = {}

    def input_with(self, aval: Aval, number: Value) -> StagedTracer:
        """Return the tracer of an argument whose number is known."""
        tracer = self.input(aval, lambda: type(number) is np.ndarray)
        # Python's division by zero raises, and that of a program does not.
        self._numbers[tracer._variable] = differentiated(number)
        return tracer

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        """Record an equation, and compute its results."""
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        results = super().apply(primitive, operands, params, hooked)
        equation = self.equations[-1]
        if primitive.effect and not (self._runs_effects and len(self.answers) >= len(self._given)):
            return results
        if primitive.elementwise and self._raises_warnings():
            self.unkept = f"errors of arithmetic are raised at {equation.source}, which a program does not do"
        try:
            with untraced():
                numbers = bind(primitive, tuple(map(self.number, equation.operands)), equation.params)
        except Exception as error:
            # If the function catches it, the next operations depend on the numbers.
            del self.equations[-1], self._serials[-1]
            self.unkept = f"it caught a {type(error).__name__} of {primitive.name} at {equation.source}"
            raise
        if not primitive.multiple_results:
            numbers = (numbers,)
        self._numbers.update(zip(equation.results, numbers, strict=True))
        if primitive.fails:
            self._ask_success(results)
        return results

    def _raises_warnings(self) -> bool:
        """Return whether an operation raises an error where NumPy warns, by `np.errstate` or a filter of warnings."""
        filters: Any = warnings.filters
        return "raise" in np.geterr().values() or (
            filters is not self._filters and any(each[0] == "error" for each in filters[:1])
        )

    def operand(self, x: Value) -> Operand:
        """Return what stands for a value in this graph; remember the number of a constant."""
        found = super().operand(x)
        if type(found) is not Literal and found not in self._numbers:
            var, value, _ = next(reversed(self._constants.values()))
            assert var is found
            # The number decides of a value that an outer transform traces.
            self._numbers[var] = bare_value(value)
        return found

    def number(self, x: Operand) -> Any:
        """Return the number of a variable or a literal."""
        return x.value if type(x) is Literal else self._numbers[x]

    def numbers(self, outputs: Sequence[Any]) -> list[Any]:
        """Return the numbers of results."""
        return [self.number(self.operand(y)) for y in outputs]

    def follow(self, x: StagedTracer, asked: str) -> Any:
        """Answer what Python asks of a value, and record the guard."""
        k = len(self.answers)
        is_given = k < len(self._given)
        # Most arrays with axes have no answer. Python's error has to come in each call, so they are asked always.
        computed = None if is_given and not x.shape else self._ask(asked, self.number(x._variable))
        answer = self._given[k] if is_given else computed
        self._record(self, x, asked, answer)
        self.answers.append(answer)
        return answer


class BodyTrace(StagingTrace):
    """Stages a function that is called with values whose numbers are known, or followed by a path.

    The program of the function, such as a checkpointed one, is made from types. If Python asks for a number, the value
    is computed outside of the program, from the arguments, and is asked there. So a path records the guard.

    Args:
        transform: the name of the transform, for messages.
        values: the values of the inputs outside, without the transforms that know their numbers.
        ask: computes the answer of a value.
    """

    follows = True

    def __init__(self, transform: str, values: Sequence[Value], ask: Ask) -> None:
        super().__init__(transform, copies=True)
        self.is_answered = all(not isinstance(x, Tracer) or x._owner.follows for x in values)
        self._values = iter(values)
        self._ask = ask
        self._outside: dict[Operand, Any] = {}

    def input(self, aval: Aval, is_array: Callable[[], bool] | None = None) -> StagedTracer:
        """Return the tracer of the next argument."""
        tracer = super().input(aval, is_array)
        self._outside[tracer._variable] = next(self._values)
        return tracer

    def follow(self, x: StagedTracer, asked: str) -> Any:
        """Ask the value that corresponds to ``x`` outside."""
        with untraced():
            return self._ask(asked, self._value(x._variable))

    def _value(self, x: Operand) -> Any:
        if type(x) is not Literal and x not in self._outside:
            self._compute(x)
        return x.value if type(x) is Literal else self._outside[x]

    def _compute(self, x: Operand) -> None:
        """Compute a variable outside, with all that it needs."""
        for var, value, _ in self._constants.values():
            self._outside.setdefault(var, bare_value(value))
        needed: list[Any] = []
        wanted: set[Operand] = {x}
        for equation in reversed(self.equations):
            if not wanted:
                break
            if not wanted.isdisjoint(equation.results):
                needed.append(equation)
                wanted.difference_update(equation.results)
                wanted.update(y for y in equation.operands if type(y) is Var and y not in self._outside)
        for equation in reversed(needed):
            results = bind(equation.primitive, tuple(map(self._value, equation.operands)), equation.params)
            if not equation.primitive.multiple_results:
                results = (results,)
            self._outside.update(zip(equation.results, results, strict=True))
