"""The values that nodes keep for their derivatives: seen as tensors, and packed by hooks of the user."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.bind import is_engine_value
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._core.trace.recorder import names_read
from funcgrad._core.trace.tape import is_freed, is_joint, kept_by, operands_of, parents_of, primitive_of
from funcgrad._types import Array, Tensor
from funcgrad.autograd._tape.base import LeafNode, TensorBase, TensorTrace, is_tensor
from funcgrad.autograd._tape.mode import recorded


class Pair(NamedTuple):
    """The two hooks: the first packs a tensor into any object, the second makes a tensor of this object."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


# The hooks in use, the innermost last.
pairs: ContextVar[tuple[Pair, ...]] = ContextVar("funcgrad_saved_tensors_hooks", default=())
# The packed values that exist. A pass unpacks values only if there are any.
packed: weakref.WeakSet[PackedValue] = weakref.WeakSet()


class PackedValue:
    """A kept value after packing.

    Args:
        made: what the hook made of it.
        unpack: the hook that makes a tensor of it.
        source: the number of the parent whose value it is, -1 for the node's own value, ``None`` for another value.
    """

    __slots__ = ("__weakref__", "_made", "_unpack", "source")

    def __init__(self, made: Any, unpack: Callable[[Any], Any], source: int | None) -> None:
        self._made = made
        self._unpack = unpack
        self.source = source
        packed.add(self)

    def value(self) -> Any:
        """Return the value that the hook makes."""
        with recorded(False):
            found = self._unpack(self._made)
        if not is_tensor(found):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(found).__name__}"
            )
        return found._value


def pack_result(trace: TensorTrace, y: Any) -> None:
    """Pack what the node of a result keeps, if this thread has hooks."""
    chosen = pairs.get()
    node = getattr(y, "_node", None) if chosen else None
    if node is None:
        return
    parents = parents_of(node)
    # A leaf's id is that of its present value, so the sources are found now.
    sources = {node.value_id: -1}
    sources.update({parent.value_id: i for i, parent in enumerate(parents) if not is_joint(parent)})
    for slot in range(2 + len(parents), len(node)):
        value = node[slot]
        if type(value) is np.ndarray or is_engine_value(value):
            node[slot] = _pack(trace, chosen[-1], value, sources.get(id(value)))


def _pack(trace: TensorTrace, pair: Pair, value: Array, source: int | None) -> PackedValue:
    tensor = trace.constant(value)
    before = _version(tensor)
    with recorded(False):
        made = pair.pack(tensor)
    if _version(tensor) != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return PackedValue(made, pair.unpack, source)


def _version(tensor: Any) -> int:
    return tensor._version  # noqa: SLF001  (PyTorch's public counter of writes)


def unpacked(node: Any) -> Any:
    """Return a node with plain values in place of packed ones."""
    if not any(type(one) is PackedValue for one in node):
        return node
    return [one.value() if type(one) is PackedValue else one for one in node]


def linked(trace: TensorTrace, node: Any, kept: PackedValue) -> Any:
    """Return a packed value for a derivative that is recorded: a tensor with its history, if it has one."""
    value = kept.value()
    if kept.source is None:
        return value
    return tensor_of(trace, value, node if kept.source == -1 else parents_of(node)[kept.source])


def tensor_of(trace: TensorTrace, value: Array, node: Any) -> TensorBase:
    """Return the value as the result of a node that is on the tape already."""
    tensor = trace.constant(value)
    tensor._node = node
    return tensor


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
# PyTorch's names of what an operation keeps, by the number of the operand; -1 is the result.
_OPERANDS = {
    **dict.fromkeys(("self", "input", "condition"), 0),
    **dict.fromkeys(("other", "exponent", "mat2", "weight", "vec2", "vec"), 1),
    "result": -1,
}


def saved(trace: TensorTrace, node: Any, name: str) -> Tensor | None:
    """Return a value that a node keeps, by PyTorch's name of it, as a tensor.

    ``None`` for an operand that the derivative does not read.

    Raises:
        AttributeError: the node keeps no such value.
        RuntimeError: a pass has freed the node.
    """
    if is_freed(node):
        raise RuntimeError(FREED)
    number = _OPERANDS.get(name)
    places = _places(node)
    if number is None or places is None or (number == -1 and -1 not in places):
        raise AttributeError(name)
    if number not in places:
        return None
    value = kept_by(node)[places[number]]
    value = value.value() if type(value) is PackedValue else value
    parent = node if number == -1 else _operands(node).get(number)
    if type(parent) is LeafNode and (leaf := parent.tensor()) is not None and leaf._value is value:
        return leaf
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return value
    return trace.constant(np.asarray(value)) if parent is None else tensor_of(trace, value, parent)


def _operands(node: Any) -> dict[int, Any]:
    """Return the nodes of the differentiable operands by number, ``None`` for constants."""
    rules = primitive_of(node).derivative.vjps
    return dict(zip([i for i, rule in enumerate(rules) if rule is not None], operands_of(node), strict=True))


def _places(node: Any) -> dict[int, int] | None:
    """Return where a node keeps operands and the result (-1), by number; ``None`` if only its rule knows."""
    derivative = getattr(primitive_of(node), "derivative", None)
    if not isinstance(derivative, PerOperand):
        return None
    names = names_read([derivative.vjps[i] for i, parent in _operands(node).items() if parent is not None])  # pyright: ignore[reportArgumentType]  (differentiable operands have a rule)
    first = len(kept_by(node)) - len(names)
    numbers = {"y": -1, **{name: i for i, name in enumerate(primitive_of(node).operands)}}
    return {numbers[name]: first + i for i, name in enumerate(names) if name in numbers}
