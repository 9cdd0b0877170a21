"""Steps as loops over the elements, compiled by Numba where that is installed.

A loop moves each number once, where ufuncs make eight passes over blocks in cache, and leaves Python alone until it is
done, so that threads do not wait for each other. Operations and their order are those of the ufuncs, written from the
same graph, and so are the results, to the last bit.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.lazy import LazyModule

_numba = LazyModule("numba")

# Elements a call: enough for what surrounds a call not to count, few enough for threads to share them evenly.
BLOCK = 1 << 19
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
# What compiled loops do not report: overflow passes in silence.
_SILENT = frozenset({"ignore", "warn"})


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


def compiler() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What compiles a loop; to import Numba and to compile takes about a second."""
    return _numba.njit(nogil=True, error_model="numpy")


def loop_for(move: Any) -> Callable[[], None] | None:
    """The step by its loop; ``None`` where there is none for these arrays.

    Loops are made for arrays of one dtype that processors compute in, in one piece, all of which are written in place
    or none.
    """
    arrays, results, program = move.arrays, move.results, move.program
    dtype = arrays[0].dtype
    if dtype not in _DTYPES or not (_fit(arrays, dtype) and _fit(results, dtype)):
        return None
    aliased = [arrays[i] is y for i, y in zip(program.aliases, results, strict=True)]
    in_place = all(aliased)
    if not in_place and any(aliased):
        return None
    found = _compiled(program, in_place)
    if found is None:
        return None
    run, literals = found
    # One object for all parameters that share their numbers.
    scalars, of, converted = program.converted
    if scalars is not move.scalars or of is not run:
        converted = [dtype.type(x) for x in (*move.scalars, *literals)]
        program.converted = move.scalars, run, converted
    return functools.partial(run, *arrays, *converted, *(() if in_place else results))


def prepare(move: Any) -> None:
    """Compile the loop of a step, in this thread: the others need not wait for each other then."""
    loop_for(move)


def _compiled(program: Any, in_place: bool) -> Any:
    # By the compiler too, for which tests put another.
    key = compiler, in_place
    if key not in program.compiled:
        found = program.loop(in_place)
        program.compiled[key] = None if found is None else (compiler()(found[0]), found[1])
    return program.compiled[key]


def _fit(arrays: Sequence[np.ndarray], dtype: np.dtype) -> bool:
    for x in arrays:
        flags = x.flags
        if x.dtype != dtype or x.ndim != 1 or not flags.c_contiguous or not flags.aligned:
            return False
    return True
