"""Find NumPy's and SciPy's own inner loops, so that compiled code can call them and get NumPy's numbers to the bit.

An inner loop is a C function ``loop(args, dimensions, steps, data)``. Its address is in the public part of a ufunc
(``PyUFuncObject`` in NumPy's ``ufuncobject.h``, the same since NumPy 1). It takes memory of any strides, uses vector
instructions, and needs no lock of Python. Each loop is compared with the ufunc on a few numbers before its first use.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_POINTER = ctypes.c_void_p


class _UFunc(ctypes.Structure):
    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", _POINTER),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(_POINTER)),
        ("data", ctypes.POINTER(_POINTER)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_ubyte)),
    )


class InnerLoop(NamedTuple):
    """The address of a loop, and of the data that is its last argument."""

    function: int
    data: int


@functools.cache
def inner_loop(function: np.ufunc, dtypes: tuple[np.dtype, ...]) -> InnerLoop | None:
    """Return a ufunc's loop for operands and result of these dtypes; ``None`` if no loop gives the same results."""
    if ctypes.sizeof(_POINTER) != 8 or _UFunc.from_address(id(function)).nargs != function.nargs:
        return None
    record = _UFunc.from_address(id(function))
    if record.ntypes != function.ntypes or not record.types:
        return None
    numbers = [dtype.num for dtype in dtypes]
    for k in range(record.ntypes):
        if record.types[k * record.nargs : (k + 1) * record.nargs] == numbers and record.functions[k]:
            found = InnerLoop(record.functions[k] or 0, (record.data[k] if record.data else None) or 0)
            return found if _does_the_same(function, dtypes, found) else None
    return None


def _does_the_same(function: np.ufunc, dtypes: tuple[np.dtype, ...], loop: InnerLoop) -> bool:
    """Return whether a loop gives the ufunc's results on a few numbers, most of them in every function's domain."""
    if function.signature is not None:
        return _multiplies(function, dtypes, loop)
    tried = np.array([0.25, 0.5, 1, 2, 3, 0, 0.75])
    *operands, result = [np.resize(np.roll(tried, k), 7).astype(dtype) for k, dtype in enumerate(dtypes)]
    wanted = np.empty_like(result)
    with np.errstate(all="ignore"):
        function(*operands, out=wanted, casting="unsafe")
        _call(loop, [*operands, result], [len(result)], [x.itemsize for x in (*operands, result)])
        # A loop sets floating-point flags of the processor; NumPy clears them before it checks them.
    return result.tobytes() == wanted.tobytes()


def _multiplies(function: np.ufunc, dtypes: tuple[np.dtype, ...], loop: InnerLoop) -> bool:
    """Compare a loop of ``matmul`` with the ufunc."""
    a, b = np.arange(6).reshape(2, 3).astype(dtypes[0]), np.arange(12).reshape(3, 4).astype(dtypes[1])
    y = np.empty((2, 4), dtypes[2])
    _call(loop, [a, b, y], [1, 2, 3, 4], [0, 0, 0, *a.strides, *b.strides, *y.strides])
    return bool(np.array_equal(y, function(a, b)))


def _call(loop: InnerLoop, arrays: Sequence[np.ndarray], dimensions: Sequence[int], steps: Sequence[int]) -> None:
    call = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, _POINTER)(loop.function)
    numbers = [np.array(x, np.int64) for x in ([x.ctypes.data for x in arrays], dimensions, steps)]
    call(*[x.ctypes.data for x in numbers], loop.data)


def loop_dtypes(function: np.ufunc, kinds: Sequence[Any]) -> tuple[np.dtype, ...] | None:
    """Return the dtypes in which a ufunc computes; ``float``, ``int`` and ``complex`` stand for Python numbers."""
    try:
        return tuple(function.resolve_dtypes((*kinds, *[None] * function.nout)))
    except TypeError:
        return None
