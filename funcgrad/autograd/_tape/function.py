"""``grad_fn``: shows a node of the tape as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.trace.tape import is_joint, operands_of, parents_of, primitive_of
from funcgrad.autograd._tape.base import LeafNode, TensorTrace
from funcgrad.autograd._tape.handles import RemovableHandle
from funcgrad.autograd._tape.hooks import prehooked, register, register_after
from funcgrad.autograd._tape.saved import saved

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
    """An operation on the tape, as ``tensor.grad_fn`` shows it.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = fg.autograd.tensor(np.ones(2), requires_grad=True)
        >>> y = (x * 2).sum()
        >>> y.grad_fn.name(), [parent.name() for parent, _ in y.grad_fn.next_functions]
        ('SumBackward0', ['MulBackward0'])
    """

    __slots__ = ("_node", "_trace")

    def __init__(self, node: Any, trace: TensorTrace | None = None) -> None:
        self._node = node
        self._trace = trace

    def name(self) -> str:
        """Return PyTorch's name for the operation: ``MulBackward0``; ``torch::autograd::AccumulateGrad`` for a leaf."""
        if type(self._node) is LeafNode:
            return "torch::autograd::AccumulateGrad"
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
        parents = operands_of(self._operation())
        return tuple([(None if parent is None else Function(parent, self._trace), 0) for parent in parents])

    @property
    def variable(self) -> Any:
        """The leaf in which gradients accumulate."""
        if type(self._node) is not LeafNode:
            raise AttributeError(f"{self.name()} has no variable; only AccumulateGrad has")
        return self._node.tensor()

    def __getattr__(self, name: str) -> Any:
        """Return a value that the operation keeps: ``_saved_self``, ``_saved_other`` or ``_saved_result``."""
        if name.startswith("_saved_") and self._trace is not None and type(self._node) is not LeafNode:
            try:
                return saved(self._trace, self._node, name.removeprefix("_saved_"))
            except AttributeError:
                pass
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Register a function that each pass calls before this operation's derivative.

        Args:
            hook: gets a tuple of the gradients by the results. A tuple that it returns replaces it.

        Returns:
            A handle whose ``remove()`` removes the hook.
        """
        node = self._operation()
        return register(node, self._hooked_trace(), hook if is_joint(node) else prehooked(hook))

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Register a function that each pass calls after this operation's derivative.

        Args:
            hook: gets the gradients by the operands, ``None`` for one that needs none, and the gradient by the result,
                each as a tuple. A tuple that it returns replaces the former.

        Returns:
            A handle whose ``remove()`` removes the hook.

        Raises:
            RuntimeError: this is a leaf, whose gradient has hooks of the tensor itself.

        Example:
            >>> from funcgrad.autograd import tensor
            >>> x = tensor([1.0, 2.0], requires_grad=True)
            >>> y = x.exp() * 3
            >>> handle = y.grad_fn.register_hook(lambda by_operands, by_result: (by_operands[0] * 10, None))
            >>> y.sum().backward()
            >>> x.grad / x.detach().exp()
            tensor([30., 30.])
        """
        if type(self._node) is LeafNode:
            raise RuntimeError(
                "register_hook: AccumulateGrad has no derivative to hook. Use tensor.register_hook on the leaf itself."
            )
        return register_after(self._operation(), self._hooked_trace(), hook)

    def _operation(self) -> Any:
        """Return the node that has the derivative: several results of one operation share it."""
        parents = parents_of(self._node)
        return parents[0] if parents and parents[0] is not None and is_joint(parents[0]) else self._node

    def _hooked_trace(self) -> TensorTrace:
        assert self._trace is not None
        return self._trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self._node is other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]}>"
