"""``Tensor``: an array value with PyTorch's attributes and methods, on top of those of every tracer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import Tracer, lasting_traces
from funcgrad._core.tracebacks import folded
from funcgrad._types import Array, PyTree
from funcgrad.autograd._called import called_value
from funcgrad.autograd._memory.history import base_of, begin
from funcgrad.autograd._memory.views import alias, array_function, copied, getitem, iterate
from funcgrad.autograd._methods import kinds, matrices, plain
from funcgrad.autograd._methods.names import Size, size_of
from funcgrad.autograd._methods.table import METHODS
from funcgrad.autograd._methods.to import CPU
from funcgrad.autograd._tape.backward import backward, backward_from
from funcgrad.autograd._tape.base import (
    LeafNode,
    TensorBase,
    TensorTrace,
    owned_array,
    retained,
    set_value,
)
from funcgrad.autograd._tape.function import Function
from funcgrad.autograd._tape.handles import RemovableHandle
from funcgrad.autograd._tape.hooks import register, register_accumulated
from funcgrad.autograd._tape.mode import inferring, on_inference
from funcgrad.autograd._tape.refused import NO_COPY, in_pytorchs_words
from funcgrad.autograd._tape.writes import WRITES
from funcgrad.autograd._text import tensor_text
from funcgrad.numpy.extend import as_value, is_foreign_array
from funcgrad.tree import register_leaf


@register_leaf
class Tensor(TensorBase):
    """An array value that records how it was computed, if a gradient is required.

    Operators, array methods and NumPy functions (``np.exp(t)``) work on it as on every traced value, and return
    tensors. `tensor` makes one. It cannot be subclassed.

    Example:
        >>> import numpy as np
        >>> from funcgrad.autograd import tensor
        >>> a = tensor([2.0, 3.0], requires_grad=True)
        >>> y = np.sum(3 * a**3)
        >>> y.backward()
        >>> a.grad
        tensor([36., 81.])
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # The attributes of every tracer.
        def __getattr__(self, name: str) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = Any
        __rpow__ = __matmul__ = __rmatmul__ = __floordiv__ = __mod__ = __neg__ = __abs__ = __len__ = Any
        __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __xor__ = __invert__ = __setitem__ = Any

    def __init_subclass__(cls, *, around_traced: bool = False) -> None:
        # Tensors around traced values are the only other kind: see ``_traced.py``.
        if not around_traced:
            raise TypeError(
                "Tensor cannot be subclassed: operations would not know the subclass. Write functions of tensors."
            )

    def _make(self, given: tuple[Any, ...]) -> None:
        TRACE.begin_leaf(self, called_value(given))

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded for gradients. It can be set on leaves."""
        return self._node is not None or self._owner.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, requires_grad: bool) -> None:
        if requires_grad and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(requires_grad)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether a gradient is required, in place, and return the tensor.

        Raises:
            RuntimeError: the dtype has no derivatives, or the tensor is a result with a history.
        """
        if not self.is_leaf:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if not requires_grad:
            self._node = None
        elif self._node is None:
            if self._inference and not inferring.get():
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            if not is_inexact(self.dtype):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            begin(self)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        node = self._owner.node_of(self)
        return node is None or type(node) is LeafNode

    @property
    def grad_fn(self) -> Function | None:
        """The operation that made this tensor; ``None`` for a leaf."""
        return None if self.is_leaf else Function(self._node, self._owner)

    @property
    def grad(self) -> Any:
        """The gradient that `backward` has accumulated, a tensor; ``None`` before the first pass."""
        gradient = getattr(self, "_gradient", None)
        if gradient is not None:
            gradient._read = True
        return gradient

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None:
            if type(gradient) is not Tensor:
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(gradient).__name__}"
                )
            if gradient.shape != self.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(gradient.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
            if gradient.dtype != self.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{gradient.dtype}' to a tensor with dtype "
                    f"'{self.dtype}'. The gradient must match the tensor's dtype; convert it with .to()"
                )
            gradient._read = True
        self._gradient = gradient

    def retain_grad(self) -> None:
        """Make `backward` fill ``grad`` of this tensor although it is no leaf."""
        node = self._owner.node_of(self)
        if node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if type(node) is not LeafNode:
            retained[node] = self

    @property
    def retains_grad(self) -> bool:
        """Whether this tensor is no leaf and `backward` fills its ``grad``."""
        node = self._owner.node_of(self)
        return node is not None and retained.get(node) is self

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Register a function that each pass calls with the gradient by this tensor.

        Args:
            hook: gets the gradient, a tensor. Its result replaces the gradient, unless it is ``None``.

        Returns:
            A handle whose ``remove()`` removes the hook.

        Raises:
            RuntimeError: the tensor requires no gradient.
            TypeError: ``hook`` is no function.

        Example:
            >>> from funcgrad.autograd import tensor
            >>> x = tensor([1.0, 2.0], requires_grad=True)
            >>> handle = x.register_hook(lambda g: 10 * g)
            >>> (x**2).sum().backward()
            >>> x.grad
            tensor([20., 40.])
        """
        if not callable(hook):
            raise TypeError(
                f"register_hook: hook is a {type(hook).__name__}; needed a function of the gradient. Pass one."
            )
        node = self._owner.node_of(self)
        if node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return register(node, self._owner, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Register a function that `backward` calls with this leaf after it has filled ``grad``.

        Raises:
            RuntimeError: the tensor requires no gradient, or is no leaf.
        """
        node = self._owner.node_of(self)
        if node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if type(node) is not LeafNode:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return register_accumulated(node, self._owner, hook)

    @folded
    def backward(
        self,
        gradient: Array = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: PyTree = None,
    ) -> None:
        """Compute the gradient of this tensor by the leaves and add it to their ``grad``: `autograd.backward`.

        Args:
            gradient: the seed, of this tensor's shape (a tensor, an array or a list of numbers); 1 by default for a
                scalar.
            retain_graph: whether to keep the graph for another pass.
            create_graph: whether to record the pass itself.
            inputs: the tensors whose ``grad`` is filled; by default all leaves.
        """
        if gradient is None and inputs is None and not create_graph:
            backward_from(self, retain=bool(retain_graph))
            return
        if gradient is not None and type(gradient) is not Tensor:
            gradient = as_value(gradient) if is_foreign_array(gradient) else gradient
            gradient = self._owner.constant(np.asarray(gradient, None if hasattr(gradient, "dtype") else self.dtype))
        backward((self,), (gradient,), retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """Return a tensor with the same memory and without history."""
        made = self._owner.constant(self._owner.detached(self._value))
        made._inference = self._inference
        if type(self._value) is not np.ndarray and hasattr(self, "_source"):
            made._source = self
        return made

    def detach_(self) -> Tensor:
        """Remove the history, in place.

        Raises:
            RuntimeError: the tensor is a view of another.
        """
        if base_of(self) is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._node = None
        self._gradient = self.grad
        return self

    @property
    def data(self) -> Tensor:
        """The value without history. Assigning to it changes only this tensor's value.

        Raises:
            RuntimeError: a value of another shape or dtype was assigned, and the tensor is the result of an operation.
        """
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        if type(value) is not Tensor:
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if not self.is_leaf and (value.shape, value.dtype) != (self.shape, self.dtype):
            raise RuntimeError(
                f"data of a tensor with a history, {self.aval}, was to become {value.aval}: its gradient would "
                "not fit the operation that made the tensor. Assign data of the same shape and dtype, or make a new "
                "tensor."
            )
        WRITES.note((self,))
        set_value(self, value._value)
        self._source = None

    def clone(self, *, memory_format: Any = None) -> Tensor:
        """Return a copy, through which gradients flow. The order in memory is NumPy's."""
        del memory_format
        made = copied(self)
        made._source = None
        return made

    @property
    def size(self) -> Size:
        """The number of elements. Calling it returns the shape or one of its lengths."""
        return size_of(self.shape, math.prod(self.shape))

    @property
    def _version(self) -> int:
        """The number of in-place writes to the memory, through any tensor."""
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return WRITES.version(self._value)

    @property
    def device(self) -> Any:
        """The device of the value: ``device("cpu")`` for NumPy's, a ``jax.Device`` for JAX's."""
        return CPU if type(self._value) is np.ndarray else getattr(self._value, "device", CPU)

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self.size)

    def dim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Tensor:  # noqa: N802  (NumPy's and PyTorch's name)
        """The tensor with its axes in reverse order."""
        return self.permute(*range(len(self.shape))[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802  (NumPy's and PyTorch's name)
        """The tensor with its last two axes exchanged."""
        return fnp.matrix_transpose(self)

    @property
    def H(self) -> Tensor:  # noqa: N802  (PyTorch's name)
        """The matrix, conjugate and transposed."""
        if len(self.shape) not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {len(self.shape)}-D tensor. For batches of "
                "matrices, consider using tensor.mH"
            )
        return matrices.adjoint(self) if self.shape else fnp.conjugate(self)

    @property
    def mH(self) -> Tensor:  # noqa: N802  (PyTorch's name)
        """The conjugate with its last two axes exchanged."""
        return matrices.adjoint(self)

    def __copy__(self) -> Tensor:
        made = alias(self)
        if self.is_leaf:
            made = rebuild(made._value, self.requires_grad, getattr(self, "_is_parameter", False))
        return made

    def __repr__(self) -> str:
        function = self.grad_fn
        suffix = f"grad_fn={function}" if function else "requires_grad=True" if self.requires_grad else ""
        text = tensor_text(np.asarray(self._value), suffix)
        return f"Parameter containing:\n{text}" if getattr(self, "_is_parameter", False) else text

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(NO_COPY)
        copied = rebuild(self._value.copy(), self.requires_grad, getattr(self, "_is_parameter", False))
        memo[id(self)] = copied
        gradient = self.grad
        copied._gradient = None if gradient is None else gradient.__deepcopy__(memo)
        return copied

    def __reduce__(self) -> Any:
        if not self.is_leaf:
            raise RuntimeError("a Tensor with a history cannot be pickled. Pickle tensor.detach() instead.")
        # The pickle holds a NumPy array: without 64-bit mode, JAX would read float64 back as float32.
        return rebuild, (np.asarray(self._value), self.requires_grad, getattr(self, "_is_parameter", False))

    # As in PyTorch, a tensor is a key by its identity.
    __hash__ = object.__hash__
    # As in PyTorch, a number is the second operand, which `grad_fn` shows.
    __radd__: Any = vars(Tracer)["__add__"]
    __rmul__: Any = vars(Tracer)["__mul__"]
    __pow__: Any = in_pytorchs_words(vars(Tracer)["__pow__"])
    __array_function__ = array_function
    __getitem__ = getitem
    __iter__ = iterate
    item, tolist, numpy = plain.item, plain.tolist, plain.numpy
    __bool__, __index__, __format__ = plain.to_bool, plain.to_index, plain.to_text
    __float__, __int__, __complex__ = plain.to_float, plain.to_int, plain.to_complex
    __array__, __dlpack__, __dlpack_device__ = plain.to_array, plain.to_dlpack, plain.dlpack_device


for _name, _attribute in {**METHODS, **kinds.FLAGS}.items():
    setattr(Tensor, _name, _attribute)
# The tape of all tensors.
TRACE = TensorTrace(Tensor)
lasting_traces.append(TRACE)
on_inference.append(TRACE.meet_inference)


def rebuild(value: Array, requires_grad: bool, is_parameter: bool = False) -> Tensor:
    """Return a leaf with a value, which is not copied."""
    made = TRACE.constant(owned_array(value))
    made._source = None
    if requires_grad:
        made.requires_grad_()
    if is_parameter:
        made._is_parameter = True
    return made
