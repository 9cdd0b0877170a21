"""Write equations as NumPy code: a form for each primitive with shorter code than a call of its function.

    form(writer, equation, i) -> lines, or None for the general call

A form computes the same as the primitive's function, in the same order, without the Python code around it: the wrapper
of ``np.sum`` takes longer than the sum of ten numbers. It also registers the memory of its results in the buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.choose import MANY, choose
from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Literal, Var
from funcgrad._engines.source.blocks import Blocks, CombinedPrimitive
from funcgrad._engines.source.buffers import same_type
from funcgrad._engines.source.loops import cond, scan, while_loop
from funcgrad._engines.source.operators import OPERATORS
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._engines.source.writer import Writer

Form = Callable[["Writer", Equation, int], list[str] | None]

# For fewer elements, filling a new array is faster than making a broadcast view.
_FILL_LIMIT = 4096
_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))


def ufunc(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write a ufunc: Python's operator for numbers; for arrays a call that writes into free memory if it can."""
    function, operands = equation.primitive.numpy, equation.operands
    result = equation.results[0]
    if result.aval.shape == ():
        line = _number(w, function, operands)
        w.numbers.add(result)
        w.buffers.made(result, own=False)
        return [f"{w.new(result)} = {line or _call(w, w.numpy(function), [w.name(x) for x in operands], equation)}"]
    return [_into(w, equation, i, w.numpy(function), [w.array(x) for x in operands], operands)]


def _number(w: Writer, function: Any, operands: Sequence[Any]) -> str | None:
    """Return an expression for NumPy numbers. It takes a tenth of the time of a ufunc call."""
    if {x.aval.dtype for x in operands} - _FLOATS or len({x.aval.dtype for x in operands}) != 1:
        return None
    if all(type(x) is Literal for x in operands):
        return None
    text = OPERATORS.get(function)
    return None if text is None else text.format(*[w.number(x) for x in operands])


def _into(w: Writer, equation: Equation, i: int, function: str, arguments: list[str], read: Sequence[Any]) -> str:
    """Return a call that writes over a dead operand of the result's type, or makes an array."""
    result = equation.results[0]
    place = None if equation.params else w.places.get(result)
    buffer = None if equation.params or place else w.buffers.reusable(read, result, i)
    if buffer is None and not equation.params and not place:
        buffer = w.buffers.spare(result, i)
        w.reused.update([] if buffer is None else [buffer])
    if place:
        name = place
        w.placed.add(result)
        w.buffers.made(result, own=False)
    elif buffer is None:
        w.buffers.made(result, own=True)
        if w.scratch is None or equation.params:
            return f"{w.new(result)} = {_call(w, function, arguments, equation)}"
        name = w.scratch_for(result)
    else:
        name = w.names[buffer]
        w.buffers.takes(result, buffer)
    # ``out`` by position is faster; NumPy deprecates that for these two.
    target = f"out={name}" if equation.primitive.numpy in (np.maximum, np.minimum) else name
    return f"{w.new(result)} = {function}({', '.join([*arguments, target])})"


def _call(w: Writer, function: str, arguments: Sequence[str], equation: Equation) -> str:
    params = [f"{name}={w.value(name, value)}" for name, value in equation.params.items()]
    return f"{function}({', '.join([*arguments, *params])})"


def _made(w: Writer, equation: Equation, expression: str) -> list[str]:
    """Return a line that makes a result in new memory."""
    (result,) = equation.results
    w.buffers.made(result, own=True)
    if result.aval.shape == ():
        w.numbers.add(result)
    return [f"{w.new(result)} = {expression}"]


def _shown(w: Writer, equation: Equation, expression: str, *, whole: bool = False) -> list[str]:
    """Return a line that makes a result that may be a view of the first operand."""
    (result,) = equation.results
    w.buffers.shows(result, equation.operands[0], whole=whole)
    return [f"{w.new(result)} = {expression}"]


def _is_array(x: Value) -> bool:
    return type(x) is Var and x.aval.shape != ()


def _power(w: Writer, equation: Equation, i: int) -> list[str] | None:
    x, exponent = equation.operands[0], equation.params["exponent"]
    (result,) = equation.results
    same = _is_array(x) and x.aval.dtype == result.aval.dtype and x.aval.dtype.kind in "fiu"
    if not same or type(exponent) is not int or exponent not in (2, 3):
        return None
    name, product = w.name(x), w.numpy(np.multiply)
    if exponent == 2:
        bare = Equation(equation.primitive, equation.operands, {}, equation.results, equation.source)
        return [_into(w, bare, i, product, [name, name], [x])]
    w.buffers.made(result, own=True)
    new = w.new(result)
    return [f"{new} = {product}({name}, {name})", f"{new} = {product}({new}, {name}, {new})"]


def _sum(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,) = equation.operands
    axes, keepdims = equation.params["axes"], equation.params["keepdims"]
    if not _is_array(x) or not axes:
        return None
    if x.aval.dtype.kind in "fc" and not keepdims:
        arguments = "None" if len(axes) == len(x.aval.shape) else str(axes[0] if len(axes) == 1 else axes)
        return _made(w, equation, f"{w.reduce(np.add)}({w.name(x)}, {arguments})")
    dtype = w.value("dtype", equation.results[0].aval.dtype)
    return _made(w, equation, f"{w.reduce(np.add)}({w.name(x)}, {axes}, {dtype}, None, {keepdims})")


def _reduction(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,), function = equation.operands, equation.primitive.forms.ufunc
    if function is np.add:
        return _sum(w, equation, i)
    if function not in (np.maximum, np.minimum) or not _is_array(x) or not equation.params["axes"]:
        return None
    arguments = f"{w.name(x)}, {equation.params['axes']}, None, None, {equation.params['keepdims']}"
    return _made(w, equation, f"{w.reduce(function)}({arguments})")


def _reshape(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,) = equation.operands
    if not _is_array(x):
        return None
    return _shown(w, equation, f"{w.name(x)}.reshape({equation.params['shape']})", whole=True)


def _transpose(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,) = equation.operands
    permutation = equation.params["permutation"]
    if not _is_array(x):
        return None
    turned = permutation == tuple(range(len(permutation)))[::-1]
    return _shown(w, equation, w.name(x) + (".T" if turned else f".transpose({permutation})"), whole=True)


def _broadcast(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,), shape = equation.operands, equation.params["shape"]
    if np.prod(shape, dtype=np.int64) > _FILL_LIMIT or (type(x) is Literal and not hasattr(x.value, "dtype")):
        return _shown(w, equation, f"{w.numpy(np.broadcast_to)}({w.array(x)}, {shape})")
    lines = _made(w, equation, f"{w.numpy(np.empty)}({shape}, {w.value('dtype', x.aval.dtype)})")
    return [*lines, f"{w.names[equation.results[0]]}[...] = {w.array(x)}"]


def _full(w: Writer, equation: Equation, i: int) -> list[str] | None:
    aval, value = equation.results[0].aval, equation.params["value"]
    if aval.shape == () or type(value) is not int or value != 0 or w.scratch is not None:
        return None
    return _made(w, equation, f"{w.numpy(np.zeros)}({aval.shape}, {w.value('dtype', aval.dtype)})")


def _copy(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,), (result,) = equation.operands, equation.results
    if not _is_array(x):
        return None
    if type(x) is Var and w.buffers.is_free_after(x, i) and x not in w.buffers.views:
        # Nobody reads the operand again, so that its memory is the copy.
        w.buffers.takes(result, x)
        return [f"{w.new(result)} = {w.name(x)}"]
    return _made(w, equation, f"{w.name(x)}.copy()")


def _cast(w: Writer, equation: Equation, i: int) -> list[str] | None:
    (x,), dtype = equation.operands, equation.params["dtype"]
    if x.aval.dtype.kind == "c" and dtype.kind != "c":
        return None
    if _is_array(x):
        return _made(w, equation, f"{w.name(x)}.astype({w.value('dtype', dtype)})")
    if type(x) is Var and {x.aval.dtype, dtype} <= _FLOATS:
        return _made(w, equation, f"{w.numpy(dtype.type)}({w.name(x)})")
    return None


def _select(w: Writer, equation: Equation, i: int) -> list[str] | None:
    aval = equation.results[0].aval
    if aval.shape == ():
        return None
    function = choose if aval.size >= MANY else np.where
    return _made(w, equation, f"{w.numpy(function)}({', '.join([w.array(x) for x in equation.operands])})")


def _matmul(w: Writer, equation: Equation, i: int) -> list[str] | None:
    a, b = equation.operands
    if not (_is_array(a) and _is_array(b)) or len(a.aval.shape) > 2:
        return None
    return _made(w, equation, f"{w.name(a)}.dot({w.name(b)})")


def _dot_general(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write a product of two matrices. BLAS takes a transposed matrix without a copy."""
    (a, b), (contract, batch) = equation.operands, (equation.params["contract"], equation.params["batch"])
    if not (_is_array(a) and _is_array(b)) or batch[0] or len(contract[0]) != 1:
        return None
    if len(a.aval.shape) != 2 or len(b.aval.shape) != 2:
        return None
    left = w.name(a) + ("" if contract[0][0] else ".T")
    return _made(w, equation, f"{left}.dot({w.name(b)}{'.T' if contract[1][0] else ''})")


def _place(w: Writer, index: Any, arrays: Sequence[Any]) -> str:
    """Return the text between the brackets; each slot of the index takes the next index array."""
    given = iter(arrays)
    parts = [_entry(entry) if _is_plain(entry) else w.name(next(given)) for entry in index.entries]
    return f"{', '.join(parts)}{',' if len(parts) == 1 else ''}" if parts else "()"


def _is_plain(entry: Any) -> bool:
    return entry is None or entry is Ellipsis or isinstance(entry, int | slice)


def _entry(entry: Any) -> str:
    if entry is Ellipsis:
        return "..."
    if not isinstance(entry, slice):
        return repr(entry)
    ends = ":".join("" if end is None else repr(end) for end in (entry.start, entry.stop))
    return ends if entry.step is None else f"{ends}:{entry.step!r}"


def _index(w: Writer, equation: Equation, i: int) -> list[str] | None:
    x, *arrays = equation.operands
    if not _is_array(x) or equation.params["index"].windows:
        return None
    entries = equation.params["index"].entries
    if len(entries) == len(x.aval.shape) and all(type(entry) is int for entry in entries):
        w.numbers.add(equation.results[0])
    return _shown(w, equation, f"{w.name(x)}[{_place(w, equation.params['index'], arrays)}]")


def _write(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write ``x[index] = v``: in place if ``x`` is not read again, else into a copy."""
    x, v, *arrays = equation.operands
    (result,) = equation.results
    if type(x) is not Var or x.aval.shape == ():
        return None
    place, value = _place(w, equation.params["index"], arrays), w.array(v)
    name = w.names[x]
    others = [v, *arrays]
    shared = any(type(other) is Var and w.buffers.root(other) is w.buffers.root(x) for other in others)
    if w.buffers.is_free_after(x, i) and not shared:
        w.buffers.takes(result, x)
        return [f"{name}[{place}] = {value}", f"{w.new(result)} = {name}"]
    w.buffers.made(result, own=True)
    new = w.new(result)
    return [f"{new} = {name}.copy()", f"{new}[{place}] = {value}"]


def _scatter(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write zeros to which one array is added."""
    v, *arrays = equation.operands
    indices = equation.params["indices"]
    if len(indices) == len(equation.operands) and not any(map(_is_array, equation.operands)):
        return _scatter_numbers(w, equation)
    if len(indices) > 1 or not _is_array(v):
        return None
    (index,), (result,) = indices, equation.results
    if arrays and (index.unique or any(isinstance(entry, slice) for entry in index.entries)):
        return None
    dtype = w.value("dtype", result.aval.dtype)
    lines = _made(w, equation, f"{w.numpy(np.zeros)}({equation.params['shape']}, {dtype})")
    name, place = w.names[result], _place(w, index, arrays)
    if not arrays:
        return [*lines, f"{name}_ = {name}[{place}]", f"{w.numpy(np.add)}({name}_, {w.name(v)}, {name}_)"]
    at = w.value("add_at", np.add.at, key=("at", np.add), bare=True)
    return [*lines, f"{at}({name}, ({place}), {w.name(v)})"]


def _scatter_numbers(w: Writer, equation: Equation) -> list[str] | None:
    """Write zeros to which numbers are added one by one."""
    (result,), indices = equation.results, equation.params["indices"]
    if not result.aval.shape or any(x.aval.dtype != result.aval.dtype for x in equation.operands):
        return None
    dtype = w.value("dtype", result.aval.dtype)
    lines = _made(w, equation, f"{w.numpy(np.zeros)}({result.aval.shape}, {dtype})")
    name, pieces = w.names[result], zip(equation.operands, indices, strict=True)
    return [*lines, *[f"{name}[{_place(w, index, ())}] += {w.name(x)}" for x, index in pieces]]


def _stack(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write an array of vectors or numbers, in a fifth of the time of ``np.stack``, which keeps orders of matrices."""
    (result,) = equation.results
    if len(result.aval.shape) > 2 or equation.params["axis"] != 0:
        return None
    if any(x.aval.dtype != result.aval.dtype for x in equation.operands):
        return None
    parts = "".join(f"{w.name(x)}, " for x in equation.operands)
    return _made(w, equation, f"{w.numpy(np.array)}(({parts}), {w.value('dtype', result.aval.dtype)})")


def _split(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Unpack a small array into numbers."""
    (x,), results = equation.operands, equation.results
    if x.aval.shape != (len(results),) or any(var.aval.shape != () for var in results):
        return None
    w.numbers.update(results)
    for var in results:
        w.buffers.made(var, own=False)
    return [f"{', '.join([w.new(var) for var in results])}, = {w.name(x)}"]


def _separate(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write only new names: a barrier keeps operations or devices apart on other engines, and does nothing here."""
    operands = equation.operands[: len(equation.results)]
    for var, x in zip(equation.results, operands, strict=True):
        w.buffers.shows(var, x, whole=True)
        w.numbers.update([var] if x in w.numbers else [])
    names = [w.name(x) for x in operands]
    return [f"{', '.join([w.new(var) for var in equation.results])}, = {', '.join(names)},"]


def _blocks(w: Writer, equation: Equation, i: int) -> list[str]:
    """Write a cluster. Its results go into the memory of dead operands of their type, block by block."""
    primitive: Any = equation.primitive
    operands, buffers = equation.operands, w.buffers
    roots = [buffers.root(x) for x in operands]
    free = {
        k: x
        for k, (x, root, cut) in enumerate(zip(operands, roots, primitive.sliced, strict=True))
        # Later blocks read other operands that share this memory, so it is not free.
        if cut and roots.count(root) == 1 and buffers.is_free_after(x, i)
    }
    places: list[Any] = []
    numbers: list[int | None] = []
    for j, var in enumerate(equation.results):
        fits = [k for k, x in free.items() if same_type(x.aval, var.aval) and primitive.may_take(k, j)]
        numbers.append(fits[0] if fits else None)
        places.append(free.pop(fits[0]) if fits else None)
    primitive.place(numbers)
    arguments, given = [w.array(x) for x in operands], ["None" if x is None else w.names[x] for x in places]
    for var, place in zip(equation.results, places, strict=True):
        if place is None:
            buffers.made(var, own=var.aval.shape != ())
            w.numbers.update([var] if var.aval.shape == () else [])
        else:
            buffers.takes(var, place)
    function = w.value("blocks", primitive)
    w.parts[function] = primitive.source
    names = ", ".join([w.new(var) for var in equation.results])
    return [f"{names}, = {function}(({', '.join(arguments)},), ({', '.join(given)},))"]


# The basic operations and their forms.
FORMS: dict[Basic, Form] = {
    Basic.BARRIER: _separate,
    Basic.BROADCAST: _broadcast,
    Basic.CAST: _cast,
    Basic.COND: cond,
    Basic.COPY: _copy,
    Basic.DOT_GENERAL: _dot_general,
    Basic.FILL: _full,
    Basic.INDEX: _index,
    Basic.MATMUL: _matmul,
    Basic.POWER: _power,
    Basic.REDUCTION: _reduction,
    Basic.RESHAPE: _reshape,
    Basic.SCAN: scan,
    Basic.SCATTER: _scatter,
    Basic.SPLIT: _split,
    Basic.STACK: _stack,
    Basic.STOP_GRADIENT: _separate,
    Basic.TRANSPOSE: _transpose,
    Basic.WHILE: while_loop,
    Basic.WRITE: _write,
}


def form_of(equation: Equation) -> Form | None:
    """Return the form of an equation's primitive."""
    primitive = equation.primitive
    if isinstance(primitive, CombinedPrimitive):
        return _blocks if isinstance(primitive, Blocks) else primitive.lines
    if isinstance(primitive.numpy, np.ufunc):
        return None if primitive.multiple_results or primitive.numpy.signature else ufunc
    if primitive.numpy is choose:
        return _select
    basic = primitive.forms.basic
    return None if basic is None else FORMS.get(basic)
