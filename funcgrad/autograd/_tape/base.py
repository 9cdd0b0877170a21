"""The tape of tensors: a trace that always exists, at the lowest level, its nodes, and a tensor's data.

A tensor is the tracer of a reverse trace of level 0, beneath every transform. NumPy's protocols, the derivative rules
and the reverse pass of ``grad`` therefore work for tensors too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.tape import Node, is_joint, kept_by, new_leaf, next_serial, parents_of
from funcgrad._types import Array, Tensor
from funcgrad.autograd._tape.dtypes import result_dtype
from funcgrad.autograd._tape.mode import inferring, recording
from funcgrad.autograd._tape.refused import pytorchs_error


class TensorNode(list):
    """A node of this tape. It is a list, because it is freed, and has an identity, because ``grad_fn`` shows it.

    It keeps the id of its value: see ``graph.py``. An in-place operation also keeps PyTorch's name for it, because the
    primitive does not tell it. If its value is overwritten, the node knows the copies that are kept, whether an operand
    was lost (because it shared the overwritten memory), and the name of the tensor's last operation.
    """

    __slots__ = ("copies", "hooks", "last_title", "lost", "title", "value_id")
    # The hooks that a pass calls with the cotangent: see ``hooks.py``.
    hooks: Any
    # Weak references, because another array can have the id of a freed one.
    copies: list[weakref.ref[Any]]
    # In a list that all nodes of the tensor share.
    last_title: list[str]

    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]  (a list has none)
    __eq__ = object.__eq__


class LeafNode(TensorNode):
    """The node of a leaf, in which gradients accumulate.

    The tensor refers to its node; the node must not refer back.
    """

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorBase) -> None:
        super().__init__(new_leaf())
        self.tensor: weakref.ref[TensorBase] = weakref.ref(tensor)

    @property
    def value_id(self) -> int:
        """Return the id of the tensor's value; that of no value once the tensor is freed."""
        tensor = self.tensor()
        return 0 if tensor is None else id(tensor._value)


class TensorBase(ReverseTracer):
    """The data of a tensor: its value, its node if it requires a gradient, and the gradient if it is a leaf."""

    __slots__ = (
        *("__weakref__", "_changed", "_gradient", "_inference", "_is_parameter", "_read", "_seen", "_several"),
        "_source",
    )
    _held = ()
    _promotion = staticmethod(result_dtype)

    _owner: TensorTrace
    _node: TensorNode | None
    _gradient: TensorBase | None
    # Whether the tensor was made in inference mode, or is a view of such a tensor.
    _inference: bool
    _is_parameter: bool
    # True for a gradient that ``tensor.grad`` has returned. Only then can a graph keep its memory (``writes.py``).
    _read: bool
    # Three fields of ``_memory/history.py``, which are usually not set: the serial number of the last write that
    # changed a root's history; the serial number of a view without node, negative if nothing was recorded then; and for
    # one of several views the function and its position.
    _changed: int
    _seen: int
    _several: tuple[str, int]
    # For a JAX value: the tensor that this one was detached from, or ``None`` if it was not detached. Results of
    # operations have no source: they may be views, and writing into them is refused.
    _source: TensorBase | None

    def __init__(self, trace: Any = None, value: Array = None, node: Node | Any = None, *sizes: Any) -> None:
        if type(node) is not tuple:
            # A program has called the class, as PyTorch's programs do: ``Tensor(2, 3)``, ``Tensor([1.0])``.
            self._make((trace, value, node, *sizes))
            return
        # The value is the result of a recorded operation.
        own = TensorNode(node)
        if type(value) is not _NDARRAY and issubclass(type(value), np.generic):
            scalar, value = value, _asarray(value)
            # If the node keeps its result, it must keep the array as well.
            for slot, kept in enumerate(node):
                if kept is scalar:
                    own[slot] = value
        own.value_id = id(value)
        self._inference = False
        ReverseTracer.__init__(self, trace, value, own)

    def _make(self, given: tuple[Any, ...]) -> None:
        """Become a leaf of the given sizes or data."""
        raise NotImplementedError

    @property
    def aval(self) -> Aval:
        return aval_of(self._value)


class Histories(Protocol):
    """The part of ``_memory/history.py`` that a trace calls once a write has changed a history."""

    def refresh(self, trace: Any, operands: tuple) -> bool:
        """Renew the operands that are stale views, while recording. It is the ``refresh`` hook of the trace."""
        ...

    def renew(self, x: TensorBase) -> None:
        """Record again how a tensor comes from its root, if it is a stale view."""
        ...

    def will_have_node(self, x: TensorBase) -> bool:
        """Return whether a tensor without a node is a stale view that gets one when it is renewed."""
        ...


class TensorTrace(ReverseTrace):
    """Records operations on tensors that require gradients, while recording is on. It never ends."""

    transform = "backward"
    node_type = TensorNode
    # Renews the nodes of views after a write has changed a history (``_memory/history.py``).
    histories: Histories | None = None
    # Packs the kept values of a result's node, while hooks of saved tensors exist (``saved.py``).
    pack: Callable[[TensorTrace, Any], None] | None = None
    # Whether there may be inference tensors.
    has_inference = False

    def __init__(self, tracer_type: type[TensorBase]) -> None:
        super().__init__()
        self.level = 0
        self.tracer_type = tracer_type

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        is_recording = recording.get()
        try:
            if is_recording:
                for x in operands:
                    if type(x) is self.tracer_type and x._node is not None:
                        return _record(self, primitive, operands, params, False)
            values = tuple([x._value if type(x) is self.tracer_type else x for x in operands])
            y = bind(primitive, values, params)
        except (ValueError, IndexError) as error:
            theirs = pytorchs_error(error, operands)
            if theirs is None:
                raise
            raise theirs from None
        if primitive.multiple_results:
            return [self.constant(value) for value in y]
        made = self.constant(y)
        if primitive.view is not None:
            made._seen = next_serial() if is_recording else -next_serial()
            x = operands[0]
            if type(x) is self.tracer_type and x._inference is not made._inference:
                _inherit_inference(made, x)
        return made

    def apply_hooked(self, primitive: Primitive, operands: tuple, params: dict) -> Any:
        y = super().apply_hooked(primitive, operands, params)
        if self.has_inference and recording.get():
            for x in operands:
                if type(x) is self.tracer_type and x._inference:
                    _refuse_kept(x, y[0] if primitive.multiple_results else y)
        if self.pack is not None and not primitive.multiple_results:
            self.pack(self, y)
        return y

    def set_check(self, check: Callable[[Any, Primitive, tuple, dict, Any], None] | None) -> None:
        super().set_check(check)
        self.direct = self.direct and self.pack is None and not self.has_inference

    def meet_inference(self) -> None:
        """Look for inference tensors among the values that nodes keep, from now on."""
        self.has_inference = True
        self.direct = False

    def set_pack(self, pack: Callable[[TensorTrace, Any], None] | None) -> None:
        """Set the function that packs kept values, or remove it with ``None``."""
        self.pack = pack
        self.set_check(self.check)

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Return the array itself: a pass refuses to read an overwritten array, as PyTorch does (``_writes.py``)."""
        return x

    def constant(self, y: Tensor) -> Tensor:
        """Return a tensor that requires no gradient."""
        tensor = _new(self.tracer_type)
        ReverseTracer.__init__(tensor, self, y if type(y) is _NDARRAY else owned_array(y), None)
        tensor._gradient = None
        tensor._inference = inferring.get()
        return tensor

    def begin_leaf(self, tensor: Any, value: Array) -> None:
        """Make a tensor object a leaf with a value, which requires no gradient."""
        ReverseTracer.__init__(tensor, self, owned_array(value), None)
        tensor._gradient = tensor._source = None
        tensor._inference = inferring.get()

    def detached(self, value: Array) -> Array:
        """Return the value of a tensor after `detach`: the same memory."""
        return value

    def origin_of(self, primals: tuple, active: int, params: dict) -> Any:
        return primals, active, params

    def node_of(self, x: TensorBase) -> TensorNode | None:
        """Return the present node of a tensor."""
        if self.histories is not None:
            self.histories.renew(x)
        return x._node

    def requires_grad(self, x: TensorBase) -> bool:
        """Return whether a tensor requires a gradient."""
        return x._node is not None or (self.histories is not None and self.histories.will_have_node(x))


# Module names, because attribute lookups would be made at each operation.
_record = ReverseTrace.apply
_new = object.__new__
_NDARRAY = np.ndarray
_asarray = np.asarray

# The tensors, no leaves, that retain their gradients, by node.
retained: weakref.WeakValueDictionary[TensorNode, TensorBase] = weakref.WeakValueDictionary()


def is_tensor(x: Tensor) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(x, TensorBase)


def is_fixed(value: Array) -> bool:
    """Return whether a tensor's value cannot be written to, because it is JAX's or traced."""
    return not isinstance(value, np.ndarray)


def _inherit_inference(made: TensorBase, x: TensorBase) -> None:
    """Make a view an inference tensor exactly if the tensor is one; an index may also have made a copy."""
    y = made._value
    if type(y) is not _NDARRAY or np.may_share_memory(y, x._value):
        made._inference = x._inference


def _refuse_kept(x: TensorBase, y: Any) -> None:
    """Refuse a result whose node keeps the value of an inference tensor."""
    node = getattr(y, "_node", None)
    if node is None:
        return
    parents = parents_of(node)
    hub = next((parent for parent in parents if parent is not None and is_joint(parent)), node)
    if _keeps(kept_by(hub), x._value):
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )


def _keeps(kept: Any, value: Array) -> bool:
    return any(_keeps(one, value) if isinstance(one, tuple | list) else one is value for one in kept)


def owned_array(value: Array) -> Array:
    """Return a value with memory that can be shared and written to: numbers become arrays."""
    return np.asarray(value) if issubclass(type(value), np.generic | int | float | complex) else value


def set_value(tensor: TensorBase, value: Array) -> None:
    """Give a tensor another value. The tensor stays the same object."""
    tensor._value = value = owned_array(value)
    if value.shape != tensor.shape or value.dtype is not tensor.dtype:
        tensor._shape, tensor._dtype = value.shape, value.dtype
        if type(tensor._node) is LeafNode:
            tensor._node = LeafNode(tensor)
