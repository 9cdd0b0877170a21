"""Writing into tensors: done where no history is concerned, refused where one would be lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.autograd._base import LeafNode, TensorBase
from funcgrad.autograd._mode import recording
from funcgrad.autograd._writes import note_writes
from funcgrad.errors import TracerAssignmentError

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


def _writable(tensor: TensorBase, asked: str) -> np.ndarray:
    """The memory of the tensor, which is about to be written to."""
    note_writes((tensor,))
    value = tensor.value
    if isinstance(value, np.generic):
        value = tensor.value = np.asarray(value)
    if type(value) is not np.ndarray:
        raise TracerAssignmentError(
            f"{asked} writes into a tensor {tensor.aval} whose value is a {type(value).__name__}, which cannot change. "
            "Compute a new tensor instead, or keep the values in NumPy."
        )
    return value


def _value(other: Any) -> Any:
    return other.value if isinstance(other, TensorBase) else other


def method(ufunc: np.ufunc) -> Callable[..., Any]:
    """The method that replaces a tensor's value by a function of it and another."""
    asked = f"an in-place {ufunc.__name__}"

    def in_place(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        """Compute in place, where no history is concerned."""
        _check(self, other, asked)
        value = _writable(self, asked)
        other = _value(other)
        ufunc(value, other if type(alpha) is int and alpha == 1 else other * alpha, out=value, casting="same_kind")
        return self

    return in_place


def set_item(self: Any, index: Any, other: Any) -> None:
    """Assign elements, where no history is concerned."""
    _check(self, other, _ASSIGNED)
    entries = index if type(index) is tuple else (index,)
    plain = tuple([np.asarray(_value(entry)) if isinstance(entry, TensorBase) else entry for entry in entries])
    _writable(self, _ASSIGNED)[plain if type(index) is tuple else plain[0]] = _value(other)


def zero(self: Any) -> Any:
    """Set all elements to 0, in place."""
    return fill(self, 0)


def fill(self: Any, number: Any) -> Any:
    """Set all elements to a number, in place."""
    _check(self, number, "fill_")
    _writable(self, "fill_").fill(_value(number))
    return self


def copy(self: Any, source: Any) -> Any:
    """Copy the elements of another tensor or array, in place, converted to this tensor's dtype."""
    _check(self, source, "copy_")
    np.copyto(_writable(self, "copy_"), np.asarray(_value(source)), casting="unsafe")
    return self
