"""The kinds of derivative. Each is declared once; forward and reverse mode are read off it.

A rule is a function whose first argument is the tangent or cotangent that it carries. The names of its other arguments
say what it reads, and only that is kept on the tape: the result ``y``, an operand by its declared name, an operand's
aval as ``<operand>_aval``, the result's as ``y_aval``, or a parameter of the primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from funcgrad._core.aval import aval_of
from funcgrad.errors import NotDifferentiableError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

Rule = Callable[..., Any]
# ``recorder(primals, nodes, y, params)``: the edges of one application.
Recorder = Callable[[Any, list, Any, dict], tuple]


def _source(name: str, positions: dict[str, int]) -> str:
    """The expression that reads what a rule calls ``name``."""
    if name == "y":
        return "y"
    if name == "y_aval":
        return "aval_of(y)"
    if name in positions:
        return f"primals[{positions[name]}]"
    if name.endswith("_aval") and name[:-5] in positions:
        return f"aval_of(primals[{positions[name[:-5]]}])"
    return f"params[{name!r}]"


def _kept_source(rule: Rule, operands: Sequence[str]) -> str:
    """The source of the tuple of values that the rule names after its first argument."""
    positions = {name: i for i, name in enumerate(operands)}
    code = rule.__code__
    return "".join(f"{_source(name, positions)}, " for name in code.co_varnames[1 : code.co_argcount])


class PerOperand:
    """One rule per operand and direction: the *general* kind; ``None`` for an operand without derivative.

    What a rule reads is fixed by its argument names, so the function that gathers it for the tape is compiled once per
    set of active operands, from a one-line source: a loop over the names costs 0.7 us more per recorded operation.
    """

    __slots__ = ("_operands", "_readers", "jvps", "vjps")

    def __init__(self, operands: Sequence[str], vjps: Sequence[Rule | None], jvps: Sequence[Rule | None]) -> None:
        self._operands = tuple(operands)
        self.vjps = tuple(vjps)
        self.jvps = tuple(jvps)
        self._readers: dict[int, Callable[..., tuple]] = {}

    def recorder(self, active: int) -> Recorder:
        sources = [
            self._edge_source(i, _kept_source(rule, self._operands))
            for i, rule in enumerate(self.vjps)
            if active >> i & 1 and rule is not None
        ]
        scope = {"aval_of": aval_of, "unbroadcast": self._unbroadcast, "rules": self.vjps}
        return eval(f"lambda primals, nodes, y, params: ({', '.join(sources)}{',' if sources else ''})", scope)

    def _edge_source(self, i: int, kept: str) -> str:
        return f"(nodes[{i}], rules[{i}], ({kept}))"

    def _unbroadcast(self, y_bar: Any, rule: Rule, shape: tuple[int, ...], *kept: Any) -> Any:
        raise NotImplementedError

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        y_dot = None
        for i, x_dot in enumerate(tangents):
            rule = self.jvps[i]
            if x_dot is not None and rule is not None:
                part = rule(x_dot, *self._read(i, rule)(primals, y, params))
                y_dot = part if y_dot is None else y_dot + part
        return y_dot

    def _read(self, i: int, rule: Rule) -> Callable[..., tuple]:
        read = self._readers.get(i)
        if read is None:
            source = _kept_source(rule, self._operands)
            read = self._readers[i] = eval(f"lambda primals, y, params: ({source})", {"aval_of": aval_of})
        return read


class Multilinear(PerOperand):
    """Linear in each differentiable operand on its own (reshape, dot_general): a transpose each.

    The jvp is the primitive itself, with the tangent in the operand's place.
    """

    __slots__ = ()

    def __init__(self, operands: Sequence[str], transposes: Sequence[Rule | None]) -> None:
        super().__init__(operands, transposes, transposes)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        y_dot = None
        for i, x_dot in enumerate(tangents):
            if x_dot is not None and self.vjps[i] is not None:
                part = primitive(*primals[:i], x_dot, *primals[i + 1 :], **params)
                y_dot = part if y_dot is None else y_dot + part
        return y_dot


class JointlyLinear:
    """Linear in all its differentiable operands together (concatenate, select, scatter_add).

    Args:
        transpose: ``transpose(y_bar, i, avals, primals, params)``, the cotangent of operand ``i``; ``primals`` has the
            values of the non-linear operands only (indices, predicates), ``None`` elsewhere.
        zeros: makes a zero tangent of an aval.
        linear: says of an operand number whether the primitive is linear in it; all, unless given.
    """

    __slots__ = ("linear", "transpose", "zeros")

    def __init__(
        self,
        transpose: Callable[[Any, int, tuple, tuple, dict], Any],
        zeros: Callable[[Any], Any],
        linear: Callable[[int], bool] = lambda i: True,
    ) -> None:
        self.transpose = transpose
        self.zeros = zeros
        self.linear = linear

    def recorder(self, active: int) -> Recorder:
        return self._edges

    def _edges(self, primals: tuple, nodes: list, y: Any, params: dict) -> tuple:
        avals = tuple(aval_of(x) for x in primals)
        fixed = tuple(None if self.linear(i) else x for i, x in enumerate(primals))
        return tuple(
            (node, self.transpose, (i, avals, fixed, params))
            for i, node in enumerate(nodes)
            if node is not None and self.linear(i)
        )

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        if not any(x_dot is not None and self.linear(i) for i, x_dot in enumerate(tangents)):
            return None
        operands = []
        for i, (x, x_dot) in enumerate(zip(primals, tangents, strict=True)):
            if not self.linear(i):
                operands.append(x)
            else:
                operands.append(self.zeros(x) if x_dot is None else x_dot)
        return primitive(*operands, **params)


class _Constant:
    """The derivative is zero everywhere it exists (comparisons, floor, argmax): results carry none."""

    __slots__ = ()

    def recorder(self, active: int) -> Recorder:
        return lambda primals, nodes, y, params: ()

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        return None


CONSTANT = _Constant()


class Undefined:
    """There is a derivative, but no rule for it: asking for it is an error that says why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def recorder(self, active: int) -> Recorder:
        raise NotDifferentiableError(self.reason)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        raise NotDifferentiableError(self.reason)
