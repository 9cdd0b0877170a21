"""Places: traced arrays that were written to, and the views of them.

A tracer stands for a value, and a value never changes. The first write therefore turns the tracer into a place: its
owner becomes the trace `PLACES`, and it gets a `Memory`. The Python object and its class stay the same, because every
name of it must see the write. The memory holds the current value, which is a tracer or a bare array, and each write
replaces it. A view is a base and the primitive that shows a part of it. Its value is read again when the memory has
changed. `PLACES` has a level above all other traces, and replaces the places among the operands by their values first.
Other traces test the owner of each operand, so no tape, no graph and no transform ever sees a place.

Programs that do not write pay only for the three references that a view keeps (see `remember_view`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Trace, Tracer, active_trace, bind, is_engine_value
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.refusals import refuse_outer
from funcgrad._core.trace.tape import LEAF
from funcgrad._types import Value
from funcgrad.tree import register_leaf

_NDARRAY = np.ndarray


class Memory:
    """The memory of an array that was written to.

    ``owned`` says that nothing else holds the buffer of the value, not even a tape: only then may a write change it.
    ``layout`` is the original array, if its strides differ from those of a copy.
    """

    __slots__ = ("layout", "original", "owned", "trace", "value", "version")

    def __init__(self, value: Value, trace: Trace | None, owned: bool) -> None:
        self.value = value
        bare = bare_value(value)
        contiguous = type(bare) is not _NDARRAY or bare.flags.c_contiguous or bare.flags.f_contiguous
        self.layout = None if contiguous else bare
        # The value of an argument before the first write. Its node is the one that gets the cotangent.
        self.original: Any = None
        self.trace = trace
        self.owned = owned
        self.version = 0


# The last reading of a view: ``(version, value, copied)``. If ``version`` is not the memory's, the view has to be read
# again. ``copied`` says whether the value is in its own buffer, which no write changes. A loop that fills rows
# takes 1.03 to 1.14 times as long with a named tuple.
_LastRead = tuple[int, Any, bool]
# The value of a view that was never read. No memory has this version.
_UNREAD: _LastRead = (-1, None, False)


@register_leaf
class Place(Tracer):
    """An array that was made to be written to, or a view of a place. It never was a tracer of another kind."""

    __slots__ = ()
    _tells_views = False

    @property
    def aval(self) -> Aval:
        return aval_of(current(self))


class _PlaceTrace(Trace):
    """Replaces places by their values, before any other trace sees the operands."""

    transform = "write"

    def __init__(self) -> None:
        super().__init__()
        self.level = math.inf

    @property
    def concrete(self) -> bool:
        """Raise: the answer depends on the value."""
        raise NotImplementedError

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        del hooked  # no view above this trace could be stale, and checks look at the traces beneath
        # This trace is asked because of a place. A single operand is that place.
        x, is_single = operands[0], len(operands) == 1
        if primitive.view is not None and (is_single or is_place(x)) and _is_view(x, primitive, params):
            return _view_of(x, primitive, params)
        if is_single:
            value = current(x)
            traced = isinstance(value, Tracer)
            y = value._owner.apply(primitive, (value,), params) if traced else bind(primitive, (value,), params)
        else:
            y = bind(primitive, tuple([current(x) if is_place(x) else x for x in operands]), params)
        if isinstance(y, Tracer):
            return y
        # The result of arrays that take traced values takes traced values too, even if its numbers are plain.
        return type(y)(map(_taking, y)) if type(y) in (tuple, list) else _taking(y)


PLACES = _PlaceTrace()


def new_place(value: Value, owned: bool = True) -> Any:
    """Return an array that takes traced values: a place with this value inside a transform, else the value itself.

    Args:
        value: an array in memory of its own, or a tracer.
        owned: whether nothing else holds the memory.
    """
    trace = active_trace()
    if trace is None or not (isinstance(value, Tracer | _NDARRAY) or is_engine_value(value)):
        return value
    if isinstance(value, Tracer) and not value._owner.makes_places:
        return value
    return _new(Memory(value, trace, owned and type(value) is _NDARRAY), value.shape, value.dtype)


def writable(y: Value) -> Any:
    """Return a result of traced operands; one that does not depend on them, a new plain array, becomes a place."""
    return new_place(y, owned=False) if type(y) is _NDARRAY and y.dtype.kind in "fcV" else y


def in_own_memory(y: Value) -> Any:
    """Return a copy of a result that NumPy makes as a new array and we make of views."""
    if is_place(y):
        return new_place(current(y), owned=False)
    if isinstance(y, Tracer):
        y._viewed = None
    return y


def own_place(value: Value, trace: Trace) -> Any:
    """Return an argument as a function's own array. The caller's array stays unchanged when the function writes."""
    if not isinstance(value, Tracer | _NDARRAY) or is_number(value):
        return value
    return _new(Memory(frozen(value), trace, False), value.shape, value.dtype)


def own(x: Value, trace: Trace | None) -> Any:
    """Return an argument for a user's function, which may write to it: no other array sees the write."""
    if type(x) is _NDARRAY:
        # While a program is staged, Python's code reads no numbers, and the array is copied at the first write.
        return x.copy(order="K") if trace is None or trace.concrete else own_place(x, trace)
    # Tensors have their own writes, and hold no value that a place could.
    if not isinstance(x, Tracer) or trace is None or not x._owner.makes_places or not (x._held or is_place(x)):
        return x
    value = settled(x)
    return frozen(x) if isinstance(value, Tracer) and value._owner is trace else own_place(x, trace)


def _taking(y: Value) -> Any:
    return new_place(y, owned=False) if type(y) is _NDARRAY or is_engine_value(y) else y


def _become(x: Tracer, memory: Memory) -> None:
    """Turn a tracer into a place, in the same object. It keeps its shape and dtype."""
    x._owner, x._memory, x._viewed = PLACES, memory, None


def _new(memory: Memory, shape: tuple[int, ...], dtype: np.dtype) -> Place:
    """Return a new place."""
    place = object.__new__(Place)
    _become(place, memory)
    place._shape, place._dtype = shape, dtype
    return place


def is_place(x: object) -> bool:
    """Return whether a value is an array that was written to, or was made to be written to."""
    return isinstance(x, Tracer) and x._owner is PLACES


def current(place: Tracer) -> Any:
    """Return the value of a place for general use: a view of an owned buffer is copied."""
    memory = place._memory
    if place._viewed is None:
        memory.owned = False
        return memory.value
    version, value, copied = place._last_read
    if version != memory.version:
        value, copied = shown_by(place), False
    if memory.owned and not copied:
        value, copied = _copied(value), True
    place._last_read = memory.version, value, copied
    return value


def shown_by(place: Tracer) -> Any:
    """Return the value of a place for reading. It may lie in the memory's own buffer, so do not keep it."""
    base = place._viewed
    return place._memory.value if base is None else _applied(place._viewed_by, shown_by(base), place._viewed_at)


def settled(x: Value) -> Any:
    """Return the current value: the value of a place, or of a view that has not learned yet that its base is one."""
    if not isinstance(x, Tracer):
        return x
    if x._owner is PLACES:
        return current(x)
    # Most values are no views.
    if getattr(x, "_viewed", None) is None or not _is_stale(x):
        return x
    _learn(x)
    return current(x) if x._owner is PLACES else x


def frozen(x: Value) -> Any:
    """Return a value that stays unchanged, to be kept: the user may write to a tracer later."""
    x = settled(x)
    return clone(x) if isinstance(x, Tracer) and x._held else x


def clone(x: Tracer) -> Tracer:
    """Return another tracer of the same value."""
    made = object.__new__(type(x))
    made._owner = x._owner
    for name in x._held:
        setattr(made, name, getattr(x, name))
    return made


def _base_of(x: Value) -> Any:
    """Return the base that a value is known to be a view of."""
    return getattr(x, "_viewed", None) if isinstance(x, Tracer) else None


def shows_part(x: Tracer) -> bool:
    """Return whether a value was written to, or is a view in NumPy."""
    base = _base_of(x)
    return is_place(x) or (base is not None and _is_view(base, x._viewed_by, x._viewed_at))


def _is_stale(x: Value) -> bool:
    """Return whether a tracer that is no place may be a view of one."""
    base = getattr(x, "_viewed", None) if isinstance(x, Tracer) and x._owner is not PLACES else None
    while base is not None:
        if base._owner is PLACES:
            return True
        base = _base_of(base)
    return False


def _learn(x: Value) -> None:
    """Turn a view of a place into a place, or drop its base if it is a copy."""
    base = x._viewed
    if base._owner is not PLACES:
        _learn(base)
    primitive, params = x._viewed_by, x._viewed_at
    if base._owner is not PLACES or not _is_view(base, primitive, params):
        x._viewed = None
        return
    _become(x, base._memory)
    x._viewed, x._last_read = base, _UNREAD


def as_place(x: Value, asked: str) -> Any:
    """Turn a tracer that is about to be written to into a place, and also all its bases.

    Raises:
        TracerAssignmentError: the array belongs to another transform than the one that runs.
    """
    if x._owner is PLACES:
        return x
    base = _base_of(x)
    if base is not None and (base._owner is PLACES or _is_view(base, x._viewed_by, x._viewed_at)):
        as_place(base, asked)
        _learn(x)
        return as_place(x, asked)
    active = active_trace()
    # An inner function's results of an outer one's values belong to the outer trace, but were made inside.
    if active is None or not (x._owner is active or getattr(x, "_serial", 0) > active.level) or not x._held:
        refuse_outer(x._owner, x, asked)
    for trace in (active, x._owner):
        trace.set_refresh(_refresh_views)
    made = clone(x)
    memory = Memory(made, active, False)
    if "_node" in x._held and x._node[1] == LEAF:
        memory.original = made
    _become(x, memory)
    return x


def original(x: Value) -> Any:
    """Return an argument of a function that has run, as it was before the first write."""
    return x._memory.original if is_place(x) else x


def had_writes(trace: Trace) -> bool:
    """Return whether a value of this trace was written to."""
    return trace.refresh is not None


def _is_view(x: Value, primitive: Primitive, params: dict) -> bool:
    """Return whether the primitive's result of a value is a view in NumPy, rather than a copy or a number.

    If that depends on the strides, they are those of the known array, or those of C order if no array is known.
    """
    view = primitive.view
    assert view is not None
    if not view.shown(x.shape, params) or (not x.shape and is_number(x)):
        return False
    if not view.may_copy:
        return True
    array = array_like(x)
    return np.may_share_memory(_shown_of(array, primitive, params), array)


def _shown_of(array: np.ndarray, primitive: Primitive, params: dict) -> np.ndarray:
    """Return NumPy's view of an array, with its layout."""
    assert primitive.view is not None
    return (primitive.view.numpy or primitive.numpy)(array, **params)


def is_number(x: Value) -> bool:
    """Return whether NumPy's value for a tracer is a number rather than an array. Numbers have no views."""
    if x.shape or is_place(x) or type(bare := bare_value(x)) is _NDARRAY:
        return False
    base = _base_of(x)
    if base is None:
        return not (isinstance(bare, Tracer) and bare._owner.is_array(bare))
    like = array_like(base)
    return type(_shown_of(like[()] if is_number(base) else like, x._viewed_by, x._viewed_at)) is not _NDARRAY


def array_like(x: Value) -> np.ndarray:
    """Return an array with the value's layout in memory and arbitrary contents."""
    base = _base_of(x)
    if base is not None and _is_view(base, x._viewed_by, x._viewed_at):
        return _shown_of(array_like(base), x._viewed_by, x._viewed_at)
    value = x
    if is_place(x):
        value = x._memory.value if x._memory.layout is None else x._memory.layout
    return bare_value(value) if isinstance(bare_value(value), _NDARRAY) else np.empty(x.shape, x.dtype)


def keep_layout(memory: Memory) -> None:
    """Keep the layout of the array in memory before another value replaces it."""
    bare = bare_value(memory.value)
    if memory.layout is None and isinstance(bare, _NDARRAY):
        memory.layout = bare


def bare_value(value: Value) -> Any:
    """Return a value without the transforms that know its number."""
    while isinstance(value, Tracer) and value._owner.concrete:
        value = value._value
    return value


def _applied(primitive: Primitive, x: Value, params: dict) -> Any:
    """Apply a primitive, or another step to a view, to one value that is no place."""
    if not isinstance(primitive, Primitive):
        return primitive(x)
    return x._owner.apply(primitive, (x,), params) if isinstance(x, Tracer) else bind(primitive, (x,), params)


def shown(x: Tracer, step: Any) -> Any:
    """Return the view of a tracer by a step that is no primitive. The result keeps its base."""
    if is_place(x):
        return _view_of(x, step, {})
    y = step(x)
    if isinstance(y, Tracer) and y._tells_views:
        y._viewed, y._viewed_by, y._viewed_at = x, step, {}
    return y


def _view_of(base: Tracer, primitive: Primitive, params: dict) -> Tracer:
    memory = base._memory
    value = _applied(primitive, memory.value if base._viewed is None else shown_by(base), params)
    made = object.__new__(Place)
    made._owner, made._memory, made._shape, made._dtype = PLACES, memory, value.shape, value.dtype
    made._viewed, made._viewed_by, made._viewed_at = base, primitive, params
    made._last_read = memory.version, value, False
    return made


def _copied(value: Value) -> Any:
    """Return a copy of a value in an owned buffer. The tracer is new and has no other user yet."""
    if type(value) is _NDARRAY:
        return value.copy(order="K")
    held = value._held
    if "_value" in held and type(value._value) is _NDARRAY:
        value._value = value._value.copy(order="K")
    if "_tangent" in held and type(value._tangent) is _NDARRAY:
        value._tangent = value._tangent.copy(order="K")
    return value


def _refresh_views(trace: Trace, operands: tuple) -> bool:
    """Turn the operands that are views of a place into places, and return whether there were any.

    It becomes the ``refresh`` hook of a trace at the first write: before that no operand can be a view of a place.
    """
    del trace
    stale = [x for x in operands if _is_stale(x)]
    for x in stale:
        # The same tracer may be an operand twice, or it may be a copy and no view.
        if _is_stale(x):
            _learn(x)
    return bool(stale)
