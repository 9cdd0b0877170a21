"""Elementwise programs for arrays of every length: they write to given memory, in blocks, on all cores.

    program = FlatProgram(graph, aliases=(0, 2))
    write([(program, (p, g, buffer), (lr, momentum), (p, buffer)), ...])

A program is compiled once. Several programs, and several uses of one, run together, so that threads are woken once. On
large arrays a program runs as a kernel if llvmlite is installed, else as NumPy's ufuncs. The numbers are the same.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Graph
from funcgrad._core.lazy import LazyModule
from funcgrad._core.threads import each
from funcgrad._engines.source.elementwise import InMemory, in_memory

_parallel: Any = LazyModule("funcgrad._engines.source.kernels.parallel")
_llvm: Any = LazyModule("llvmlite.binding")

# Elements per block of ufuncs. In smaller blocks the threads wait for each other between ufuncs: a step of SGD on the
# tensors of a ResNet-50 takes 28 ms with blocks of 16,384, 18 with 32,768, 14 with 65,536, 12.5 with 131,072.
BLOCK = 1 << 17
# A second thread pays from this many elements in all.
THREADED = 1 << 18
# Kernels report no overflow, so they run only where NumPy need not raise.
_SILENT = frozenset({"ignore", "warn"})


class FlatProgram:
    """An elementwise graph, compiled once for arrays of every length.

    Args:
        graph: its first inputs are arrays of shape ``(BLOCK,)``, the others have no axes. Outputs are such arrays.
        aliases: for each output, the number of the array in whose memory it may be written.
        kernels: whether a kernel is worth its compilation.
    """

    def __init__(self, graph: Graph, aliases: Sequence[int], kernels: bool = True) -> None:
        self._graph = graph
        self._aliases = aliases
        self._kernels = kernels

    @functools.cached_property
    def ufuncs(self) -> InMemory:
        """The program as NumPy's ufuncs."""
        return in_memory(self._graph, self._aliases)

    @functools.cached_property
    def kernel(self) -> Any:
        """The compiled kernel; ``None`` if there is none."""
        return _parallel.flat_kernel(self._graph) if self._kernels else None


# A program, its arrays, its numbers as arrays without axes, and memory for its results.
Work = tuple[FlatProgram, Sequence[np.ndarray], Sequence[Any], Sequence[np.ndarray]]


def write(works: Sequence[Work]) -> None:
    """Run programs. A result may be given the memory of its alias, and no other memory that the program reads."""
    total = 0
    for _, arrays, _, _ in works:
        total += arrays[0].size
    if total <= BLOCK:
        for work in works:
            program, arrays, numbers, results = work
            if arrays[0].shape:
                program.ufuncs.run(*arrays, *numbers, *results)
            else:
                _write(*work)
    else:
        _write_large(works, total)


def _write(program: FlatProgram, arrays: Sequence[Any], numbers: Sequence[Any], results: Sequence[Any]) -> None:
    if not arrays[0].shape:
        # Ufuncs return numbers for arrays without axes, and numbers cannot be written to.
        arrays, results = ([x.reshape(1) for x in xs] for xs in (arrays, results))
    program.ufuncs.run(*arrays, *numbers, *results)


def _write_large(works: Sequence[Work], total: int) -> None:
    threaded = total >= THREADED
    compiled = threaded and kernels_usable()
    tasks: list[Callable[..., Any]] = []
    copies: list[tuple[np.ndarray, np.ndarray]] = []
    for work in works:
        vectors = _as_vectors(work)
        if vectors is None:
            tasks.append(functools.partial(_strided, work))
            continue
        program, arrays, numbers, results = vectors
        kernel = program.kernel if compiled else None
        if kernel is None:
            tasks += _blocks(*vectors)
        elif results[0].size:
            shares, unplaced = kernel.begun((*arrays, *numbers), results, _parallel.shares_of(results[0].size, total))
            tasks += [functools.partial(_share, share) for share in shares]
            copies += unplaced
    if threaded:
        each(_call, tasks, lambda: (_Scratch(),))
    else:
        scratch = _Scratch()
        for task in tasks:
            task(scratch)
    for y, place in copies:
        np.copyto(place, y)


def _call(task: Callable[[_Scratch], Any], scratch: _Scratch) -> None:
    task(scratch)


class _Scratch(dict[np.dtype, list[np.ndarray]]):
    """Memory of a thread for intermediate values.

    In new memory for each block, the system's pages would take longer than the arithmetic.
    """

    def of(self, dtypes: Sequence[np.dtype], length: int) -> list[np.ndarray]:
        """Return an array for each dtype."""
        found = []
        used: dict[np.dtype, int] = {}
        for dtype in dtypes:
            held = self.setdefault(dtype, [])
            k = used[dtype] = used.get(dtype, -1) + 1
            if k == len(held):
                held.append(np.empty(BLOCK, dtype))
            found.append(held[k][:length])
        return found


def _strided(work: Work, scratch: _Scratch) -> None:
    del scratch
    _write(*work)


def _share(share: Callable[[], Any], scratch: _Scratch) -> None:
    del scratch
    share()


def _as_vectors(work: Work) -> Work | None:
    """Return the same work on vectors; ``None`` if the elements of an array are not contiguous."""
    program, arrays, numbers, results = work
    # An array that is read and written stays one array: kernels compare them.
    vectors: dict[int, np.ndarray] = {}
    for x in (*arrays, *results):
        if not x.flags.c_contiguous:
            return None
        vectors[id(x)] = x if x.ndim == 1 else x.reshape(-1)
    return program, [vectors[id(x)] for x in arrays], numbers, [vectors[id(y)] for y in results]


def _blocks(
    program: FlatProgram, arrays: Sequence[Any], numbers: Sequence[Any], results: Sequence[Any]
) -> list[Callable[..., Any]]:
    length = results[0].size
    if length <= BLOCK:
        return [functools.partial(_run, program, (*arrays, *numbers, *results))]
    tasks = []
    for start in range(0, length, BLOCK):
        block = slice(start, start + BLOCK)
        given = (*[x[block] for x in arrays], *numbers, *[y[block] for y in results])
        tasks.append(functools.partial(_run, program, given))
    return tasks


def _run(program: FlatProgram, given: Sequence[Any], scratch: _Scratch) -> None:
    run, _, dtypes = program.ufuncs
    run(*given, *scratch.of(dtypes, len(given[-1])))


def kernels_usable() -> bool:
    """Return whether llvmlite is installed, and no arithmetic error is to be raised."""
    return _is_installed() and _SILENT.issuperset(np.geterr().values())


@functools.cache
def _is_installed() -> bool:
    if importlib.util.find_spec("llvmlite") is None:
        return False
    try:
        return _llvm.llvm_version_info is not None
    except ImportError:
        # It is installed, but not for this system.
        return False
