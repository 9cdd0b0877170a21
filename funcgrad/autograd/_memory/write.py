"""Writes into tensors: the value is written to the existing memory, and the operation is recorded on the tape.

There are two kinds of writes. `compute` replaces a tensor by a function of itself. `put` writes a value to a part of
it. NumPy's memory is written to. A JAX array never changes, so the tensor gets another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._core.trace.tape import kept_by, next_serial
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.index.write import WHOLE, keeps_cotangents, replaced, write, write_new, write_node
from funcgrad._types import Array, DTypeLike, IndexLike, Tensor
from funcgrad.autograd._memory.history import (
    check_in_place,
    exchange,
    keeps_more,
    note,
    rebase,
    remember_copy,
    root_of,
    steps_of,
)
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._tape.base import LeafNode, TensorBase, TensorNode, is_fixed, is_tensor, set_value
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.autograd._tape.writes import WRITES, arrays_in, owner_of
from funcgrad.autograd._torch import array_of, is_torchs
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy.extend import At, as_value, is_foreign_array, parse

_ASSIGNED = "x[i] = v"
_COPIED = "torch::autograd::CopySlices"
_SHARED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
_OVERLAPPING = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


def compute(
    x: Tensor,
    function: Callable[[Any], Any],
    others: Iterable[Any],
    title: str,
    *,
    asked: str,
    keeps: bool = True,
    separate: bool = False,
    out: Callable[[np.ndarray], Any] | None = None,
) -> Any:
    """Replace a tensor by a function of itself, in place, and return it.

    Args:
        x: the tensor.
        function: gets a tensor with the value and the history of ``x``.
        others: other values that the function reads.
        title: PyTorch's name for the operation.
        asked: the user's operation, for errors.
        keeps: whether derivatives of the function may read its argument, which is then a copy.
        separate: whether the other values must not share memory with the tensor.
        out: the same operation on an array, in place; used if nothing is recorded.
    """
    if isinstance(x._value, Tracer):
        return _compute_traced(x, function, asked)
    is_recorded = check_in_place(x, others, asked)
    foreign = is_fixed(x._value)
    if not foreign:
        check_memory(x._value, others, separate=separate)
        if not is_recorded and out is not None and _is_written(x, out):
            return x
    old = x._owner.constant(x._value.copy() if is_recorded and keeps else x._value)
    if is_recorded:
        old._node = x._owner.node_of(x)
    y = function(old)
    check_fits(x, y.shape, y.dtype)
    y = cast(y, x.dtype)
    if y is old:
        y = copied(y)
    if foreign:
        _give(x, value_of(y), asked)
    else:
        np.copyto(x._value, value_of(y))
        note(x, is_recorded=is_recorded)
    if is_recorded:
        if keeps and old._node is not None:
            remember_copy(old._node, old._value)
        _record(x, y, title)
    return x


def _compute_traced(x: Tensor, function: Callable[[Any], Any], asked: str) -> Any:
    """Replace the memory of a traced value by a function of it, which the transform records."""
    y = function(x)
    check_fits(x, y.shape, y.dtype)
    new, target = traced_value(cast(y, x.dtype)), x._owner.target(x._value, asked)
    if target is x._value and new is not target and isinstance(new, Tracer):
        write_new(target, new, asked)
    else:
        write(target, new, WHOLE, (), asked)
    return x


def traced_value(x: Tensor) -> Any:
    """Return the value inside of a tensor that requires no gradient on its own tape; other values unchanged."""
    return x if not is_tensor(x) or x._owner.requires_grad(x) else x._value


def _is_written(x: Tensor, out: Callable[[np.ndarray], Any]) -> bool:
    """Write in place; return False if NumPy refuses, so that the refusal comes with our words."""
    try:
        out(x._value)
    except (ValueError, TypeError):
        return False
    note(x, is_recorded=False)
    return True


def take_result(x: Tensor, y: Tensor, title: str) -> Any:
    """Give a tensor the history of a result that was computed in its memory, and return the tensor."""
    if type(x._node) is LeafNode:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not check_in_place(x, (y,), title):
        return x
    if y._value is not x._value:
        np.copyto(x._value, y._value)
    _record(x, y, title)
    return x


def _record(x: Tensor, y: Tensor, title: str) -> None:
    """Move the history of a result to the tensor whose memory holds it now."""
    node = getattr(y, "_node", None)
    if node is None:
        _record_write(x, None, y, WHOLE, (), title)
        return
    # The tape reads the result at its present place, and refuses to read it once it is overwritten. An operand that
    # shared the memory is lost already.
    kept = [a for a in arrays_in(kept_by(node)) if a is not y._value]
    node.lost = any(owner_of(a) is owner_of(x._value) for a in kept)
    if not node.lost:
        node[0] = next_serial()
    if keeps_more(node):
        remember_copy(node, y._value)
    else:
        exchange(node, y._value, x._value)
    node.value_id = id(x._value)
    if root_of(x) is x:
        rebase(x, node, title)
    else:
        node.title = title
        _record_write(x, node, y, WHOLE, (), _COPIED)


def _record_write(x: Tensor, node: Any, v: Array, index: Index, arrays: tuple, title: str) -> None:
    """Give the root of a tensor its history after a value, with its node, was written to the tensor."""
    root, steps = root_of(x), steps_of(x)
    if root._node is None and node is None:
        return
    if not keeps_cotangents(steps):
        _record_functional(root, steps, v, index, arrays)
        return
    made: Any = write_node(root._node, node, steps, v, index, arrays)
    rebase(root, TensorNode(made), _COPIED if steps else title)


def _record_functional(root: Tensor, steps: list, v: Array, index: Index, arrays: tuple) -> None:
    """Do the same if the cotangent of the value is no view: compute the root again."""
    old = root._owner.constant(root._value.copy())
    old._node = root._node
    y = replaced(old, steps, v, index, arrays)
    np.copyto(root._value, y._value)
    rebase(root, y._node, _COPIED)


def put(x: Tensor, v: Array, index: Index, arrays: tuple, title: str, *, asked: str, source: Array = None) -> Any:
    """Write a value to a part of a tensor with NumPy values, in place, in its dtype; return the tensor.

    ``source`` is the base of the value, if it is a view.
    """
    if isinstance(x._value, Tracer):
        write(x._owner.target(x._value, asked), traced_value(cast(v, x.dtype)), index, arrays, asked)
        return x
    is_recorded = check_in_place(x, (v,), asked, part=title == _COPIED)
    if not any(entry is Ellipsis for entry in index.entries):
        # The ellipsis makes an element an array too.
        index = Index((*index.entries, Ellipsis), index.unique)
    place = index.filled(arrays)
    check_memory(x._value if arrays else x._value[place], (v if source is None else source,), separate=bool(arrays))
    v = cast(v, x.dtype) if is_tensor(v) else np.asarray(v).astype(x.dtype)
    node = None if not is_recorded or not is_tensor(v) else v._owner.node_of(v)
    x._value[place] = value_of(v)
    note(x, is_recorded=is_recorded)
    if is_recorded:
        _record_write(x, node, v, index, arrays, title)
    return x


def set_item(self: Tensor, key: IndexLike, other: Array) -> None:
    """Assign elements."""
    entries = key if type(key) is tuple else (key,)
    plain = tuple([np.asarray(value_of(entry)) if is_tensor(entry) else entry for entry in entries])
    key = plain if type(key) is tuple else plain[0]
    other = plain_value(other)
    if is_fixed(self._value) and not isinstance(self._value, Tracer):
        compute(self, lambda old: At(old)[key].set(other), (other,), _COPIED, asked=_ASSIGNED)
        return
    x, index, arrays = parse(self, key)
    title = _COPIED
    if index.entries == (...,):
        title = "torch::autograd::CopyBackwards" if getattr(other, "shape", ()) else "FillBackward3"
    elif all(entry is SLOT or entry == FULL for entry in index.entries):
        title = "IndexPutBackward0"
    put(x, other, index, arrays, title, asked=_ASSIGNED)


def value_of(x: Tensor) -> Any:
    """Return the value of a tensor; other values unchanged."""
    return x._value if is_tensor(x) else x


def plain_value(x: Tensor) -> Any:
    """Return a user's value; objects of other libraries become arrays."""
    if isinstance(x, str):
        raise TypeError("can't assign a str to a tensor")
    if is_torchs(x):
        return array_of(x)
    return as_value(x) if is_foreign_array(x) else x


def check_fits(x: TensorBase, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Refuse a result of another shape, or of a dtype of a greater kind."""
    if shape != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}")
    if not np.can_cast(dtype, x.dtype, "same_kind"):
        raise RuntimeError(
            f"result type {type_name(dtype)} can't be cast to the desired output type {type_name(x.dtype)}"
        )


def check_memory(memory: np.ndarray, others: Iterable[Any], *, separate: bool = False) -> None:
    """Refuse a memory that is written to twice, and operands that overlap with it, in PyTorch's words.

    With ``separate`` operands in exactly the same place are refused too, because elements are read in another order.
    """
    if not memory.flags.writeable:
        raise RuntimeError(_SHARED)
    for other in others:
        value = value_of(other)
        if isinstance(value, np.ndarray) and _is_across(memory, value, separate=separate):
            raise RuntimeError(_OVERLAPPING)


def _is_across(a: np.ndarray, b: np.ndarray, *, separate: bool) -> bool:
    """Return whether two dense arrays share a part of their memory, or all of it in another order."""
    if a is b:
        return separate
    if not a.size or not b.size or not np.may_share_memory(a, b):
        return False
    ends, others = (np.lib.array_utils.byte_bounds(one) for one in (a, b))
    if any(high - low != one.nbytes for (low, high), one in ((ends, a), (others, b))):
        return False
    return separate or ends != others or a.strides != b.strides


def _give(x: Tensor, value: Array, asked: str) -> None:
    """Give a tensor with a JAX value another one, and also the tensors that it was detached from.

    PyTorch's detached tensors share memory, so both see a write.
    """
    old = x._value
    sharing = [x]
    while (source := getattr(sharing[-1], "_source", x)) is not None:
        if source is x or source._value is not old:
            raise TracerAssignmentError(
                f"{asked} writes into a tensor {x.aval} whose value is a {type(old).__name__}, which cannot "
                "change, and may be a part of another. Compute a new tensor, clone() it, or keep the values in NumPy."
            )
        sharing.append(source)
    if not isinstance(old, Tracer):
        # No tape holds a traced value, which the transform keeps.
        WRITES.note((x,))
    for one in sharing:
        set_value(one, value)
