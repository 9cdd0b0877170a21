"""The functions that the text of a kernel calls, as LLVM's instructions: memory by address, and NumPy's inner loops.

    space(n)          allocate n bytes on the stack    typed(p, k, dtype)   the address of byte k, typed
    part(p, k)        the address of element k         inner, product       one of NumPy's inner loops
    at(p, k)          a number of the kernel's table   choose(c, x, y)      x if c, else y
    load(m, p, k)     element k of memory number m     address(p)           the address as a number
    store(m, p, k, x)                                  sqrt, fabs, log      functions of floats
    located(b, s, k, dtype)   the address at byte number k + 1 of s, from the address number k of s in b, typed

Memories of different numbers do not overlap. The compiler uses vector instructions because it knows this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from funcgrad._core.lazy import LazyModule

_ir: Any = LazyModule("llvmlite.ir")

# LLVM's alias scopes distinguish this many memories of a kernel.
MEMORIES = 48

INT = np.dtype(np.int64)
FLOAT = np.dtype(np.float64)
BOOL = np.dtype(bool)


class MachineValue(NamedTuple):
    """A number or an address, while a kernel is translated.

    Args:
        value: LLVM's value; Python's number if ``weak``.
        dtype: the dtype of the number, or of the elements at the address.
        pointer: whether it is an address.
        weak: whether it is a number of the text, which takes the dtype of the number that it is combined with.
    """

    value: Any
    dtype: np.dtype
    pointer: bool = False
    weak: bool = False


def llvm_kind(dtype: np.dtype, memory: bool = False) -> Any:
    """Return LLVM's type of a number; a bool has one bit, and 8 in memory."""
    if dtype.kind == "c":
        part = _ir.FloatType() if dtype.itemsize == 8 else _ir.DoubleType()
        return _ir.LiteralStructType([part, part])
    if dtype.kind == "f":
        return _ir.FloatType() if dtype.itemsize == 4 else _ir.DoubleType()
    return _ir.IntType(1 if dtype.kind == "b" and not memory else 8 * dtype.itemsize)


def pointer_to(dtype: np.dtype) -> Any:
    """Return LLVM's type of an address of elements."""
    return llvm_kind(dtype, memory=True).as_pointer()


def converted(b: Any, x: MachineValue, dtype: np.dtype) -> Any:
    """Return LLVM's value of a number in another dtype."""
    if x.weak:
        return _constant(x.value, dtype)
    if x.dtype == dtype:
        return x.value
    if dtype.kind == "b":
        return compared(b, "!=", x, MachineValue(0, INT, weak=True)).value
    return _conversion(b, x.dtype, dtype)(x.value, llvm_kind(dtype))


def _conversion(b: Any, given: np.dtype, dtype: np.dtype) -> Callable[..., Any]:
    """Return LLVM's instruction that converts numbers of one dtype to another."""
    if given.kind == "f" and dtype.kind == "f":
        return b.fpext if dtype.itemsize > given.itemsize else b.fptrunc
    assert given.kind in "iub", f"{given} is not converted to {dtype}"
    if dtype.kind == "f":
        return b.sitofp if given.kind == "i" else b.uitofp
    if given.kind == "b" or dtype.itemsize > given.itemsize:
        return b.sext if given.kind == "i" else b.zext
    return b.trunc if dtype.itemsize < given.itemsize else b.bitcast


def _constant(value: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return llvm_kind(dtype)(int(bool(value)))
    if dtype.kind == "f":
        return llvm_kind(dtype)(float(value))
    # LLVM's integers have no sign.
    bits = 8 * dtype.itemsize
    return llvm_kind(dtype)((int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))


def common_dtype(*xs: MachineValue) -> np.dtype:
    """Return the dtype in which numbers are combined."""
    strong = [x.dtype for x in xs if not x.weak]
    dtype = np.result_type(*strong or [x.dtype for x in xs])
    widened = dtype.kind in "iub" and any(x.weak and x.dtype.kind == "f" for x in xs)
    return FLOAT if widened else dtype


def common(b: Any, *xs: MachineValue) -> tuple[np.dtype, list[Any]]:
    """Return the dtype in which numbers are combined, and LLVM's values."""
    dtype = common_dtype(*xs)
    return dtype, [converted(b, x, dtype) for x in xs]


def combined(b: Any, op: str, x: MachineValue, y: MachineValue) -> MachineValue:
    """Return the sum, difference, product, quotient or bitwise combination of two numbers."""
    dtype, (p, q) = common(b, x, y)
    floats = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
    others = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor"}
    return MachineValue(getattr(b, (floats if dtype.kind == "f" else others)[op])(p, q), dtype)


def compared(b: Any, op: str, x: MachineValue, y: MachineValue) -> MachineValue:
    """Return the bool of a comparison. Each comparison with NaN is false, except ``!=``."""
    dtype, (p, q) = common(b, x, y)
    if dtype.kind == "f":
        found = b.fcmp_unordered(op, p, q) if op == "!=" else b.fcmp_ordered(op, p, q)
    else:
        found = (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(op, p, q)
    return MachineValue(found, BOOL)


def negative(b: Any, x: MachineValue) -> MachineValue:
    """Return the negated number."""
    if x.weak:
        return x._replace(value=-x.value)
    return x._replace(value=b.fneg(x.value) if x.dtype.kind == "f" else b.neg(x.value))


def _word(b: Any, x: MachineValue) -> Any:
    return converted(b, x, INT)


def _part(b: Any, p: MachineValue, k: MachineValue) -> MachineValue:
    return p._replace(value=b.gep(p.value, [_word(b, k)]))


def _typed(b: Any, p: MachineValue, k: MachineValue, dtype: np.dtype) -> MachineValue:
    return MachineValue(b.bitcast(b.gep(p.value, [_word(b, k)]), pointer_to(dtype)), dtype, pointer=True)


def _address(b: Any, p: MachineValue) -> MachineValue:
    return MachineValue(b.ptrtoint(p.value, llvm_kind(INT)), INT)


def _located(b: Any, bases: MachineValue, s: MachineValue, k: MachineValue, dtype: np.dtype) -> MachineValue:
    first = _word(b, k)
    places = first, b.add(first, llvm_kind(INT)(1))
    number, offset = [b.load(b.gep(s.value, [place])) for place in places]
    base = b.load(b.gep(bases.value, [number]))
    return MachineValue(b.inttoptr(b.add(base, offset), pointer_to(dtype)), dtype, pointer=True)


def _space(b: Any, n: MachineValue) -> MachineValue:
    place = b.alloca(llvm_kind(np.dtype(np.uint8)), size=_word(b, n))
    place.align = 64
    return MachineValue(place, np.dtype(np.uint8), pointer=True)


def _at(b: Any, p: MachineValue, k: MachineValue) -> MachineValue:
    value = b.load(b.gep(p.value, [_word(b, k)]))
    value.set_metadata("invariant.load", b.module.add_metadata([]))
    return MachineValue(value, INT)


# The scopes of each module of LLVM that is being made. Making them again for each load takes a fifth of a build.
_scopes: WeakKeyDictionary[Any, list[tuple[Any, Any]]] = WeakKeyDictionary()


def _scopes_of(module: Any) -> list[tuple[Any, Any]]:
    """Return for each memory its scope, and the scopes of all others."""
    found = _scopes.get(module)
    if found is None:
        domain = module.add_metadata(["funcgrad"])
        scopes = [module.add_metadata([f"memory {k}", domain]) for k in range(MEMORIES)]
        found = _scopes[module] = [
            (module.add_metadata([scope]), module.add_metadata([s for s in scopes if s is not scope]))
            for scope in scopes
        ]
    return found


def _set_alias_scope(module: Any, instruction: Any, number: int) -> None:
    """Tell LLVM that a load or a store touches no memory with a different number."""
    if number < MEMORIES:
        own, others = _scopes_of(module)[number]
        instruction.set_metadata("alias.scope", own)
        instruction.set_metadata("noalias", others)


def element(b: Any, p: MachineValue, k: MachineValue, memory: int = MEMORIES) -> MachineValue:
    """Return an element; ``memory`` is the number of its memory."""
    value = b.load(b.gep(p.value, [_word(b, k)]))
    _set_alias_scope(b.module, value, memory)
    return MachineValue(b.trunc(value, llvm_kind(BOOL)) if p.dtype == BOOL else value, p.dtype)


def set_element(b: Any, p: MachineValue, k: MachineValue, x: MachineValue, memory: int = MEMORIES) -> None:
    """Write an element."""
    value = converted(b, x, p.dtype)
    value = b.zext(value, llvm_kind(BOOL, memory=True)) if p.dtype == BOOL else value
    _set_alias_scope(b.module, b.store(value, b.gep(p.value, [_word(b, k)])), memory)


def _load(b: Any, m: MachineValue, p: MachineValue, k: MachineValue) -> MachineValue:
    return element(b, p, k, m.value)


def _store(b: Any, m: MachineValue, p: MachineValue, k: MachineValue, x: MachineValue) -> None:
    set_element(b, p, k, x, m.value)


def _choose(b: Any, c: MachineValue, x: MachineValue, y: MachineValue) -> MachineValue:
    dtype, (p, q) = common(b, x, y)
    return MachineValue(b.select(converted(b, c, BOOL), p, q), dtype)


def _of_float(name: str) -> Callable[..., MachineValue]:
    """Return a function of one float, which LLVM knows: a root is correctly rounded, a logarithm is the C library's."""

    def generate(b: Any, x: MachineValue) -> MachineValue:
        function = b.module.declare_intrinsic(f"llvm.{name}", [llvm_kind(x.dtype)])
        return x._replace(value=b.call(function, [converted(b, x, x.dtype)]), weak=False)

    return generate


def _called(b: Any, function: MachineValue, data: MachineValue, lists: Sequence[Sequence[MachineValue]]) -> None:
    """Write the call of an inner loop: three lists of words in memory, and the loop's data."""
    given, text = [], _ir.IntType(8).as_pointer()
    for words in lists:
        with b.goto_entry_block():
            place = b.alloca(_ir.ArrayType(llvm_kind(INT), len(words)))
        for k, x in enumerate(words):
            word = b.ptrtoint(x.value, llvm_kind(INT)) if x.pointer else _word(b, x)
            b.store(word, b.gep(place, [_ir.IntType(32)(0), _ir.IntType(32)(k)]))
        given.append(b.bitcast(place, text))
    kind = _ir.FunctionType(_ir.VoidType(), [text] * 4)
    b.call(b.inttoptr(_word(b, function), kind.as_pointer()), [*given, b.inttoptr(_word(b, data), text)])


def _inner(b: Any, f: MachineValue, data: MachineValue, n: MachineValue, *rest: MachineValue) -> None:
    """Write an inner loop over one dimension: ``(function, data, n, pointer, step, ...)``, steps in bytes."""
    _called(b, f, data, [rest[::2], [n], rest[1::2]])


def _product(
    b: Any,
    f: MachineValue,
    data: MachineValue,
    m: MachineValue,
    k: MachineValue,
    n: MachineValue,
    *matrices: MachineValue,
) -> None:
    """Write NumPy's loop of ``matmul``: lengths, then three matrices, each with the strides of its axes in bytes."""
    zero, one = [MachineValue(value, INT, weak=True) for value in (0, 1)]
    strides = [matrices[i] for i in (1, 2, 4, 5, 7, 8)]
    _called(b, f, data, [matrices[::3], [one, m, k, n], [zero, zero, zero, *strides]])


FUNCTIONS: dict[str, Callable[..., MachineValue | None]] = {
    "abs": _of_float("fabs"),
    "address": _address,
    "at": _at,
    "choose": _choose,
    "fabs": _of_float("fabs"),
    "inner": _inner,
    "load": _load,
    "located": _located,
    "log": _of_float("log"),
    "part": _part,
    "product": _product,
    "space": _space,
    "sqrt": _of_float("sqrt"),
    "store": _store,
    "typed": _typed,
}
_NAMES = ["float32", "float64", "complex64", "complex128"]
DTYPES: dict[str, np.dtype] = {
    name: np.dtype(name) for name in [*_NAMES, *[f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64)]]
} | {"boolean": BOOL}
