"""Writing into tensors: done where no history is concerned, refused where one would be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import is_foreign
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad.autograd._base import LeafNode, TensorBase, set_value
from funcgrad.autograd._mode import recording
from funcgrad.autograd._torch import array_of, is_torchs
from funcgrad.autograd._writes import WRITES
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy.extend import At, as_value, is_guest

_ASSIGNED = "x[i] = v"


def _check(tensor: TensorBase, other: Any, asked: str) -> None:
    """Refuse to write where an operation would have to be recorded."""
    if not recording.get():
        return
    if type(tensor.node) is LeafNode:
        view = "a view of " if asked == _ASSIGNED else ""
        raise RuntimeError(f"{view}a leaf Variable that requires grad is being used in an in-place operation.")
    if tensor.node is not None or (isinstance(other, TensorBase) and other.node is not None):
        raise TracerAssignmentError(
            f"{asked} writes into a tensor {tensor.aval} of which a history is recorded: gradients would be lost. "
            "Write x = x + y instead of x += y, x = x.at[i].set(v) instead of x[i] = v, or work under no_grad()."
        )


def _writable(tensor: TensorBase) -> np.ndarray:
    """The memory of the tensor, which is about to be written to."""
    if not tensor.value.flags.writeable:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    # Which counts the references to the value: there is none here.
    WRITES.note((tensor,))
    return tensor.value


def _give(tensor: TensorBase, asked: str, compute: Callable[[Any], Any]) -> Any:
    """Give a tensor of JAX's values another one, and likewise the tensors of which it is the detached form.

    So what PyTorch writes to memory that two tensors share is seen by the one that was cut off the other.
    """
    old = tensor.value
    sharing = [tensor]
    while (source := getattr(sharing[-1], "source", tensor)) is not None:
        if source is tensor or source.value is not old:
            raise TracerAssignmentError(
                f"{asked} writes into a tensor {tensor.aval} whose value is a {type(old).__name__}, which cannot "
                "change, and may be a part of another. Compute a new tensor, clone() it, or keep the values in NumPy."
            )
        sharing.append(source)
    new = compute(old)
    if new.shape != tensor.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(new.shape)}"
        )
    if not np.can_cast(new.dtype, tensor.dtype, "same_kind"):
        raise RuntimeError(f"result type {new.dtype} can't be cast to the desired output type {tensor.dtype}")
    WRITES.note((tensor,))
    new = cast(new, tensor.dtype)
    for one in sharing:
        set_value(one, new)
    return tensor


def _filled(value: Any, source: Any) -> Any:
    """The source in the shape of a value of JAX's, on its device."""
    join = fnp.logical_or if value.dtype.kind == "b" else fnp.add
    return join(zeros_like(value), cast(as_value(source), value.dtype))


def _value(other: Any) -> Any:
    return other.value if isinstance(other, TensorBase) else other


def method(ufunc: np.ufunc) -> Callable[..., Any]:
    """The method that replaces a tensor's value by a function of it and another."""
    asked = f"an in-place {ufunc.__name__}"
    function = getattr(fnp, ufunc.__name__)

    def in_place(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        """Compute in place, where no history is concerned."""
        _check(self, other, asked)
        other = _value(other)
        other = other if type(alpha) is int and alpha == 1 else fnp.multiply(other, alpha)
        if is_foreign(self.value):
            return _give(self, asked, lambda value: function(value, other))
        value = _writable(self)
        ufunc(value, other, out=value, casting="same_kind")
        return self

    return in_place


def set_item(self: Any, index: Any, other: Any) -> None:
    """Assign elements, where no history is concerned."""
    _check(self, other, _ASSIGNED)
    entries = index if type(index) is tuple else (index,)
    plain = tuple([np.asarray(_value(entry)) if isinstance(entry, TensorBase) else entry for entry in entries])
    place = plain if type(index) is tuple else plain[0]
    if is_foreign(self.value):
        _give(self, _ASSIGNED, lambda value: At(value)[place].set(_value(other)))
    else:
        _writable(self)[place] = _value(other)


def zero(self: Any) -> Any:
    """Set all elements to 0, in place."""
    return fill(self, 0)


def fill(self: Any, number: Any) -> Any:
    """Set all elements to a number, in place."""
    _check(self, number, "fill_")
    if is_foreign(self.value):
        return _give(self, "fill_", lambda value: _filled(value, _value(number)))
    _writable(self).fill(_value(number))
    return self


def copy(self: Any, source: Any) -> Any:
    """Copy the elements of another tensor or array, in place, converted to this tensor's dtype."""
    _check(self, source, "copy_")
    if is_torchs(source):
        source = array_of(source)
    source = as_value(source) if is_guest(source) else source
    if is_foreign(self.value):
        return _give(self, "copy_", lambda value: _filled(value, _value(source)))
    np.copyto(_writable(self), np.asarray(_value(source)), casting="unsafe")
    return self
