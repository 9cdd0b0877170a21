"""The kinds of derivative. Each is declared once, and serves forward and reverse mode.

The first argument of a rule is the tangent or cotangent. The names of its other arguments say what it reads, and only
that is kept on the tape: the result ``y``, an operand by its declared name, an operand's aval as ``<operand>_aval`` or
only its shape as ``<operand>_shape``, the result's aval as ``y_aval``, or a parameter of the primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.trace import recorder
from funcgrad._core.trace.recorder import Operands, Rule
from funcgrad._core.trace.tape import Node, Pull, bits, new_kind, next_serial
from funcgrad._types import Value
from funcgrad.errors import NotDifferentiableError

if TYPE_CHECKING:
    from funcgrad._core.primitive import Primitive

_NDARRAY = np.ndarray

# ``maker(trace, primals, nodes, y, params)`` returns the node of one application, or ``None`` if it has no derivative.
NodeMaker = Callable[[Any, Sequence[Any], Sequence[Any], Any, dict], Node | None]
# The parent, the rule for its cotangent, and the values that the rule reads.
Edge = tuple[Any, Rule, tuple]
# ``recorder(trace, params, *primals, *nodes)`` returns the tracer of the result.
Recorder = Callable[..., Any]


def lasting(trace: Any, kept: Any, primals: Sequence[Any], nodes: Sequence[Any]) -> Any:
    """Return the kept values of a node, nested in tuples, safe from writes to the plain arrays among the operands."""
    if type(kept) is tuple:
        return tuple([lasting(trace, each, primals, nodes) for each in kept])
    if type(kept) is not _NDARRAY:
        return kept
    others = [x for x, node in zip(primals, nodes, strict=True) if node is None and type(x) is _NDARRAY]
    # A view of an operand shows the writes to it.
    shows = any(kept is x or (kept.base is not None and np.may_share_memory(kept, x)) for x in others)
    return trace.keep(kept) if shows else kept


def _no_node(trace: Any, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> None:
    return None


class PerOperand:
    """One rule per operand and direction: the *general* kind. An operand without derivative has ``None``.

    The functions that make a node and pull a cotangent through it are generated for each set of active operands: see
    ``recorder.py``.

    Args:
        operands: the names of the operands.
        vjps: for each operand its cotangent, a function of the result's cotangent and of what its other arguments name.
        jvps: for each operand its part of the result's tangent, a function of the operand's tangent.

    Example:
        The derivative of ``a * a * b``:

        >>> from funcgrad.extend import PerOperand
        >>> rules = [lambda t, a, b: 2 * t * a * b, lambda t, a: t * a * a]
        >>> derivative = PerOperand(("a", "b"), vjps=rules, jvps=rules)
        >>> derivative.vjps[0](1.0, 3.0, 5.0)
        30.0
    """

    __slots__ = ("_nodes", "_operands", "_readers", "jvps", "vjps")

    # Whether the primitive is a product of its differentiable operands: linear in each if the others are constant.
    is_product = False
    # If operands broadcast against each other: sums a cotangent to the shape of its operand.
    unbroadcast: Callable[[Any, tuple[int, ...]], Any] | None = None

    def __init__(self, operands: Sequence[str], vjps: Sequence[Rule | None], jvps: Sequence[Rule | None]) -> None:
        self._operands = Operands(operands)
        self.vjps = tuple(vjps)
        self.jvps = tuple(jvps)
        self._nodes: dict[tuple[Primitive, int], str] = {}
        self._readers: dict[int, Callable[..., tuple]] = {}

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        made = self.node_source(primitive, active)
        return recorder.node_maker(_title("node", primitive, active), self._operands, made) if made else _no_node

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> Recorder | None:
        """Return one function that runs the primitive on bare NumPy values and records it."""
        made = self.node_source(primitive, active)
        title = _title("recorder with params" if has_params else "recorder", primitive, active)
        return recorder.recorder(title, self._operands, made, primitive.numpy, has_params) if made else None

    def node_source(self, primitive: Primitive, active: int) -> str:
        """Return the source of a node; empty if no active operand has a derivative."""
        made = self._nodes.get((primitive, active))
        if made is None:
            rules = {i: rule for i in bits(active) if (rule := self.vjps[i]) is not None}
            made = self._nodes[primitive, active] = self._written(primitive, rules) if rules else ""
        return made

    def _written(self, primitive: Primitive, rules: dict[int, Rule]) -> str:
        names = recorder.names_read(rules.values())
        whole = self._node(primitive, rules, names, None)
        if self.unbroadcast is None or len(self.vjps) == 1:
            return whole
        # Most operands have the shape of the result. Only the nodes of the others keep shapes and sum to them.
        shapes = [self._operands.shape_name(i) for i in rules]
        summed = self._node(primitive, rules, list(dict.fromkeys([*shapes, *names])), self.unbroadcast)
        return recorder.either(whole, summed, self._operands, rules)

    def _node(
        self, primitive: Primitive, rules: dict[int, Rule], kept: list[str], unbroadcast: Callable[..., Any] | None
    ) -> str:
        """Register a kind of node, and return the source of the expression that makes one."""
        title = _title("pull" if unbroadcast is None else "summing pull", primitive, sum(1 << i for i in rules))
        pull = recorder.pull(title, rules, kept, self._operands, unbroadcast)
        active = [i in rules for i, rule in enumerate(self.vjps) if rule is not None]
        values = {"y", *self._operands.names}
        kind = new_kind(primitive, len(rules), pull, active, keeps_values=not values.isdisjoint(kept))
        return recorder.node(kind, rules, [self._operands.kept(name, rules) for name in kept])

    def is_linear_in(self, i: int, active: Collection[int]) -> bool:
        """Return whether the rule of operand ``i`` reads neither the result nor an active operand."""
        rule = self.jvps[i]
        changing = {"y", *[self._operands.names[k] for k in active]}
        return rule is None or changing.isdisjoint(recorder.names_read([rule]))

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        y_dot = None
        for i, x_dot in enumerate(tangents):
            rule = self.jvps[i]
            if x_dot is not None and rule is not None:
                read = self._readers.get(i)
                if read is None:
                    read = self._readers[i] = recorder.reader(_title("reads", primitive, 1 << i), self._operands, rule)
                part = rule(x_dot, *read(y, params, *primals))
                y_dot = part if y_dot is None else y_dot + part
        return y_dot


def _title(role: str, primitive: Primitive, active: int) -> str:
    return f"{role} of {primitive.name} by operand {' and '.join(map(str, bits(active)))}"


class LinearTogether:
    """A mixin for derivatives of operations that are linear in all their differentiable operands together."""

    __slots__ = ()

    def is_linear_in(self, i: int, active: Collection[int]) -> bool:
        """Return true: the tangent does not depend on the differentiable operands."""
        del i, active
        return True


def is_linear_in(derivative: Any, active: Collection[int]) -> bool:
    """Return whether the tangent of the result depends on the tangents of the active operands alone.

    The values of the active operands do not matter then. A derivative that does not say so counts as not linear.
    """
    ask = getattr(derivative, "is_linear_in", None)
    return ask is not None and all(ask(i, active) for i in active)


class Multilinear(PerOperand):
    """Linear in each differentiable operand alone (reshape, dot_general), with one transpose for each.

    The jvp is the primitive itself, with the tangent in the operand's place.

    Args:
        operands: the names of the operands.
        transposes: for each operand its cotangent, a function of the result's cotangent; ``None`` for an operand
            without derivative.

    Example:
        The derivative of a product:

        >>> from funcgrad.extend import Multilinear
        >>> derivative = Multilinear(("a", "b"), [lambda y_bar, b: y_bar * b, lambda y_bar, a: y_bar * a])
        >>> derivative.is_linear_in(0, {0}), derivative.is_linear_in(0, {0, 1})
        (True, False)
    """

    __slots__ = ()

    is_product = True

    def __init__(self, operands: Sequence[str], transposes: Sequence[Rule | None]) -> None:
        super().__init__(operands, transposes, transposes)

    def is_linear_in(self, i: int, active: Collection[int]) -> bool:
        """Return whether no other active operand is multiplied with operand ``i``."""
        return not any(k != i and self.vjps[k] is not None for k in active)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        y_dot = None
        for i, x_dot in enumerate(tangents):
            if x_dot is not None and self.vjps[i] is not None:
                part = primitive(*primals[:i], x_dot, *primals[i + 1 :], **params)
                y_dot = part if y_dot is None else y_dot + part
        return y_dot


class ByEdges:
    """A derivative that chooses the rules for its operands again for each application."""

    __slots__ = ()

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> Sequence[Edge]:
        """Return the edges of one application. The node of an operand that needs no cotangent is ``None``."""
        raise NotImplementedError

    def active(self, nodes: Sequence[Any]) -> tuple[bool, ...] | None:
        """Return which differentiable operands get a cotangent; ``None`` means all."""
        return None

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        kinds: dict[Any, int] = {}

        def make(trace: Any, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> Node | None:
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
            return (
                next_serial(),
                kind,
                *parents,
                *[(rule, lasting(trace, kept, primals, nodes)) for _, rule, kept in edges],
            )

        return make


def _pull_edge(y_bar: Value, node: Node) -> Any:
    rule, kept = node[3]
    return rule(y_bar, *kept)


def _edges_pull(count: int) -> Pull:
    return lambda y_bar, node: [rule(y_bar, *kept) for rule, kept in node[2 + count :]]


class JointlyLinear(LinearTogether, ByEdges):
    """Linear in all its differentiable operands together (concatenate, select, scatter_add).

    Args:
        transpose: ``transpose(y_bar, i, avals, primals, params)`` returns the cotangent of operand ``i``. ``primals``
            has the values of the non-linear operands (indices, predicates), and ``None`` elsewhere.
        zeros: makes a zero tangent of an aval.
        linear: returns whether the primitive is linear in the operand with a given number; all, if left out.

    Example:
        The derivative of ``a - b``:

        >>> import numpy as np
        >>> from funcgrad.extend import JointlyLinear
        >>> def transpose(y_bar, i, avals, primals, params):
        ...     return -y_bar if i else y_bar
        >>> derivative = JointlyLinear(transpose, zeros=lambda x: np.zeros(x.shape, x.dtype))
        >>> float(derivative.transpose(2.0, 1, (), (), {}))
        -2.0
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

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> Sequence[Edge]:
        avals = tuple(aval_of(x) for x in primals)
        fixed = tuple(None if self.linear(i) else x for i, x in enumerate(primals))
        return [
            (node, self.transpose, (i, avals, fixed, params))
            for i, node in enumerate(nodes)
            if node is not None and self.linear(i)
        ]

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
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
    """The derivative is zero wherever it exists (comparisons, floor, argmax), so results carry none."""

    __slots__ = ()

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        return _no_node

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        return None


CONSTANT = _Constant()


class Undefined:
    """A derivative exists, but there is no rule for it. Asking for it raises an error that gives the reason.

    Args:
        reason: the message of the error.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> counted_p = extend.Primitive(
        ...     "counted",
        ...     operands=("x",),
        ...     numpy=np.cumsum,
        ...     xla=lambda lax, x: lax.cumsum(x),
        ...     aval=lambda x: x,
        ...     derivative=extend.Undefined("counted: it has no derivative. Use np.cumsum."),
        ...     batch=None,
        ...     cost=lambda y, x: x.size,
        ... )
        >>> fg.grad(lambda x: np.sum(counted_p(x)))(np.ones(2))
        Traceback (most recent call last):
        funcgrad.errors.NotDifferentiableError: counted: it has no derivative. Use np.cumsum.
    """

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        raise NotDifferentiableError(self.reason)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        raise NotDifferentiableError(self.reason)
