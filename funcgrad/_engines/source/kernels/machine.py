"""Functions that Numba compiles into kernels: memory access by address, workspace on the stack, NumPy's inner loops.

The text of a kernel calls these functions by these names:

    pointer(array)        the address of the first element       space(n)          allocate n bytes on the stack
    part(p, k)            the address of element k               typed(p, k, dtype)   the address of byte k, typed
    at(p, k)              a number of the kernel's table         inner, product    one of NumPy's inner loops
    load(m, p, k)         element k of memory number m           choose(c, x, y)   x if c, else y
    store(m, p, k, x)                                            address(p)        the address as a number
    located(b, s, k, dtype)   the address at byte number k + 1 of s, from the address number k of s in b, typed

Memories of different numbers do not overlap. The compiler uses vector instructions because it knows this.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from funcgrad._core.lazy import LazyModule

_numba: Any = LazyModule("numba")
_types: Any = LazyModule("numba.core.types")
_cgutils: Any = LazyModule("numba.core.cgutils")
_extending: Any = LazyModule("numba.extending")
_ir: Any = LazyModule("llvmlite.ir")

# LLVM's alias scopes distinguish this many memories of a kernel.
MEMORIES = 48


def _word() -> Any:
    return _ir.IntType(64)


def _bytes() -> Any:
    return _ir.IntType(8).as_pointer()


def _pointer(context: Any, array: Any) -> Any:
    del context

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = ctx.make_array(signature.args[0])(ctx, builder, args[0])
        return builder.bitcast(given.data, ctx.get_value_type(signature.return_type))

    return _types.CPointer(array.dtype)(array), generate


def _part(context: Any, p: Any, k: Any) -> Any:
    del context, k
    return p(p, _types.intp), lambda ctx, builder, signature, args: builder.gep(args[0], [args[1]])


def _typed(context: Any, p: Any, k: Any, dtype: Any) -> Any:
    del context, k
    kind = _types.CPointer(dtype.instance_type)

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.gep(args[0], [args[1]]), ctx.get_value_type(signature.return_type))

    return kind(p, _types.intp, dtype), generate


def _address(context: Any, p: Any) -> Any:
    del context
    return _types.int64(p), lambda ctx, builder, signature, args: builder.ptrtoint(args[0], _word())


def _located(context: Any, b: Any, s: Any, k: Any, dtype: Any) -> Any:
    del context, k
    kind = _types.CPointer(dtype.instance_type)

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, offset = [builder.load(builder.gep(args[1], [place])) for place in (args[2], _next(builder, args[2]))]
        base = builder.load(builder.gep(args[0], [number]))
        return builder.inttoptr(builder.add(base, offset), ctx.get_value_type(signature.return_type))

    return kind(b, s, _types.intp, dtype), generate


def _next(builder: Any, k: Any) -> Any:
    return builder.add(k, _word()(1))


def _space(context: Any, n: Any) -> Any:
    del context, n

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del ctx, signature
        place = builder.alloca(_ir.IntType(8), size=args[0])
        place.align = 64
        return place

    return _types.CPointer(_types.uint8)(_types.intp), generate


def _at(context: Any, p: Any, k: Any) -> Any:
    del context, k

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del ctx, signature
        value = builder.load(builder.gep(args[0], [args[1]]))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    return _types.int64(p, _types.intp), generate


# The scopes of each module of LLVM that is being made. Making them again for each load took a fifth of a build.
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


def _load(context: Any, m: Any, p: Any, k: Any) -> Any:
    del context, k
    number = m.literal_value

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del ctx
        value = builder.load(builder.gep(args[1], [args[2]]))
        _set_alias_scope(builder.module, value, number)
        return builder.trunc(value, _ir.IntType(1)) if signature.return_type == _types.boolean else value

    return p.dtype(m, p, _types.intp), generate


def _store(context: Any, m: Any, p: Any, k: Any, x: Any) -> Any:
    del context, k, x
    number = m.literal_value

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = args[3]
        if signature.args[3] == _types.boolean:
            value = builder.zext(value, _ir.IntType(8))
        _set_alias_scope(builder.module, builder.store(value, builder.gep(args[1], [args[2]])), number)
        return ctx.get_dummy_value()

    return _types.void(m, p, _types.intp, p.dtype), generate


def _choose(context: Any, c: Any, x: Any, y: Any) -> Any:
    del context, y

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del ctx, signature
        return builder.select(args[0], args[1], args[2])

    x = _types.unliteral(x)
    return x(c, x, x), generate


def _called(builder: Any, function: Any, data: Any, lists: Sequence[Sequence[Any]]) -> None:
    """Write the call of an inner loop: three lists of words in memory, and the loop's data."""
    given = []
    for words in lists:
        place = _cgutils.alloca_once(builder, _ir.ArrayType(_word(), len(words)))
        for k, value in enumerate(words):
            word = builder.ptrtoint(value, _word()) if isinstance(value.type, _ir.PointerType) else value
            builder.store(word, builder.gep(place, [_ir.IntType(32)(0), _ir.IntType(32)(k)]))
        given.append(builder.bitcast(place, _bytes()))
    kind = _ir.FunctionType(_ir.VoidType(), [_bytes()] * 4)
    address = builder.inttoptr(function, kind.as_pointer())
    builder.call(address, [*given, builder.inttoptr(data, _bytes())])


def _inner(context: Any, *kinds: Any) -> Any:
    """Write an inner loop over one dimension: ``(function, data, n, pointer, step, ...)``, steps in bytes."""
    del context

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature
        f, d, n, *rest = _cgutils.unpack_tuple(builder, args[0])
        _called(builder, f, d, [rest[::2], [n], rest[1::2]])
        return ctx.get_dummy_value()

    return _types.void(_words(kinds)), generate


def _product(context: Any, *kinds: Any) -> Any:
    """Write NumPy's loop of ``matmul``: lengths, then three matrices, each with the strides of its axes in bytes."""
    del context

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature
        f, d, m, k, n, a, am, ak, b, bk, bn, y, ym, yn = _cgutils.unpack_tuple(builder, args[0])
        zero, one = _word()(0), _word()(1)
        _called(builder, f, d, [[a, b, y], [one, m, k, n], [zero, zero, zero, am, ak, bk, bn, ym, yn]])
        return ctx.get_dummy_value()

    return _types.void(_words(kinds)), generate


def _words(kinds: Any) -> Any:
    """Return the types of arguments that come as a tuple: pointers and words."""
    word = _types.int64
    return _types.BaseTuple.from_types([x if isinstance(x, _types.CPointer) else word for x in kinds])


@functools.cache
def text() -> str:
    """Return the source of these functions.

    It belongs to a kernel's key on disk, because each kernel contains this code.
    """
    return Path(__file__).read_text(encoding="utf-8")


@functools.cache
def functions() -> dict[str, Any]:
    """Return the functions above by their names in kernels, and the dtypes."""
    plain = {"pointer": _pointer, "part": _part, "typed": _typed, "space": _space, "at": _at, "choose": _choose}
    plain |= {"address": _address, "located": _located}
    plain |= {"inner": _inner, "product": _product}
    found = {name: _extending.intrinsic(function) for name, function in plain.items()}
    found |= {
        name: _extending.intrinsic(prefer_literal=True)(f) for name, f in {"load": _load, "store": _store}.items()
    }
    names = ["float32", "float64", *[f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)]]
    found |= {name: getattr(_types, name) for name in names}
    return found | {"boolean": _types.boolean, "complex64": _types.complex64, "complex128": _types.complex128}
