"""Plain arrays that a tape or a graph keeps. The user may write to them before the derivative reads them.

NumPy does not report writes, so tapes and graphs keep copies. An array that several operations read is copied once,
until its numbers change: a comparison takes less time than a copy, because a copy needs new memory. A checksum would be
computed at each use, and again before each pass. Processor time in ms (NumPy 2.4, one core of an EPYC):

| array | product with a vector | copy | comparison | CRC-32 |
|---|---|---|---|---|
| 100,000 x 20 (16 MB) | 1.4 | 2.6 | 2.3 | 5 |
| 4,096 x 4,096 (134 MB) | 10 | 33 | 19 | 54 |
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

# In bytes: copying this much takes less time than finding an earlier copy and comparing.
_SMALL = 4096
# In bytes: a smaller copy lies in a bytearray, because Python compares these by `memcmp` (2 MB in 120 us; NumPy takes
# 220 us). Larger memory is new for each copy, and takes a third of the time if NumPy asks the system for huge pages.
_HUGE = (32 << 20) - 8192

# The copies that something still keeps, by the key of the array that was copied and by their own key.
_copies: WeakValueDictionary[Any, np.ndarray] = WeakValueDictionary()


def copied(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array for a tape."""
    return x.copy(order="K") if x.nbytes <= _SMALL else shared_copy(x)


def shared_copy(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array that nobody writes to: the same copy as long as the array has the same numbers.

    Graphs take such copies of small arrays, too, because graphs with the same constants are recognized as equal.
    """
    if x.dtype.hasobject:
        return x.copy(order="K")
    key = _key(x)
    known = _copies.get(key)
    if known is not None and (known is x or same_bits(known, x)):
        return known
    copy = np.empty_like(x)
    if x.nbytes <= _HUGE:
        copy = np.ndarray(x.shape, x.dtype, bytearray(_bytes(x, copy)), strides=copy.strides)
    else:
        copy[...] = x
    _copies[key] = _copies[_key(copy)] = copy
    return copy


def _key(x: np.ndarray) -> Any:
    """Return the same key for views of the same array. Another array may have it, too: numbers are always compared."""
    return id(x) if x.base is None else (id(x.base), x.shape, x.strides)


def same_bits(copy: np.ndarray, x: np.ndarray) -> bool:
    """Return whether a copy has the type and the bits of an array: 0.0 and -0.0 differ, and a NaN equals itself."""
    if copy.shape != x.shape or copy.dtype != x.dtype:
        return False
    found = _bytes(x, copy)
    memory: Any = copy.base
    if type(memory) is bytearray:
        return memory == found
    known = _bytes(copy, copy)
    if x.nbytes % 8 == 0:
        found, known = found.view(np.uint64), known.view(np.uint64)
    return bool(np.equal(found, known).all())


def _bytes(x: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """Return the bytes of an array in the order in which its copy has them in memory."""
    if not copy.flags.c_contiguous:
        x = x.transpose(sorted(range(x.ndim), key=lambda i: -copy.strides[i]))
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)
