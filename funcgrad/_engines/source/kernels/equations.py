"""Equations as the steps of a kernel: a form for each primitive that can be compiled.

A form puts steps down and says what stands for the results, or returns ``False`` where an equation has none: it then
runs as the NumPy engine writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.choose import choose
from funcgrad._core.graph.ir import Equation, Operand, Var
from funcgrad._core.lazy import LazyModule
from funcgrad._engines.source.forms import is_ours
from funcgrad._engines.source.kernels.lowering import KINDS, Lowering, in_dtype, number
from funcgrad._engines.source.kernels.nodes import Access, Memory, Number, Rows, Shape, View, strides_of

_scipy_special = LazyModule("scipy.special")
# SciPy's functions that stand behind primitives of other names, and of the same.
_SPECIAL = {"digamma": "psi"} | {
    name: name
    for name in ("erf", "erfc", "erfinv", "ndtr", "ndtri", "logit", "gammaln", "betaln", "gamma", "xlogy", "xlog1py")
}
_SPECIAL |= {name: name for name in ("entr", "i0", "i1", "i0e", "i1e")}


def lowered(w: Lowering, equation: Equation) -> bool:
    """Put the steps of an equation down, if it has a form."""
    if not all(map(_is_known, (*equation.operands, *equation.results))):
        return False
    primitive = equation.primitive
    function = _ufunc_of(equation)
    if function is not None:
        plain = function.nout == 1 and not function.signature and not equation.params
        return plain and w.set(equation, w.ufunc(function, equation))
    if primitive.numpy in (choose, np.where):
        return w.set(equation, w.where(equation))
    form = FORMS.get(primitive.name) if is_ours(equation) else None
    return form is not None and form(w, equation)


def _ufunc_of(equation: Equation) -> np.ufunc | None:
    """The ufunc that a primitive is, or that it is named after."""
    function = equation.primitive.numpy
    if isinstance(function, np.ufunc):
        return function
    known = is_ours(equation) and equation.primitive.name in _SPECIAL
    return getattr(_scipy_special, _SPECIAL[equation.primitive.name]) if known else None


def _is_known(x: Operand) -> bool:
    """Whether kernels know arrays of this type."""
    aval = x.aval
    known = aval.dtype.kind in KINDS and not (aval.dtype.kind in "fc" and aval.dtype.itemsize not in (4, 8, 16))
    return known and aval.size > 0 and aval.dtype.isnative and aval.dtype != np.longdouble


Form = Callable[[Lowering, Equation], bool]


def _same(w: Lowering, equation: Equation) -> bool:
    for var, x in zip(equation.results, equation.operands, strict=False):
        found = w.access(x)
        if found is None:
            return False
        w.known[var] = found
    return True


def _reduction(function: Any) -> Form:
    def form(w: Lowering, equation: Equation) -> bool:
        x, axes = w.array(equation.operands[0]), equation.params["axes"]
        if x is None or not axes:
            return False
        return w.set(equation, w.reduced(function, x, tuple(axes), equation.params["keepdims"]))

    return form


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
    """What shows its operand: as NumPy shows an array that is not there."""
    (operand, *arrays), (result,) = equation.operands, equation.results
    x, shape = w.access(operand), w.shape(result)
    if arrays:
        return _picked(w, equation)
    if x is None:
        return False
    if isinstance(x, Number):
        # The same everywhere, whatever shows it.
        return w.set(equation, x)
    name = equation.primitive.name
    if name == "reshape":
        return w.set(equation, _reshaped(w, x, shape))
    array = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), x.shape, x.strides, writeable=False)
    if name == "index":
        entries = equation.params["index"].entries
        shown = array[entries if Ellipsis in entries else (*entries, ...)]
    elif name == "broadcast_to":
        shown = np.broadcast_to(array, shape)
    elif name == "transpose":
        shown = array.transpose(equation.params["permutation"])
    else:
        return False
    offset = shown.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    return w.set(equation, View(x.memory, x.offset + offset, shape, shown.strides))


def _picked(w: Lowering, equation: Equation) -> bool:
    """Elements that index arrays name along the first axes."""
    x, *ids = [w.array(operand) for operand in equation.operands]
    first = equation.primitive.name == "embedding" or _is_first(equation.params["index"])
    found = [each for each in ids if each is not None and each.dtype.kind in "iu"]
    if not first or x is None or len(found) < len(ids):
        return False
    return w.set(equation, w.picked(x, found))


def _is_first(index: Any) -> bool:
    """Whether an index is arrays along the first axes, and all of the others."""
    return all(entry in (Ellipsis, slice(None)) for entry in index.entries[index.slots :])


def _scatter(w: Lowering, equation: Equation) -> bool:
    """Zeros, to which one array is added in its place."""
    v, *ids = [w.array(operand) for operand in equation.operands]
    (index, *more), shape = equation.params["indices"], equation.params["shape"]
    found = [each for each in ids if each is not None and each.dtype.kind in "iu"]
    if more or not found or len(found) < len(ids) or not _is_first(index) or v is None or v.dtype.kind not in "fiu":
        return False
    return w.set(equation, w.added(v, found, shape))


def _reshaped(w: Lowering, x: View, shape: Shape) -> View:
    """The same elements in another shape, copied where they do not lie as they must."""
    steps = [s for n, s in zip(x.shape, x.strides, strict=True) if n != 1 or isinstance(n, Rows)]
    if [n for n in x.shape if n != 1] == [n for n in shape if n != 1] and not x.is_contiguous:
        rest = iter(steps)
        strides = tuple([next(rest) if n != 1 or isinstance(n, Rows) else 0 for n in shape])
        return View(x.memory, x.offset, shape, strides)
    x = w.contiguous(x)
    return View(x.memory, x.offset, shape, strides_of(shape))


def _matmul(w: Lowering, equation: Equation) -> bool:
    a, b = [w.array(x) for x in equation.operands]
    if a is None or b is None or not {len(a.shape), len(b.shape)} <= {1, 2}:
        return False
    if len(a.shape) == 1:
        a = View(a.memory, a.offset, (1, *a.shape), (a.shape[0] * a.strides[0], *a.strides))
    if len(b.shape) == 1:
        b = View(b.memory, b.offset, (*b.shape, 1), (*b.strides, 1))
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


def _turned(x: View) -> View:
    return View(x.memory, x.offset, x.shape[::-1], x.strides[::-1])


def _affine(w: Lowering, equation: Equation) -> bool:
    x, weight, bias = [w.array(operand) for operand in equation.operands]
    shape, dtype = w.shape(equation.results[0]), equation.results[0].aval.dtype
    if x is None or weight is None or bias is None or bias.dtype != dtype:
        return False
    y = w.product(x, _turned(weight), shape)
    return y is not None and w.set(equation, w.of(np.add, [y, bias], (dtype,) * 3, shape))


def _log_softmax(w: Lowering, equation: Equation) -> bool:
    x, axes = w.array(equation.operands[0]), tuple(equation.params["axes"])
    shape, dtype = w.shape(equation.results[0]), equation.results[0].aval.dtype
    if x is None or dtype.kind != "f" or not axes:
        return False
    greatest = w.reduced(np.maximum, x, axes, True)
    shifted = w.of(np.subtract, [x, greatest], (dtype,) * 3, shape)
    powers = w.of(np.exp, [shifted], (dtype,) * 2, shape)
    total = None if powers is None else w.reduced(np.add, w.held(powers), axes, True)
    logarithm = None if total is None else w.of(np.log, [total], (dtype,) * 2, total.shape)
    return w.set(equation, w.of(np.subtract, [shifted, logarithm], (dtype,) * 3, shape))


def _clip(w: Lowering, equation: Equation) -> bool:
    dtype, shape = equation.results[0].aval.dtype, w.shape(equation.results[0])
    x, low, high = [w.access(each, dtype) for each in equation.operands]
    raised = w.of(np.maximum, [x, low], (dtype,) * 3, shape)
    return w.set(equation, w.of(np.minimum, [raised, high], (dtype,) * 3, shape))


def _relu(w: Lowering, equation: Equation) -> bool:
    (result,) = equation.results
    dtype = result.aval.dtype
    return w.set(
        equation, w.of(np.maximum, [w.access(equation.operands[0]), number(0, dtype)], (dtype,) * 3, w.shape(result))
    )


def _logistic(w: Lowering, equation: Equation) -> bool:
    (result,) = equation.results
    dtype, shape = result.aval.dtype, w.shape(result)
    x = w.access(equation.operands[0])
    if x is None or x.dtype != dtype or dtype.kind != "f":
        return False
    power = w.of(np.exp, [w.applied("-{}", [x], shape, dtype)], (dtype,) * 2, shape)
    one = f"{dtype.name}(1)"
    return power is not None and w.set(equation, w.applied(f"{one} / ({one} + {{}})", [power], shape, dtype))


def _split(w: Lowering, equation: Equation) -> bool:
    x = w.access(equation.operands[0])
    if not isinstance(x, View) or x.shape != (len(equation.results),):
        return False
    if any(var.aval.shape != () for var in equation.results):
        return False
    for k, var in enumerate(equation.results):
        w.known[var] = View(x.memory, x.offset + k * x.strides[0], (), ())
    return True


FORMS: dict[str, Form] = {
    "power": _power,
    "cast": _cast,
    "full_like": _fill,
    "reduce_sum": _reduction(np.add),
    "reduce_max": _reduction(np.maximum),
    "reduce_min": _reduction(np.minimum),
    "reduce_prod": _reduction(np.multiply),
    "reshape": _view,
    "broadcast_to": _view,
    "transpose": _view,
    "index": _view,
    "embedding": _picked,
    "scatter": _scatter,
    "copy": _same,
    "stop_gradient": _same,
    "separate": _same,
    "alike": _same,
    "matmul": _matmul,
    "dot_general": _dot_general,
    "affine": _affine,
    "log_softmax": _log_softmax,
    "clamp": _clip,
    "clip": _clip,
    "relu": _relu,
    "logistic": _logistic,
    "split": _split,
}
VIEWS = frozenset({"reshape", "broadcast_to", "transpose", "index", "copy", "stop_gradient", "separate", "alike"})


def has_form(equation: Equation) -> bool:
    """Whether an equation can be compiled; tried by itself."""
    lowering = Lowering({})
    for x in equation.operands:
        if type(x) is Var:
            lowering.known[x] = given(x, x.aval.shape, "x")
    return lowered(lowering, equation)


def given(var: Var, shape: Shape, name: str, sliced: bool = False) -> Access:
    """What stands for an operand of a kernel: its memory, or the number itself."""
    aval = var.aval
    return Number(name, aval.dtype) if aval.shape == () else Memory(aval.dtype, shape, name, sliced).whole()
