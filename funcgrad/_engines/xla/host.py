"""Calls of Python functions from XLA's programs.

JAX converts the operands and the results of such a call in the mode of the thread that makes it. XLA's own threads are
not in our scoped 64-bit mode, and would cut numbers of 64 bits to 32. Such numbers therefore travel as integers of 32
bits, two or four for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax import lax

from funcgrad._core.aval import Aval
from funcgrad._types import Value

# Outside its 64-bit mode JAX cuts these dtypes to 32 bits.
WIDE = frozenset(map(np.dtype, ("f8", "c16", "i8", "u8")))


def pure_callback(
    function: Callable[..., Any], avals: Sequence[Aval], *xs: Value, vmap_method: str = "sequential"
) -> list[Any]:
    """Call a Python function of NumPy arrays, which returns a list of arrays, when the program runs."""
    dtypes = [x.dtype for x in xs]

    def host(*operands: Any) -> list[np.ndarray]:
        results = function(*map(_arrived, operands, dtypes))
        return [_sent(y, aval.dtype) for y, aval in zip(results, avals, strict=True)]

    structs = [_struct(aval) for aval in avals]
    results = jax.pure_callback(host, structs, *map(_packed, xs), vmap_method=vmap_method)
    return [_unpacked(y, aval.dtype) for y, aval in zip(results, avals, strict=True)]


def debug_callback(function: Callable[..., Any], *xs: Value, ordered: bool = False) -> None:
    """Call a Python function of NumPy arrays that returns nothing when the program runs."""
    xs = tuple(map(jax.numpy.asarray, xs))
    dtypes = [x.dtype for x in xs]
    jax.debug.callback(lambda *operands: function(*map(_arrived, operands, dtypes)), *map(_packed, xs), ordered=ordered)


def elementwise_callback(function: Callable[..., Any], aval: Aval, push: Callable[..., Any], *xs: Value) -> Any:
    """Call an elementwise Python function of NumPy arrays when the program runs.

    JAX differentiates it by ``push(primals, tangents)``. A tangent is ``None`` if its operand has none.
    """
    worker = _worker()

    def host(*arrays: np.ndarray) -> list[Any]:
        return [worker.submit(function, *arrays).result()]

    call = jax.custom_jvp(lambda *xs: pure_callback(host, [aval], *xs, vmap_method="broadcast_all")[0])

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        zero = jax.custom_derivatives.SymbolicZero
        return push(tuple(primals), [None if isinstance(t, zero) else t for t in tangents])

    call.defjvp(rule, symbolic_zeros=True)
    return call(*xs)


@functools.cache
def _worker() -> ThreadPoolExecutor:
    """Return a pool with one thread whose floating-point mode is that of Python's threads.

    XLA's own threads flush denormal numbers to zero, and some of SciPy's algorithms then give wrong values. A thread
    inherits the mode of the thread that starts it, so this one must start while a program is traced.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="funcgrad-host")
    pool.submit(int).result()
    return pool


def _struct(aval: Aval) -> jax.ShapeDtypeStruct:
    if aval.dtype in WIDE:
        return jax.ShapeDtypeStruct((*aval.shape, aval.dtype.itemsize // 4), np.uint32)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _packed(x: Value) -> Any:
    """Return a value in the program as it travels to the host."""
    if x.dtype not in WIDE:
        return x
    if x.dtype.kind == "c":
        return lax.concatenate([_packed(lax.real(x)), _packed(lax.imag(x))], x.ndim)
    return lax.bitcast_convert_type(x, np.uint32)


def _unpacked(x: Value, dtype: np.dtype) -> Any:
    """Return a value in the program that came from the host."""
    if dtype not in WIDE:
        return x
    if dtype.kind == "c":
        real, imag = lax.split(x, (2, 2), axis=x.ndim - 1)
        return lax.complex(_unpacked(real, np.dtype(np.float64)), _unpacked(imag, np.dtype(np.float64)))
    return lax.bitcast_convert_type(x, dtype)


def _arrived(x: Any, dtype: np.dtype) -> np.ndarray:
    """Return a value on the host that came from the program."""
    x = np.asarray(x)
    return np.ascontiguousarray(x).view(dtype)[..., 0] if dtype in WIDE else x


def _sent(y: Any, dtype: np.dtype) -> np.ndarray:
    """Return a value on the host as it travels to the program."""
    y = np.asarray(y, dtype)
    return np.ascontiguousarray(y[..., None]).view(np.uint32) if dtype in WIDE else y
