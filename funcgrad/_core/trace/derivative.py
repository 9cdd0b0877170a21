"""The kinds of derivative. Each is declared once; forward and reverse mode are read off it.

A rule is a function whose first argument is the tangent or cotangent that it carries. The names of its other arguments
say what it reads, and only that is kept on the tape: the result ``y``, an operand by its declared name, an operand's
aval as ``<operand>_aval`` or only its shape as ``<operand>_shape``, the result's as ``y_aval``, or a parameter of the
primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from funcgrad._core.aval import aval_of
from funcgrad._core.trace.tape import Node, Pull, bits, new_kind, next_serial
from funcgrad.errors import NotDifferentiableError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

Rule = Callable[..., Any]
# ``maker(primals, nodes, y, params)``: the node of one application, ``None`` where the result carries no derivative.
NodeMaker = Callable[[Sequence[Any], Sequence[Any], Any, dict], Node | None]
# The parent, the rule towards it, and the values that the rule reads.
Edge = tuple[Any, Rule, tuple]
# ``recorder(trace, params, *primals, *nodes)``: the tracer of the result.
Recorder = Callable[..., Any]
# What the compiled sources refer to.
_SCOPE = {"aval_of": aval_of, "next_serial": next_serial}


def _source(name: str, positions: dict[str, int]) -> str:
    """The expression that reads what a rule calls ``name``, where operands are ``x0, x1, ...``."""
    if name == "y":
        return "y"
    if name == "y_aval":
        return "aval_of(y)"
    if name in positions:
        return f"x{positions[name]}"
    if name.endswith("_aval") and name[:-5] in positions:
        return f"aval_of(x{positions[name[:-5]]})"
    if name.endswith("_shape") and name[:-6] in positions:
        return shape_source(positions[name[:-6]])
    return f"params[{name!r}]"


def shape_source(i: int) -> str:
    """The expression that reads the shape of an operand, which may be a Python number."""
    return f"getattr(x{i}, 'shape', ())"


def names_read(rule: Rule) -> Sequence[str]:
    """The names of what the rule reads: of its arguments after the first."""
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]


def _compiled(source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function that an expression describes; in tracebacks and for source lines it belongs to this file."""
    return eval(compile(source, __file__, "eval"), scope)


def _no_node(primals: Sequence[Any], nodes: Sequence[Any], y: Any, params: dict) -> None:
    return None


class PerOperand:
    """One rule per operand and direction: the *general* kind; ``None`` for an operand without derivative.

    What a rule reads is fixed by its argument names, so the function that makes the node, and the one that pulls a
    cotangent through it, are compiled once per set of active operands, each from a one-line source: a loop over the
    names costs 0.7 us more per recorded operation.
    """

    __slots__ = ("_operands", "_readers", "jvps", "vjps")

    def __init__(self, operands: Sequence[str], vjps: Sequence[Rule | None], jvps: Sequence[Rule | None]) -> None:
        self._operands = tuple(operands)
        self.vjps = tuple(vjps)
        self.jvps = tuple(jvps)
        self._readers: dict[int, Callable[..., tuple]] = {}

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        source = self._node_source_of(primitive, active)
        if not source:
            return _no_node
        make = _compiled(f"lambda y, params, {self._arguments()}: {source}", _SCOPE)
        return lambda primals, nodes, y, params: make(y, params, *primals, *nodes)

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> Recorder | None:
        """The application to bare NumPy values and its recording as one function."""
        source = self._node_source_of(primitive, active)
        if not source:
            return None
        operands = ", ".join(f"x{i}" for i in range(len(self._operands)))
        call = f"run({operands}, **params)" if has_params else f"run({operands})"
        scope = {**_SCOPE, "run": primitive.numpy}
        return _compiled(
            f"lambda trace, params, {self._arguments()}: trace.tracer_type(trace, y := {call}, {source})", scope
        )

    def _arguments(self) -> str:
        """The names of the operands and their nodes."""
        numbers = range(len(self._operands))
        return ", ".join([*[f"x{i}" for i in numbers], *[f"n{i}" for i in numbers]])

    def _node_source_of(self, primitive: Primitive, active: int) -> str:
        indices = [i for i in bits(active) if self.vjps[i] is not None]
        return self._node_source(primitive, indices) if indices else ""

    def _node_source(self, primitive: Primitive, indices: list[int]) -> str:
        """The source of a node, from the operands ``x0, ...``, their nodes ``n0, ...``, ``y`` and ``params``."""
        names = self._names(indices)
        pull = self._pull(indices, names, lambda i, x_bar: x_bar)
        return self._node(self._kind(primitive, indices, pull), indices, self._sources(names))

    def _kind(self, primitive: Primitive, indices: list[int], pull: Pull) -> int:
        active = [i in indices for i, rule in enumerate(self.vjps) if rule is not None]
        return new_kind(primitive, len(indices), pull, active)

    def _node(self, kind: int, indices: list[int], kept: Sequence[str]) -> str:
        parents = [f"n{i}" for i in indices]
        return f"(next_serial(), {kind}, {', '.join([*parents, *kept])})"

    def _pull(self, indices: list[int], kept: list[str], finished: Callable[[int, str], str], **scope: Any) -> Pull:
        """The compiled pull of nodes that keep values of these names; ``finished`` adds to the source of one part."""
        slots = {name: f"node[{slot}]" for slot, name in enumerate(kept, 2 + len(indices))}
        parts = [
            finished(i, f"rule_{i}({', '.join(['y_bar', *[slots[name] for name in names_read(self._rule(i))]])})")
            for i in indices
        ]
        body = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        rules = {f"rule_{i}": self.vjps[i] for i in indices}
        return _compiled(f"lambda y_bar, node: {body}", {**rules, **scope})

    def _rule(self, i: int) -> Rule:
        rule = self.vjps[i]
        assert rule is not None
        return rule

    def _names(self, indices: list[int]) -> list[str]:
        """What the rules towards these operands read together."""
        return list(dict.fromkeys(name for i in indices for name in names_read(self._rule(i))))

    def _sources(self, names: Sequence[str]) -> list[str]:
        """The expressions that read what rules name."""
        positions = {name: i for i, name in enumerate(self._operands)}
        return [_source(name, positions) for name in names]

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        y_dot = None
        for i, x_dot in enumerate(tangents):
            rule = self.jvps[i]
            if x_dot is not None and rule is not None:
                part = rule(x_dot, *self._read(i, rule)(y, params, *primals))
                y_dot = part if y_dot is None else y_dot + part
        return y_dot

    def _read(self, i: int, rule: Rule) -> Callable[..., tuple]:
        read = self._readers.get(i)
        if read is None:
            source = "".join(f"{one}, " for one in self._sources(names_read(rule)))
            operands = ", ".join(f"x{i}" for i in range(len(self._operands)))
            read = self._readers[i] = _compiled(f"lambda y, params, {operands}: ({source})", _SCOPE)
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


class ByEdges:
    """A derivative that says for each application, anew, which rule leads to which operand."""

    __slots__ = ()

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Any, params: dict) -> Sequence[Edge]:
        """The edges of one application; the node of an operand that needs no cotangent is ``None``."""
        raise NotImplementedError

    def active(self, nodes: Sequence[Any]) -> tuple[bool, ...] | None:
        """Which of the differentiable operands get a cotangent; ``None`` for all."""
        return None

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        kinds: dict[Any, int] = {}

        def make(primals: Sequence[Any], nodes: Sequence[Any], y: Any, params: dict) -> Node | None:
            edges = self.edges(primals, nodes, y, params)
            count = len(edges)
            if not count:
                return None
            chosen = None if count == len(nodes) else self.active(nodes)
            kind = kinds.get((count, chosen))
            if kind is None:
                pull = _pull_edge if count == 1 else _edges_pull(count)
                kind = kinds[count, chosen] = new_kind(primitive, count, pull, chosen)
            parents = [parent for parent, _, _ in edges]
            return next_serial(), kind, *parents, *[(rule, kept) for _, rule, kept in edges]

        return make


def _pull_edge(y_bar: Any, node: Node) -> Any:
    rule, kept = node[3]
    return rule(y_bar, *kept)


def _edges_pull(count: int) -> Pull:
    return lambda y_bar, node: [rule(y_bar, *kept) for rule, kept in node[2 + count :]]


class JointlyLinear(ByEdges):
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

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Any, params: dict) -> Sequence[Edge]:
        avals = tuple(aval_of(x) for x in primals)
        fixed = tuple(None if self.linear(i) else x for i, x in enumerate(primals))
        return [
            (node, self.transpose, (i, avals, fixed, params))
            for i, node in enumerate(nodes)
            if node is not None and self.linear(i)
        ]

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

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        return _no_node

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        return None


CONSTANT = _Constant()


class Undefined:
    """There is a derivative, but no rule for it: asking for it is an error that says why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        raise NotDifferentiableError(self.reason)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Any, params: dict) -> Any:
        raise NotDifferentiableError(self.reason)
