"""The tape at the bottom of the level stack: a trace that is always there, its nodes, and a tensor's data.

A tensor is the tracer of a reverse trace of level 0, beneath every transform. So all that is known of operations, from
NumPy's protocols to the derivative rules, is known of tensors, and the reverse pass is the one that ``grad`` runs.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.tape import Node, new_leaf, next_serial
from funcgrad.autograd._tape.mode import recording


class TensorNode(list):
    """A node of this tape: a list, since it is freed, with an identity, since ``grad_fn`` shows it.

    It remembers which value it gave, by identity too: see ``graph.py``; and PyTorch's name for it where that is not
    told by the primitive, of operations in place. Where its value is overwritten, it knows the copies that are kept,
    whether it was lost (where what it was computed from lay in the memory that it overwrote), and what the tensor's
    last operation is called.
    """

    __slots__ = ("copies", "hooks", "last_title", "lost", "title", "value_id")
    # What a pass calls with the cotangent: see ``hooks.py``.
    hooks: Any
    # By weak references: another array can have the identity of one that is gone.
    copies: list[weakref.ref[Any]]
    # In a list that all nodes of the tensor share.
    last_title: list[str]

    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]  (a list has none)
    __eq__ = object.__eq__


class LeafNode(TensorNode):
    """Where gradients accumulate. The tensor holds its node; the node must not hold the tensor."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorBase) -> None:
        super().__init__(new_leaf())
        self.tensor: weakref.ref[TensorBase] = weakref.ref(tensor)

    @property
    def value_id(self) -> int:
        """The identity of the tensor's value; of nothing once the tensor is gone and has no use for a gradient."""
        tensor = self.tensor()
        return 0 if tensor is None else id(tensor._value)


class TensorBase(ReverseTracer):
    """What a tensor holds: its value, its node if it requires a gradient, and the gradient if it is a leaf."""

    __slots__ = ("__weakref__", "_changed", "_gradient", "_is_parameter", "_seen", "_several", "_source")
    _held = ()

    _owner: TensorTrace
    _node: TensorNode | None
    _gradient: TensorBase | None
    _is_parameter: bool
    # The serial numbers of the last change to the history by a write (of a root), and of when a view without node was
    # made, negative if nothing was recorded then; of one of several views by which function, and which one. All three
    # are for ``_memory/history.py``, and mostly not set.
    _changed: int
    _seen: int
    _several: tuple[str, int]
    # With a value of JAX's: of which tensor this is the detached form, ``None`` for one that stands for itself. Results
    # of operations have no source: they may be views, and writing into them is refused.
    _source: TensorBase | None

    def __init__(self, trace: TensorTrace, value: Any, node: Node) -> None:
        # The result of a recorded operation.
        own = TensorNode(node)
        if type(value) is not _NDARRAY and isinstance(value, np.generic):
            scalar, value = value, _asarray(value)
            # What the node keeps of its result is the array, too.
            for slot, kept in enumerate(node):
                if kept is scalar:
                    own[slot] = value
        own.value_id = id(value)
        ReverseTracer.__init__(self, trace, value, own)

    @property
    def aval(self) -> Aval:
        return aval_of(self._value)


class Histories(Protocol):
    """The part of ``_memory/history.py`` that a trace calls once a write has changed a history."""

    def refresh(self, trace: Any, operands: tuple) -> bool:
        """Renew the operands that are stale views, while recording; the ``refresh`` hook of the trace."""
        ...

    def renew(self, x: TensorBase) -> None:
        """Record anew how a tensor comes from its root, if it is a stale view."""
        ...

    def will_have_node(self, x: TensorBase) -> bool:
        """Whether a tensor without a node is a stale view that gets one when it is renewed."""
        ...


class TensorTrace(ReverseTrace):
    """Records what happens to tensors that require gradients, as long as recording is on. It never ends."""

    transform = "backward"
    node_type = TensorNode
    # Renews the nodes of views, from the first change of a history by a write on (``_memory/history.py``).
    histories: Histories | None = None

    def __init__(self, tracer_type: type[TensorBase]) -> None:
        super().__init__()
        self.level = 0
        self.tracer_type = tracer_type

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        is_recording = recording.get()
        if is_recording:
            for x in operands:
                if type(x) is self.tracer_type and x._node is not None:
                    return _record(self, primitive, operands, params, False)
        values = tuple([x._value if type(x) is self.tracer_type else x for x in operands])
        y = bind(primitive, values, params)
        if primitive.multiple_results:
            return [self.constant(value) for value in y]
        made = self.constant(y)
        if primitive.view is not None:
            made._seen = next_serial() if is_recording else -next_serial()
        return made

    def keep(self, x: np.ndarray) -> np.ndarray:
        """The array itself: a pass refuses to read what was overwritten, as PyTorch does (``_writes.py``)."""
        return x

    def constant(self, y: Any) -> Any:
        """A tensor that requires no gradient."""
        tensor = _new(self.tracer_type)
        ReverseTracer.__init__(tensor, self, y if type(y) is _NDARRAY else owned_array(y), None)
        tensor._gradient = None
        return tensor

    def origin_of(self, primals: tuple, active: int, params: dict) -> Any:
        return primals, active, params

    def node_of(self, x: TensorBase) -> TensorNode | None:
        """The node of a tensor as it is now."""
        if self.histories is not None:
            self.histories.renew(x)
        return x._node

    def requires_grad(self, x: TensorBase) -> bool:
        """Whether a tensor requires a gradient."""
        return x._node is not None or (self.histories is not None and self.histories.will_have_node(x))


# Looked up at each operation otherwise.
_record = ReverseTrace.apply
_new = object.__new__
_NDARRAY = np.ndarray
_asarray = np.asarray

# Tensors, not leaves, whose gradients are to be kept, by node.
retained: weakref.WeakValueDictionary[TensorNode, TensorBase] = weakref.WeakValueDictionary()


def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor."""
    return isinstance(x, TensorBase)


def owned_array(value: Any) -> Any:
    """A value that a tensor may hold, which has memory to be shared and written to: numbers become arrays."""
    return np.asarray(value) if isinstance(value, np.generic | int | float | complex) else value


def set_value(tensor: TensorBase, value: Any) -> None:
    """Give a tensor another value; it keeps its identity."""
    tensor._value = value = owned_array(value)
    if value.shape != tensor.shape or value.dtype is not tensor.dtype:
        tensor._shape, tensor._dtype = value.shape, value.dtype
        if type(tensor._node) is LeafNode:
            tensor._node = LeafNode(tensor)
