"""The parts of a graph: variables, literals and equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.graph.line import Line
from funcgrad._core.graph.program import GraphMethods
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Graph
    from funcgrad._core.primitive import Primitive


class Var:
    """A typed variable of a graph, assigned once. Two variables are the same only if they are one object.

    Args:
        aval: its shape and dtype.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> extend.Var(extend.aval_of(np.ones(2)))
        Var(f64[2])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var({self.aval})"


class Literal:
    """A scalar constant in an equation.

    Args:
        value: a Python or NumPy number.

    Example:
        >>> from funcgrad import extend
        >>> extend.Literal(2.0)
        2.0
    """

    __slots__ = ("aval", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.aval = aval_of(value)

    def __repr__(self) -> str:
        return repr(self.value)


Operand = Var | Literal


class Equation:
    """One application of a primitive in a graph.

    Args:
        primitive: the primitive that is applied.
        operands: variables and literals, in order.
        params: the primitive's parameters, by name.
        results: the variables that it assigns.
        source: the user's line that it comes from, such as that of the equation that it replaces.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> (sine,) = fg.make_graph(np.sin)(1.0).equations
        >>> sine.primitive, sine.operands, sine.params, sine.results
        (<primitive sin>, (Var(f64[]),), {}, (Var(f64[]),))
    """

    __slots__ = ("operands", "params", "primitive", "results", "source")

    def __init__(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        params: dict[str, Any],
        results: tuple[Var, ...],
        source: Line | None = None,
    ) -> None:
        self.primitive = primitive
        self.operands = operands
        self.params = params
        self.results = results
        self.source = source

    @property
    def flops(self) -> int:
        """The number of floating-point operations, by the primitive's cost rule."""
        return self.primitive.cost(self.results[0].aval, *(x.aval for x in self.operands), **self.params)

    @property
    def bytes(self) -> int:
        """The number of bytes read and written if nothing were fused."""
        return sum(x.aval.nbytes for x in (*self.operands, *self.results))

    @property
    def has_effect(self) -> bool:
        """Whether running the equation, or a program inside it, does more than compute results."""
        if self.primitive.effect:
            return True
        values = self.params.values()
        return not _plain.issuperset(map(type, values)) and any(map(_holds_effect, values))


# Parameters of these types hold no program. A long program asks for hundreds of thousands, so types are added when they
# are first met.
_plain: set[type] = {bool, float, int, slice, str, type(None)}


def _holds_effect(param: Any) -> bool:
    """Return whether a parameter is a program with effects, or a record that holds one."""
    if isinstance(param, GraphMethods):
        return cast("Graph", param).made(_has_effects)
    if isinstance(param, tuple):
        return any(map(_holds_effect, param))
    _plain.add(type(param))
    return False


def _has_effects(graph: Graph) -> bool:
    return any(equation.has_effect for equation in graph.equations)
