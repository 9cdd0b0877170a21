"""``grad_fn``: shows a node of the tape as PyTorch does."""

from __future__ import annotations

from typing import Any

from funcgrad._core.trace.tape import is_joint, operands_of, parents_of, primitive_of
from funcgrad.autograd._tape.base import LeafNode

# PyTorch's names that differ from our primitives' names.
_NAMES = {
    "reduce_sum": "Sum",
    "reduce_max": "Amax",
    "reduce_min": "Amin",
    "reduce_prod": "Prod",
    "dot_general": "Mm",
    "power": "Pow",
    "transpose": "Permute",
    "reshape": "View",
    "broadcast_to": "Expand",
    "concatenate": "Cat",
    "select": "Where",
    "cast": "ToCopy",
    "max": "Maximum",
    "min": "Minimum",
    "logistic": "Sigmoid",
}


class Function:
    """An operation on the tape, as ``tensor.grad_fn`` shows it."""

    __slots__ = ("_node",)

    def __init__(self, node: Any) -> None:
        self._node = node

    def name(self) -> str:
        """Return PyTorch's name for the operation: ``MulBackward0``; ``AccumulateGrad`` for a leaf."""
        if type(self._node) is LeafNode:
            return "AccumulateGrad"
        if (title := getattr(self._node, "title", None)) is not None:
            return title
        name = primitive_of(self._node).name
        if name == "pow":
            # PyTorch numbers its derivatives with the same name: this is the one of two tensors.
            return "PowBackward1"
        return _NAMES.get(name, "".join(part.capitalize() for part in name.split("_"))) + "Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Function | None, int], ...]:
        """The operations, or leaves, whose results this one used; none after a pass has freed the graph.

        ``(None, 0)`` stands for an operand that requires no gradient.
        """
        parents = operands_of(self._node)
        if parents and parents[0] is not None and is_joint(parents[0]):
            parents = parents_of(parents[0])
        return tuple([(None if parent is None else Function(parent), 0) for parent in parents])

    @property
    def variable(self) -> Any:
        """The leaf in which gradients accumulate."""
        if type(self._node) is not LeafNode:
            raise AttributeError(f"{self.name()} has no variable; only AccumulateGrad has")
        return self._node.tensor()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self._node is other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]}>"
