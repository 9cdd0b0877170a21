"""In-place operations and the tape: refusals, and the histories of a tensor and its views after a write.

Tensors share memory and write to it. The tensor that is no view, the *root*, keeps the history of the memory. A write
to the root or to a view of it gives the root another node. A view knows the steps from its root (`remember_view`). If
the root's history has changed, the view's own node is recorded again before it is read again. Programs without such a
write pay nothing for it: the first one sets the trace's ``histories`` and its ``refresh`` hook.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.trace.tape import kept_by, next_serial, parent_counts, primitive_of
from funcgrad._ops.elementwise.arithmetic import abs_p, div_p, max_p, min_p
from funcgrad._ops.index.write import Step
from funcgrad._types import Array, Tensor
from funcgrad.autograd._tape.base import LeafNode, TensorBase, is_tensor, retained
from funcgrad.autograd._tape.function import Function
from funcgrad.autograd._tape.mode import inferring, recorded, recording
from funcgrad.autograd._tape.writes import WRITES, arrays_in, owner_of
from funcgrad.errors import TracerAssignmentError

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_DIRECT = "is being"
_INDIRECT = "its base or another view of its base has been"
_SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
_UNRECORDED = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or "
    "both outside (if you want the inplace to be tracked)."
)
# Primitives whose derivatives read the result, while PyTorch's read the operands.
_KEEPING_RESULTS = (abs_p, div_p, max_p, min_p)


def base_of(x: Tensor) -> Any:
    """Return the tensor whose memory a view shows; ``None`` for a root."""
    base = getattr(x, "_viewed", None)
    return base if base is not None and owner_of(base._value) is owner_of(x._value) else None


def root_of(x: Tensor) -> Tensor:
    """Return the root of a tensor: the tensor that is no view."""
    while (base := base_of(x)) is not None:
        x = base
    return x


def steps_of(x: Tensor) -> list[Step]:
    """Return the steps from the root to a tensor."""
    steps: list[Step] = []
    while (base := base_of(x)) is not None:
        steps.append((x._viewed_by, x._viewed_at))
        x = base
    return steps[::-1]


def _serial(x: Tensor) -> int:
    """Return the serial number of a view's recording, or of the time when it would have been recorded."""
    return x._node[0] if x._node is not None else abs(getattr(x, "_seen", 0))


def _is_stale(x: Tensor) -> bool:
    if getattr(x, "_viewed", None) is None:
        return False
    root = root_of(x)
    return root is not x and getattr(root, "_changed", 0) > _serial(x)


def _renew(x: Tensor) -> None:
    """Record again how a view comes from its root."""
    _refuse_special(x, _INDIRECT)
    y = root_of(x)
    with recorded(True):
        for primitive, params in steps_of(x):
            y = y._owner.apply(primitive, (y,), params)
    if y._node is not None:
        y._node.value_id, y._node.title = id(x._value), "AsStridedBackward0"
    _set_node(x, y._node)
    x._seen = next_serial()


def _set_node(x: Tensor, node: Any) -> None:
    """Give a tensor another node. It continues to retain its gradient."""
    if x._node is not None and retained.get(x._node) is x:
        del retained[x._node]
        if node is not None:
            retained[node] = x
    x._node = node


class _Histories:
    """Renews views before they are read. A trace has it once a write has changed a history."""

    def refresh(self, trace: Any, operands: tuple) -> bool:
        if recording.get():
            for x in operands:
                if type(x) is trace.tracer_type:
                    self.renew(x)
        # A renewed tensor still belongs to this trace.
        return False

    def renew(self, x: TensorBase) -> None:
        if _is_stale(x):
            _renew(x)

    def will_have_node(self, x: TensorBase) -> bool:
        return _is_stale(x) and root_of(x)._node is not None


_HISTORIES = _Histories()


def rebase(root: Tensor, node: Any, title: str) -> None:
    """Give a root the node of its value after a write."""
    node.value_id, node.title = id(root._value), title
    node.last_title = last = getattr(root._node, "last_title", [title])
    last[0] = title
    if root._node is not None:
        root._node.last_title = last
    _set_node(root, node)
    WRITES.entitle(root._value, title)
    _change(root, node[0])


def begin(x: Tensor) -> None:
    """Make a tensor a leaf. As in PyTorch, older views belong to it if they were written to since."""
    x._node = LeafNode(x)
    if (written := WRITES.latest(x._value)) and base_of(x) is None:
        _change(x, written)


def _change(root: Tensor, serial: int) -> None:
    """Mark views from before a serial number, so that they are renewed when they are read."""
    root._changed = serial
    if root._owner.histories is None:
        root._owner.histories = _HISTORIES
        root._owner.set_refresh(_HISTORIES.refresh)


def keeps_more(node: Any) -> bool:
    """Return whether an operation keeps its result and PyTorch's does not: then the result may be overwritten."""
    return type(node) is not LeafNode and primitive_of(node) in _KEEPING_RESULTS


def remember_copy(node: Any, copy: Any) -> None:
    """Tell a node that a copy of its value is kept."""
    if not hasattr(node, "copies"):
        node.copies = []
    node.copies.append(weakref.ref(copy))


def exchange(node: Any, old: Array, new: Array) -> None:
    """Replace an array that a node keeps by another one."""
    first = 2 + parent_counts[node[1]]
    node[first:] = [_exchanged(one, old, new) for one in node[first:]]


def _exchanged(kept: Any, old: Array, new: Array) -> Any:
    if kept is old:
        return new
    return tuple([_exchanged(one, old, new) for one in kept]) if type(kept) is tuple else kept


def _spare(root: Tensor) -> None:
    """Copy a result before it is overwritten, if its operation keeps it and PyTorch's operation does not."""
    node = root._node
    if node is None or not keeps_more(node) or getattr(node, "lost", False):
        return
    if any(one is root._value for one in arrays_in(kept_by(node))):
        copy = root._value.copy()
        exchange(node, root._value, copy)
        remember_copy(node, copy)


def note(x: Tensor, *, is_recorded: bool) -> None:
    """Note that a tensor's memory was written to."""
    WRITES.note((x,))
    if not is_recorded and (root := root_of(x)) is not x and root._node is not None:
        # As in PyTorch, other views now lead straight to the root, and no longer through this one.
        _change(root, next_serial())


def check_in_place(x: Tensor, others: Iterable[Any], asked: str, *, part: bool = False) -> bool:
    """Return whether an in-place operation is recorded; refuse it where PyTorch does, in PyTorch's words.

    Args:
        x: the tensor.
        others: the values that are written, or read for the write.
        asked: the user's operation, for errors.
        part: whether a view of the tensor is written to, without a tensor for the view.

    Raises:
        RuntimeError: the tensor is a leaf that requires a gradient, a view of one, one of several views, or was made in
            ``no_grad``.
        TracerAssignmentError: the value belongs to a transform, or a transform is running.
    """
    _refuse_inference(x)
    involved = False
    for other in others:
        if is_tensor(other) and not isinstance(other._value, Tracer):
            involved = involved or other._owner.requires_grad(other)
        elif isinstance(other, Tracer):
            traced = other._value if is_tensor(other) else other
            raise TracerAssignmentError(
                f"{asked} writes a value {other.aval} of {traced._owner.transform} into a tensor {x.aval}, which "
                "outlives that function. Return the value from the function and write it then; or make the tensor of "
                "the function's argument: x.new_zeros(shape)."
            )
    root = root_of(x)
    if not recording.get():
        _spare(root)
        return False
    own = x._node is not None or root._node is not None
    if not own and not involved:
        return False
    if (running := active_trace()) is not None and not running.keeps_backward:
        raise TracerAssignmentError(
            f"{asked} writes into a tensor {x.aval} with a history inside the function that {running.transform} runs, "
            "which may have kept what is overwritten. Compute a new tensor, or write outside of that function."
        )
    if root is not x:
        _refuse_special(x, _DIRECT)
    if (root is not x or part) and own and (root._node is None or type(root._node) is LeafNode):
        raise RuntimeError(f"a view of {_LEAF}")
    if type(x._node) is LeafNode:
        raise RuntimeError(_LEAF)
    _spare(root)
    return True


def _refuse_inference(x: Tensor) -> None:
    if x._inference and not inferring.get():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def _refuse_special(x: Tensor, how: str) -> None:
    """Refuse views that were made in ``no_grad``, or that a function returned together with others."""
    one = x
    while base_of(one) is not None and not hasattr(one, "_several") and getattr(one, "_seen", 0) >= 0:
        one = base_of(one)
    if base_of(one) is None:
        return
    several = hasattr(one, "_several")
    name, number = getattr(x, "_several", (None, 0))
    if x._node is None or type(x._node) is LeafNode or not several:
        start = "A view was created in"
        if x._node is not None and type(x._node) is not LeafNode:
            start = f"Output {number} of {name or _short(x)} is a view of a view which was created in"
        text = f"{start} no_grad mode and {how} modified inplace with grad mode enabled."
    else:
        text = f"Output {number} of {name or _short(x)} is a view and {how} modified inplace."
    raise RuntimeError(text + (_SEVERAL if several else _UNRECORDED))


def _short(x: Tensor) -> str:
    return Function(x._node).name().partition("Backward")[0]
