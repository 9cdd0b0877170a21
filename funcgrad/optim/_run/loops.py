"""The rule of SGD as one loop, compiled by Numba where that is installed.

A loop moves each number once, where ufuncs make eight passes over blocks in cache, and leaves Python alone until it is
done, so that threads do not wait for each other. Operations and their order are those of ``blocks.py``, and so are the
results, to the last bit.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.lazy import LazyModule

_numba = LazyModule("numba")

# Elements a call: enough for what surrounds a call not to count, few enough for threads to share them evenly.
BLOCK = 1 << 19
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
# What compiled loops do not report: overflow passes in silence.
_SILENT = frozenset({"ignore", "warn"})


class Loops(NamedTuple):
    """Steps with a buffer and without, in place and apart.

    What is written in place has a loop of its own: where an array is passed twice, the compiler must take it that one
    number of it depends on another, and does not use the processor's vectors.
    """

    buffered: Callable[..., None]
    buffered_in_place: Callable[..., None]
    plain: Callable[..., None]
    plain_in_place: Callable[..., None]


def make_loops(compiled: Callable[..., Any]) -> Loops:  # noqa: C901  (four short loops)
    """The loops, by a compiler; the identity gives them in Python."""

    @compiled
    def decayed(p: Any, g: Any, hypers: Any, maximize: bool) -> Any:
        d = -g if maximize else g
        return d + hypers[2] * p if hypers[2] != 0 else d

    @compiled
    def direction(d: Any, b: Any, hypers: Any, nesterov: bool) -> Any:
        return d + hypers[1] * b if nesterov else b

    @compiled
    def buffered(p: Any, g: Any, b: Any, keep: Any, hypers: Any, flags: Any, new_p: Any, new_b: Any) -> None:  # noqa: PLR0917
        begins, nesterov, maximize = flags
        for i in range(p.size):
            d = decayed(p[i], g[i], hypers, maximize)
            new_b[i] = d if begins else hypers[1] * b[i] + keep * d
            new_p[i] = p[i] - hypers[0] * direction(d, new_b[i], hypers, nesterov)

    @compiled
    def buffered_in_place(p: Any, g: Any, b: Any, keep: Any, hypers: Any, flags: Any) -> None:
        begins, nesterov, maximize = flags
        for i in range(p.size):
            d = decayed(p[i], g[i], hypers, maximize)
            b[i] = d if begins else hypers[1] * b[i] + keep * d
            p[i] -= hypers[0] * direction(d, b[i], hypers, nesterov)

    @compiled
    def plain(p: Any, g: Any, hypers: Any, maximize: bool, new_p: Any) -> None:
        for i in range(p.size):
            new_p[i] = p[i] - hypers[0] * decayed(p[i], g[i], hypers, maximize)

    @compiled
    def plain_in_place(p: Any, g: Any, hypers: Any, maximize: bool) -> None:
        for i in range(p.size):
            p[i] -= hypers[0] * decayed(p[i], g[i], hypers, maximize)

    return Loops(buffered, buffered_in_place, plain, plain_in_place)


def usable() -> bool:
    """Whether Numba is there, and no error of arithmetic is to be raised, which compiled loops do not see."""
    return _is_there() and _SILENT.issuperset(np.geterr().values())


@functools.cache
def _is_there() -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        return _numba.njit is not None
    except ImportError:
        # Installed, but not for this version of NumPy.
        return False


@functools.cache
def loops() -> Loops:
    """The compiled loops; to import Numba and to compile takes about a second."""
    return make_loops(_numba.njit(nogil=True, error_model="numpy"))


def takes(move: Any) -> bool:
    """Whether the loops are made for these arrays: of one dtype that processors compute in, and in one piece."""
    dtype = move.p.dtype
    arrays = [x for x in move if type(x) is np.ndarray]
    return dtype in _DTYPES and all(
        x.dtype == dtype and x.ndim == 1 and x.flags.c_contiguous and x.flags.aligned for x in arrays
    )


def write(move: Any, hyper: Any) -> None:
    """Take one step, or one block of it."""
    p, g, buffer, keep, new_p, new_buffer = move
    made = loops()
    real = p.dtype.type
    hypers = tuple([real(number) for number in hyper[:3]])
    if new_buffer is None:
        if p is new_p:
            made.plain_in_place(p, g, hypers, hyper.maximize)
        else:
            made.plain(p, g, hypers, hyper.maximize, new_p)
        return
    begins = buffer is None or keep is None
    flags = (begins, hyper.nesterov, hyper.maximize)
    kept = real(1 if begins else keep)
    if p is new_p and (begins or buffer is new_buffer):
        made.buffered_in_place(p, g, new_buffer, kept, hypers, flags)
    else:
        made.buffered(p, g, p if begins else buffer, kept, hypers, flags, new_p, new_buffer)
