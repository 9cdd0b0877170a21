"""Writes: ``x[index] = v`` on a traced array changes the memory that the array stands for.

If the values are bare, or belong to the trace of the function that writes, the write happens in the buffer. The buffer
is copied once, at the first write. On the tape the write is one node, whose pull works in the buffer of the cotangent
in the same way. A loop that fills T rows therefore takes T times as long as one row, forward and backward. In all other
cases (staged values, nested transforms) the write is the pure update `scatter_set_p`, which a graph shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NUMPY_TYPES, Tracer, active_trace, bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.forward import ForwardTracer
from funcgrad._core.trace.place import PLACES, Memory, as_place, frozen, keep_layout, settled
from funcgrad._core.trace.refusals import check_inside, refuse_outer
from funcgrad._core.trace.reverse import ReverseTracer
from funcgrad._core.trace.staging import StagedTracer
from funcgrad._core.trace.tape import Node, new_kind, next_serial
from funcgrad._ops.index.gather import WrittenBar, index_p
from funcgrad._ops.index.plan import Index, is_row, selected_shape
from funcgrad._ops.index.scatter import _stays, scatter_set_p
from funcgrad._ops.layout.broadcast import broadcast_to, sum_to_shape
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Value

_NDARRAY = np.ndarray
WHOLE = Index((Ellipsis,))
# A step from a base to a view: a primitive and its parameters.
Step = tuple[Primitive, dict]


def write(x: Tracer, v: Value, index: Index = WHOLE, arrays: tuple = (), asked: str = "x[i] = v") -> None:
    """Write a value into the memory of a traced array, at an index; all names and views of the memory see it.

    Args:
        x: a traced array; it becomes a place.
        v: a value of the dtype of ``x`` that broadcasts to the selected shape.
        index: the static part of the index.
        arrays: index arrays.
        asked: what the user wrote, for errors.

    Raises:
        TracerAssignmentError: the array belongs to another function than the one that runs.
        ValueError: NumPy allows no writes to the memory of this view.
    """
    place = x if x._owner is PLACES else as_place(x, asked)
    memory = place._memory
    if memory.trace is not active_trace():
        refuse_outer(memory.trace, place, asked)
    steps = [] if place._viewed is None else _steps(place)
    if arrays:
        arrays = tuple([settled(a) for a in arrays])
    if type(v) not in NUMPY_TYPES:
        # A value that fills the memory is stored without a copy, and its owner may write to it later.
        v = frozen(v) if index is WHOLE else settled(v)
    if type(memory.value) is StagedTracer and not steps and index is not WHOLE:
        # The numbers are not known, so there is no buffer, and no layout but that of C order.
        memory.value = _set_at(memory.value, v.copy() if type(v) is _NDARRAY else v, index, arrays)
        memory.owned = False
    elif not _in_buffer(memory, steps, v, index, arrays):
        keep_layout(memory)
        v = v.copy() if type(v) is _NDARRAY else v
        memory.value = settled(replaced(memory.value, steps, v, index, arrays))
        memory.owned = False
    memory.version += 1
    if memory.trace.followers:
        _follow(place, ... if steps or arrays else index.entries)


def write_new(x: Tracer, y: Value, asked: str) -> None:
    """Write a new value that nobody else holds over the whole memory of a traced array.

    It copies nothing, unlike `write`: ``x += y`` takes as long as ``x = x + y``.
    """
    place = as_place(x, asked)
    if place._viewed is not None:
        write(place, y, WHOLE, (), asked)
        return
    memory = place._memory
    check_inside(memory.trace, place, asked)
    keep_layout(memory)
    memory.value, memory.owned = settled(y), False
    memory.version += 1
    if memory.trace.followers:
        _follow(place, ...)


def _follow(place: Any, region: Any) -> None:
    """Let arrays that NumPy takes for this one see a write."""
    for follow in tuple(place._memory.trace.followers.values()):
        follow(place, region)


def _view(primitive: Primitive) -> Any:
    """Return how to write to views that the primitive makes."""
    return primitive.view


def keeps_cotangents(steps: list[Step]) -> bool:
    """Return whether the view of a cotangent, by these steps, is the cotangent of the view."""
    return all(_view(primitive).same_in_cotangents for primitive, _ in steps)


def _steps(place: Any) -> list[Step]:
    """Return the steps from the memory to the view of the place."""
    steps: list[Step] = []
    while place._viewed is not None:
        if place._viewed_by.view.put is None:
            raise ValueError("assignment destination is read-only")
        steps.append((place._viewed_by, place._viewed_at))
        place = place._viewed
    return steps[::-1]


def replaced(x: Value, steps: list[Step], v: Value, index: Index, arrays: tuple) -> Value:
    """Return ``x`` with a value written at an index of the view that the steps lead to."""
    parts = [x]
    for primitive, params in steps:
        parts.append(primitive(parts[-1], **params))
    new = _set_at(parts.pop(), v, index, arrays)
    for (primitive, params), whole in zip(reversed(steps), reversed(parts), strict=True):
        new = _view(primitive).put(whole, new, **params)
    return new


def _set_at(x: Value, v: Value, index: Index, arrays: tuple) -> Value:
    """Return ``x`` with a value written at an index."""
    if not arrays and is_row(index, x.shape):
        shape = x.shape[1:]
    else:
        shape = selected_shape(index, x.shape, tuple([a.shape for a in arrays]))
    if getattr(v, "shape", ()) != shape:
        v = broadcast_to(without_leading(v, shape), shape)
    return v if index is WHOLE else bind(scatter_set_p, (x, v, *arrays), {"index": index})


def without_leading(v: Value, shape: tuple[int, ...]) -> Value:
    """Return a value without superfluous leading axes of length 1, as NumPy ignores them."""
    given = getattr(v, "shape", ())
    extra = len(given) - len(shape)
    if extra > 0 and set(given[:extra]) == {1}:
        v = reshape(v, given[extra:])
    check_fits(getattr(v, "shape", ()), shape)
    return v


def check_fits(given: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise NumPy's error if a shape does not broadcast to another."""
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from {shape_text(given)} into {shape_text(shape)}")


def shape_text(shape: tuple[int, ...]) -> str:
    """Return ``shape (2,)``, as in NumPy's messages."""
    return f"shape ({','.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _shown(buffer: np.ndarray, steps: Any) -> np.ndarray | None:
    """Return the view of a buffer by these steps; ``None`` if NumPy must copy because of the strides."""
    part = buffer
    for primitive, params in steps:
        part = primitive.numpy(part, **params)
        if _view(primitive).may_copy and not np.may_share_memory(part, buffer):
            return None
    return part


def _in_buffer(memory: Memory, steps: list[Step], v: Value, index: Index, arrays: tuple) -> bool:
    """Write to the buffer if there is one; return whether there was."""
    old = memory.value
    trace: Any = memory.trace
    if arrays and any(type(a) not in NUMPY_TYPES for a in arrays):
        return False
    if steps and not keeps_cotangents(steps):
        return False
    if type(old) is ForwardTracer or type(v) is ForwardTracer:
        return _in_two_buffers(memory, steps, v, index, arrays)
    old_node = v_node = None
    if type(old) is ReverseTracer and old._owner is trace:
        old_node, old = old._node, old._value
    if type(v) is ReverseTracer and v._owner is trace:
        v_node, v = v._node, v._value
    if type(old) is not _NDARRAY or type(v) not in NUMPY_TYPES:
        return False
    buffer = old if memory.owned else np.array(old, order="K")
    part = _shown(buffer, steps) if steps else buffer
    if part is None:
        return False
    part[index.filled(arrays) if arrays else index.entries] = v
    memory.owned = True
    if index is WHOLE and not steps:
        old_node = None
    node = write_node(old_node, v_node, steps, v, index, arrays)
    memory.value = buffer if node is None else ReverseTracer(trace, buffer, node)
    return True


def write_node(old: Value, v_node: Any, steps: list[Step], v: Value, index: Index, arrays: tuple) -> Node | None:
    """Return the node of a memory after a write.

    Args:
        old: its node before; ``None`` if it had none.
        v_node: the node of the written value.
        steps: the steps from the memory to the view that was written to.
        v: the written value; only its shape is read.
        index: the index in the view.
        arrays: the index arrays.
    """
    # The node keeps copies of index arrays, because their owner may write to them.
    copies = tuple([a.copy() if type(a) is _NDARRAY else a for a in arrays]) if arrays else arrays
    where = (tuple(steps), index, copies, getattr(v, "shape", ()))
    if old is None:
        return None if v_node is None else (next_serial(), _WRITTEN, v_node, where)
    if v_node is None:
        return next_serial(), _OVERWRITTEN, old, where
    return next_serial(), _UPDATED, old, v_node, where


def _pull_updated(y_bar: Value, node: Node) -> Any:
    bar = y_bar if type(y_bar) is WrittenBar else WrittenBar(y_bar)
    return bar, _taken(bar, *node[4])


def _pull_written(y_bar: Value, node: Node) -> Value:
    return _taken(y_bar if type(y_bar) is WrittenBar else WrittenBar(y_bar), *node[3])


def _pull_overwritten(y_bar: Value, node: Node) -> Any:
    bar = y_bar if type(y_bar) is WrittenBar else WrittenBar(y_bar)
    steps, index, arrays, _ = node[3]
    part = _shown(bar.value, steps) if type(bar.value) is _NDARRAY else None
    if part is not None:
        part[index.filled(arrays)] = 0
    else:
        bar.value = replaced(bar.value, list(steps), bar.value.dtype.type(0), index, arrays)
    return bar


def _taken(bar: WrittenBar, steps: Any, index: Index, arrays: tuple, shape: tuple[int, ...]) -> Array:
    """Return the cotangent of the written value, and put zeros in its place."""
    whole = bar.value
    part: Any = None
    if type(whole) is _NDARRAY:
        part = _shown(whole, steps) if steps else whole
    if part is not None:
        place = index.filled(arrays) if arrays else index.entries
        v_bar = part[place]
        # A number, or a selection by index arrays, is no view and needs no copy.
        v_bar = v_bar.copy() if isinstance(v_bar, _NDARRAY) and v_bar.base is not None else v_bar
        if arrays and not index.unique:
            v_bar = np.where(_stays(part.shape, index, arrays), v_bar, v_bar.dtype.type(0))
        part[place] = 0
    else:
        part = whole
        for primitive, params in steps:
            part = primitive(part, **params)
        v_bar = index_p(part, *arrays, index=index)
        if arrays and not index.unique:
            v_bar = v_bar * _stays(part.shape, index, arrays)
        bar.value = replaced(whole, list(steps), whole.dtype.type(0), index, arrays)
    if v_bar.shape == shape:
        return v_bar
    wide = len(shape) - len(v_bar.shape)
    return reshape(sum_to_shape(v_bar, shape[wide:]), shape) if wide > 0 else sum_to_shape(v_bar, shape)


_UPDATED = new_kind(scatter_set_p, 2, _pull_updated, pieces=True)
_WRITTEN = new_kind(scatter_set_p, 1, _pull_written, (False, True), pieces=True)
_OVERWRITTEN = new_kind(scatter_set_p, 1, _pull_overwritten, (True, False), pieces=True)


def _in_two_buffers(memory: Memory, steps: list[Step], v: Value, index: Index, arrays: tuple) -> bool:
    """Do the same with one buffer for the value and one for the tangent."""
    old = memory.value
    trace: Any = memory.trace
    old_dot = v_dot = None
    if type(old) is ForwardTracer and old._owner is trace:
        old, old_dot = old._value, old._tangent
    if type(v) is ForwardTracer and v._owner is trace:
        v, v_dot = v._value, v._tangent
    if type(old) is not _NDARRAY or type(v) not in NUMPY_TYPES:
        return False
    if any(type(dot) not in NUMPY_TYPES for dot in (old_dot, v_dot) if dot is not None):
        return False
    buffer = old if memory.owned else np.array(old, order="K")
    if old_dot is None:
        old_dot = np.zeros_like(buffer)
    elif not memory.owned:
        # The tangent gets the layout of the value, so that the steps lead to a view of both or of neither.
        laid_out = np.empty_like(buffer, old_dot.dtype)
        laid_out[...] = old_dot
        old_dot = laid_out
    part, part_dot = _shown(buffer, steps), _shown(old_dot, steps)
    if part is None or part_dot is None:
        return False
    place = index.filled(arrays)
    part[place] = v
    part_dot[place] = 0 if v_dot is None else v_dot
    memory.owned = True
    memory.value = ForwardTracer(trace, buffer, old_dot)
    return True
