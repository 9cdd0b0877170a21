"""Lower equations to the steps of a kernel: a form for each primitive that can be compiled.

A form adds steps and records the values of the results. It returns ``False`` if the equation has no kernel form; the
NumPy engine then runs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.choose import choose
from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Operand, Var
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.kernels.expand import parts_of
from funcgrad._engines.source.kernels.linear import LINEAR
from funcgrad._engines.source.kernels.lowering import KINDS, Lowering, in_dtype, number
from funcgrad._engines.source.kernels.nodes import (
    Access,
    BlockRows,
    Guard,
    KernelMemory,
    Scalar,
    Shape,
    StridedView,
    strides_of,
)
from funcgrad._engines.source.kernels.pieces import add_slices
from funcgrad._engines.source.kernels.rounds import LOOPS

# A write makes a copy of its array. For more elements NumPy's write in place is faster.
_COPIED = 2048

# A kernel writes a loop for each array that is joined.
_PARTS = 16

# The answers of guards in kernels are smaller: a kernel's integers have 64 bits.
_FAR = 1 << 62

_scipy_special = LazyModule("scipy.special")


def lowered(w: Lowering, equation: Equation) -> bool:
    """Add the steps of an equation; return whether it has a form."""
    return all(_lowered(w, part) for part in parts_of(equation))


def _lowered(w: Lowering, equation: Equation) -> bool:
    if not all(map(_is_known, (*equation.operands, *equation.results))):
        return False
    primitive = equation.primitive
    function = _ufunc_of(primitive)
    if function is not None:
        plain = function.nout == 1 and not function.signature and not equation.params
        return plain and w.set(equation, w.ufunc(function, equation))
    if primitive.numpy in (choose, np.where):
        return w.set(equation, w.where(equation))
    form = FORMS.get(primitive.forms.basic)
    return form is not None and form(w, equation)


def _ufunc_of(primitive: Primitive) -> np.ufunc | None:
    """Return the ufunc that a primitive is, or the SciPy ufunc with the same values."""
    if isinstance(primitive.numpy, np.ufunc):
        return primitive.numpy
    special = primitive.forms.special
    return None if special is None else getattr(_scipy_special, special)


def _is_known(x: Operand) -> bool:
    """Return whether kernels support arrays of this type."""
    aval = x.aval
    return _is_known_dtype(aval.dtype) and 0 not in aval.shape


@functools.cache
def _is_known_dtype(dtype: np.dtype) -> bool:
    known = dtype.kind in KINDS and not (dtype.kind in "fc" and dtype.itemsize not in (4, 8, 16))
    return known and dtype.isnative and dtype != np.longdouble


Form = Callable[[Lowering, Equation], bool]


def _same(w: Lowering, equation: Equation) -> bool:
    for var, x in zip(equation.results, equation.operands, strict=False):
        found = w.access(x)
        if found is None:
            return False
        w.known[var] = found
    return True


def _reduction(w: Lowering, equation: Equation) -> bool:
    x, axes, function = w.array(equation.operands[0]), equation.params["axes"], equation.primitive.forms.ufunc
    if x is None or not axes:
        return False
    return w.set(equation, w.reduced(function, x, tuple(axes), equation.params["keepdims"]))


def _power(w: Lowering, equation: Equation) -> bool:
    x, exponent = w.access(equation.operands[0]), equation.params["exponent"]
    (result,) = equation.results
    dtype = result.aval.dtype
    if x is None or x.dtype != dtype or dtype.kind not in "fiu" or type(exponent) not in (int, float):
        return False
    text = {2: "{0} * {0}", 3: "{0} * {0} * {0}"}.get(exponent)
    if text is None and dtype.kind == "f":
        text = {1: "{}", 0.5: "sqrt({})", -1: f"{dtype.name}(1) / {{}}"}.get(exponent)
    if text is not None:
        w.known[result] = w.applied(in_dtype(text, dtype), [x], w.shape(result), dtype)
        return True
    if dtype.kind != "f" or exponent == 0:
        return False
    return w.set(equation, w.of(np.power, [x, number(exponent, dtype)], (dtype,) * 3, w.shape(result)))


def _cast(w: Lowering, equation: Equation) -> bool:
    x = w.access(equation.operands[0])
    return x is not None and w.set(equation, w.cast(x, equation.params["dtype"]))


def _fill(w: Lowering, equation: Equation) -> bool:
    (result,) = equation.results
    value = equation.params["value"]
    filled = number(value, result.aval.dtype) if type(value) in (int, float, bool) else None
    return w.set(equation, filled)


def _view(w: Lowering, equation: Equation) -> bool:
    """Lower a view: apply NumPy's view to an array that has the strides but no memory, and read the new strides."""
    operand, *arrays = equation.operands
    x = w.access(operand)
    if arrays:
        return _picked(w, equation)
    if x is None:
        return False
    if isinstance(x, Scalar):
        # A view of a number is the same number.
        return w.set(equation, x)
    return w.set(equation, _view_of(w, equation, x))


def _view_of(w: Lowering, equation: Equation, x: StridedView) -> StridedView:
    """Return the elements of an array that a view without index arrays shows."""
    basic, params, shape = equation.primitive.forms.basic, equation.params, w.shape(equation.results[0])
    if basic is Basic.RESHAPE:
        return _reshaped(w, x, shape)
    if basic is Basic.INDEX:
        shown = indexed(x, params["index"])
    elif basic is Basic.FLIP:
        shown = x.shown(lambda array: np.flip(array, params["axes"]))
    elif basic is Basic.BROADCAST:
        shown = x.shown(lambda array: np.broadcast_to(array, shape))
    else:
        shown = x.shown(lambda array: array.transpose(params["permutation"]))
    # NumPy's views lose the class `BlockRows` of the first length, so the shape is set again.
    return shown._replace(shape=shape)


def indexed(x: StridedView, index: Any) -> StridedView:
    """Return the elements that an index without arrays names."""
    entries = index.entries
    offset, shape, strides = x.offset, [], []
    for k, entry in enumerate(entries):
        if type(entry) is int:
            offset += x.strides[k] * (entry if entry >= 0 else entry + x.shape[k])
        elif type(entry) is slice and type(x.shape[k]) is int:
            start, stop, step = entry.indices(x.shape[k])
            length = len(range(start, stop, step))
            offset += start * x.strides[k] if length else 0
            shape.append(length)
            strides.append(step * x.strides[k])
        else:
            break
    else:
        rest = len(entries)
        return StridedView(x.memory, offset, (*shape, *x.shape[rest:]), (*strides, *x.strides[rest:]))
    return x.shown(lambda array: array[entries if Ellipsis in entries else (*entries, ...)])


def _picked(w: Lowering, equation: Equation) -> bool:
    """Lower an indexing operation whose index arrays stand along the first axes."""
    x, *ids = [w.array(operand) for operand in equation.operands]
    first = equation.primitive.forms.basic is Basic.EMBEDDING or _is_first(equation.params["index"])
    found = [each for each in ids if each is not None and each.dtype.kind in "iu"]
    if not first or x is None or len(found) < len(ids):
        return False
    return w.set(equation, w.picked(x, found))


def _is_first(index: Any) -> bool:
    """Return whether an index has arrays along the first axes, and takes all of the other axes."""
    return all(entry in (Ellipsis, slice(None)) for entry in index.entries[index.slots :])


def _write(w: Lowering, equation: Equation) -> bool:
    """Lower a write at an index without arrays: a copy, part of which is written."""
    x, v, *ids = [w.access(operand) for operand in equation.operands]
    index, (result,) = equation.params["index"], equation.results
    if (
        ids
        or index.slots
        or x is None
        or v is None
        or (result.aval.size > _COPIED and not w.writes_in_place)
        or x.dtype != result.aval.dtype
        or not result.aval.shape
    ):
        return False
    value = w.cast(v, x.dtype)
    made = w.applied("{}", [x], w.shape(result), x.dtype)
    return value is not None and w.written(indexed(made, index), "{}", value) and w.set(equation, made)


def _scatter(w: Lowering, equation: Equation) -> bool:
    """Lower a sum of one array into zeros, or of several without index arrays."""
    (index, *more), shape = equation.params["indices"], equation.params["shape"]
    if not any(each.slots for each in (index, *more)):
        return _scattered(w, equation)
    v, *ids = [w.array(operand) for operand in equation.operands]
    found = [each for each in ids if each is not None and each.dtype.kind in "iu"]
    if more or not found or len(found) < len(ids) or not _is_first(index) or v is None or v.dtype.kind not in "fiu":
        return False
    return w.set(equation, w.added(v, found, shape))


def _scattered(w: Lowering, equation: Equation) -> bool:
    """Lower a sum of arrays at indices without arrays. Each index names an element once."""
    (result,) = equation.results
    dtype = result.aval.dtype
    zero = number(0, dtype)
    small = result.aval.size <= _COPIED or w.writes_in_place
    plain = len(result.aval.shape) > 0 and small and w.shape(result) == result.aval.shape
    if zero is None or dtype.kind not in "fiu" or not plain:
        return False
    values = [w.access(x, dtype) for x in equation.operands]
    known = [v for v in values if v is not None and v.dtype == dtype]
    if len(known) < len(values):
        return False
    pieces = list(zip(equation.params["indices"], known, strict=True))
    if w.loop and not w.is_long:
        made = KernelMemory(dtype, result.aval.shape).whole()
        if add_slices(w, made, zero, pieces):
            return w.set(equation, made)
    made = w.applied("{}", [zero], result.aval.shape, dtype)
    for index, v in pieces:
        if not w.written(indexed(made, index), in_dtype("{} + {}", dtype), v):
            return False
    return w.set(equation, made)


def _joined(w: Lowering, equation: Equation) -> bool:
    """Lower arrays that are joined: each is written to its part of the result."""
    (result,), axis = equation.results, equation.params["axis"]
    dtype, stacked = result.aval.dtype, equation.primitive.forms.basic is Basic.STACK
    if (len(equation.operands) > _PARTS and not w.writes_in_place) or w.shape(result) != result.aval.shape:
        return False
    made, start = KernelMemory(dtype, result.aval.shape).whole(), 0
    for operand in equation.operands:
        x = w.access(operand, dtype)
        if x is None or x.dtype != dtype:
            return False
        length = 1 if stacked else operand.aval.shape[axis]
        entries = (*[slice(None)] * axis, start if stacked else slice(start, start + length))
        w.written(made.shown(lambda array, entries=entries: array[(*entries, ...)]), "{}", x)
        start += length
    return w.set(equation, made)


def _reshaped(w: Lowering, x: StridedView, shape: Shape) -> StridedView:
    """Return the same elements in another shape, copied if the strides do not allow a view."""
    steps = [s for n, s in zip(x.shape, x.strides, strict=True) if n != 1 or isinstance(n, BlockRows)]
    if [n for n in x.shape if n != 1] == [n for n in shape if n != 1] and not x.is_contiguous:
        rest = iter(steps)
        strides = tuple([next(rest) if n != 1 or isinstance(n, BlockRows) else 0 for n in shape])
        return StridedView(x.memory, x.offset, shape, strides)
    x = w.contiguous(x)
    return StridedView(x.memory, x.offset, shape, strides_of(shape))


def _matmul(w: Lowering, equation: Equation) -> bool:
    a, b = [w.array(x) for x in equation.operands]
    if a is None or b is None:
        return False
    if len(a.shape) == 1:
        a = StridedView(a.memory, a.offset, (1, *a.shape), (a.shape[0] * a.strides[0], *a.strides))
    if len(b.shape) == 1:
        b = StridedView(b.memory, b.offset, (*b.shape, 1), (*b.strides, 1))
    return w.set(equation, w.product(a, b, w.shape(equation.results[0])))


def _dot_general(w: Lowering, equation: Equation) -> bool:
    a, b = [w.array(x) for x in equation.operands]
    contract, batch = equation.params["contract"], equation.params["batch"]
    if a is None or b is None or batch[0] or len(contract[0]) != 1:
        return False
    if len(a.shape) != 2 or len(b.shape) != 2:
        return False
    left = a if contract[0][0] else _turned(a)
    right = _turned(b) if contract[1][0] else b
    return w.set(equation, w.product(left, right, w.shape(equation.results[0])))


def _turned(x: StridedView) -> StridedView:
    return StridedView(x.memory, x.offset, x.shape[::-1], x.strides[::-1])


def _split(w: Lowering, equation: Equation) -> bool:
    x = w.access(equation.operands[0])
    if not isinstance(x, StridedView) or x.shape != (len(equation.results),):
        return False
    if any(var.aval.shape != () for var in equation.results):
        return False
    for k, var in enumerate(equation.results):
        w.known[var] = StridedView(x.memory, x.offset + k * x.strides[0], (), ())
    return True


def _guard(w: Lowering, equation: Equation) -> bool:
    """Lower a guard on a bool or an integer."""
    x, asked, answer = w.access(equation.operands[0]), equation.params["asked"], equation.params["answer"]
    x = w.cast(x, np.dtype(bool)) if x is not None and asked == "bool" else x
    if x is None or x.dtype.kind not in "biu" or equation.operands[0].aval.shape or not -_FAR < answer < _FAR:
        return False
    number = sum(isinstance(step, Guard) for step in w.steps)
    w.steps.append(Guard(x, int(answer), number, KernelMemory(np.dtype(bool), (1,)).whole()))
    # The result of an effect, which is false.
    return w.set(equation, Scalar("False", np.dtype(bool)))


FORMS: dict[Basic | None, Form] = {
    **LINEAR,
    **LOOPS,
    Basic.BARRIER: _same,
    Basic.BROADCAST: _view,
    Basic.CAST: _cast,
    Basic.CONCATENATE: _joined,
    Basic.COPY: _same,
    Basic.DOT_GENERAL: _dot_general,
    Basic.EMBEDDING: _picked,
    Basic.FILL: _fill,
    Basic.FLIP: _view,
    Basic.GUARD: _guard,
    Basic.INDEX: _view,
    Basic.MATMUL: _matmul,
    Basic.POWER: _power,
    Basic.REDUCTION: _reduction,
    Basic.RESHAPE: _view,
    Basic.SCATTER: _scatter,
    Basic.SPLIT: _split,
    Basic.STACK: _joined,
    Basic.STOP_GRADIENT: _same,
    Basic.TRANSPOSE: _view,
    Basic.WRITE: _write,
}


def has_form(equation: Equation) -> bool:
    """Return whether an equation by itself can be compiled."""
    lowering = Lowering({}, lowered)
    for x in equation.operands:
        if type(x) is Var:
            lowering.known[x] = given(x, x.aval.shape, "x")
    return lowered(lowering, equation)


def given(var: Var, shape: Shape, name: str, sliced: bool = False) -> Access:
    """Return the value of a kernel's operand: its memory, or a number."""
    aval = var.aval
    return Scalar(name, aval.dtype) if aval.shape == () else KernelMemory(aval.dtype, shape, name, sliced).whole()
