"""When two graphs are equal: the same equations on the same types and constants, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.bind import Tracer, engine_of

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Equation, Graph, Operand, Var

_NUMBERS = (bool, int, float, complex, np.generic)


def same_program(a: Graph, b: Graph) -> bool:
    """Whether two graphs compute the same of the same arguments: names and source lines aside."""
    if a is b:
        return True
    counts = [(len(g.inputs), len(g.constants), len(g.equations), len(g.outputs)) for g in (a, b)]
    return counts[0] == counts[1] and a.trees == b.trees and _Pairs().agree(a, b)


class _Pairs:
    """Which variable of one graph stands for which of the other, as they are assigned."""

    def __init__(self) -> None:
        self._others: dict[Any, Any] = {}

    def agree(self, a: Graph, b: Graph) -> bool:
        pairs = list(zip(a.constants, b.constants, strict=True))
        return (
            self._assigned(a.inputs, b.inputs)
            and self._assigned([x for (x, _), _ in pairs], [y for _, (y, _) in pairs])
            and all(same_value(x, y) for (_, x), (_, y) in pairs)
            and all(map(self._equations, a.equations, b.equations))
            and all(map(self._operands, a.outputs, b.outputs))
        )

    def _assigned(self, xs: Sequence[Var], ys: Sequence[Var]) -> bool:
        self._others.update(zip(xs, ys, strict=False))
        return [x.aval for x in xs] == [y.aval for y in ys]

    def _operands(self, x: Operand, y: Operand) -> bool:
        return self._others[x] is y if x in self._others else same_value(_number(x), _number(y))

    def _equations(self, x: Equation, y: Equation) -> bool:
        return (
            x.primitive is y.primitive
            and len(x.operands) == len(y.operands)
            and all(map(self._operands, x.operands, y.operands))
            and same_value(x.params, y.params)
            and self._assigned(x.results, y.results)
        )


def _number(x: Operand) -> Any:
    """The value of a literal; a variable, which is none, itself."""
    return getattr(x, "value", x)


def same_value(a: Any, b: Any) -> bool:
    """Whether two constants or parameters are the same to the last bit."""
    return a is b or (type(a) is type(b) and not isinstance(a, Tracer) and _same_of_a_kind(a, b))


def _same_of_a_kind(a: Any, b: Any) -> bool:
    if isinstance(a, _NUMBERS):
        # 0.0 and -0.0 compare equal and are not the same; NaN is the same and does not.
        return repr(a) == repr(b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if hasattr(a, "equations"):
        return same_program(a, b)
    engine = engine_of(a)
    if isinstance(a, np.ndarray) or engine is not None:
        return not (engine and (engine.is_abstract(a) or engine.is_abstract(b))) and _same_array(a, b)
    return bool(a == b)


def _same_array(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.hasobject:
        return False
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def program_hash(graph: Graph) -> int:
    """The same for graphs that are equal: of their types and primitives."""
    avals = [tuple([x.aval for x in xs]) for xs in (graph.inputs, graph.outputs)]
    return hash((*avals, *[equation.primitive.name for equation in graph.equations]))
