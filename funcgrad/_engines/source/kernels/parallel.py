"""Compiled kernels: loaded with their tables, and run on blocks of rows on all cores."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Var
from funcgrad._core.threads import together, workers
from funcgrad._engines.source.blocks import Blocks
from funcgrad._engines.source.kernels.compiler.build import built
from funcgrad._engines.source.kernels.compiler.entry import Argument
from funcgrad._engines.source.kernels.kernel import KernelPlan
from funcgrad._engines.source.kernels.plan import flat_plan
from funcgrad._engines.source.kernels.rows import matrix_of, row_length
from funcgrad._engines.source.kernels.text import Text
from funcgrad._engines.source.numpy import compile_numpy
from funcgrad._types import Value

# A kernel wakes other threads if its largest array has at least this many bytes.
_THREADED_BYTES = 1 << 19
# Shares of work per thread. Several small shares let all threads end at about the same time.
_SHARES = 8
# The most lengths whose tables a kernel for arrays of every length keeps.
_LENGTHS = 1000
_lock = threading.Lock()
_compiled: dict[Hashable, Callable[..., int | None]] = {}


def compiled(text: Text, avals: Sequence[Any], blocked: bool, results: int) -> Callable[..., int | None]:
    """Return a kernel's function, the same for all kernels of one text and signature."""
    word, operands = np.dtype(np.int64), len(avals) - results
    arguments = [Argument(word, array=True), *[Argument(word, array=False)] * (2 if blocked else 0)]
    arguments += [Argument(np.dtype(np.uint8), array=True, written=True)] if text.workspace else []
    arguments += [Argument(aval.dtype, aval.shape != (), i >= operands) for i, aval in enumerate(avals)]
    key = text.source, tuple(arguments), text.checks
    with _lock:
        if key not in _compiled:
            _compiled[key] = built(text.source, arguments, text.checks)
    return _compiled[key]


class Kernel:
    """A kernel and the table of its sizes. It is compiled at its first call."""

    def __init__(self, plan: KernelPlan, places: tuple[tuple[int, int], ...] = ()) -> None:
        text = plan.placed(places)
        assert text is not None
        self.text = text
        self.source = text.source
        self.workspace = text.workspace
        self._plan = plan
        inside = dict(places)
        self.kept = [k for k in range(len(plan.results)) if k not in inside]
        self._avals = [var.aval for var in plan.operands]
        self._made = [_Made(plan, k) for k in self.kept]
        self.table = _table(text.table, plan.length)

    @functools.cached_property
    def function(self) -> Callable[..., int | None]:
        """The compiled function."""
        kinds = [*self._avals, *self._made]
        return compiled(self.text, kinds, self._plan.length is not None, len(self._made))


class _Made:
    """The aval of a result's memory."""

    def __init__(self, plan: KernelPlan, k: int) -> None:
        aval = plan.results[k].aval
        # A partial sum has one row for each block; any other result has its own shape.
        self.shape = (aval.shape or (1,)) if plan.partial[k] is None else (1, *plan.shapes[k])
        self.dtype = aval.dtype


def _table(entries: Callable[[int | None], list[int]], length: tuple[int, int] | None) -> np.ndarray:
    """Return the table of a kernel. If it runs in blocks, a second table for the shorter last block follows."""
    full = entries(None)
    if length is None:
        return np.array(full, np.int64)
    count, rows = length
    rest = count % rows
    full[2] = count // rows if rest else -1
    return np.array([*full, *(entries(rest) if rest else [])], np.int64)


def fitted(x: Value, var: Var) -> Any:
    """Return an operand as kernels take it: a number, or an array as `packed` gives it."""
    dtype = var.aval.dtype
    if var.aval.shape:
        return packed(x, dtype)
    return complex(x) if dtype.kind == "c" else dtype.type(x)


def packed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array without gaps, aligned, in the processor's order of bytes; the same one where it is so."""
    return x if x.flags.carray or (x.flags.c_contiguous and x.flags.aligned) else np.require(x, dtype, ["C", "A"])


class Parallel(Blocks):
    """A kernel for large arrays, which runs on blocks of rows on all cores."""

    def __init__(self, plan: KernelPlan) -> None:
        self._plan = plan
        plain = Kernel(plan)
        self._kernels: dict[tuple[tuple[int, int], ...], Kernel] = {(): plain}
        self.source = plain.source
        self.sliced = plan.sliced
        assert plan.length is not None
        count, rows = plan.length
        self._blocks = -(-count // rows)
        self.bytes = max([var.aval.nbytes for var in (*plan.operands, *plan.results)])
        self._shares = shares_of(self.bytes, self.bytes) if self.bytes >= _THREADED_BYTES else 1
        multiplied = {matrix_of(equation) for equation in plan.members.equations if row_length(equation)}
        self._matrices = [k for k, x in enumerate(plan.operands) if x in multiplied]

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return the results, in the given memory or in new memory."""
        shares, results = self.begun(operands, given, self._shares)
        run_shares(shares, self.bytes)
        return self.ended(results)

    def begun(
        self, operands: Sequence[Any], given: Sequence[Any], most: int
    ) -> tuple[list[Callable[[], Any]], list[Any]]:
        """Return the work in shares, and the memory of the results: the given memory, where the kernel can use it.

        Args:
            operands: the operands.
            given: memory for the results, ``None`` for new memory.
            most: the number of shares, if there are as many blocks.
        """
        plan = self._plan
        if any(not operands[k].flags.c_contiguous for k in self._matrices):
            # A copy of the matrix takes longer than NumPy's product, which takes matrices of any strides.
            whole = zip(self._without_kernels(*operands), plan.partial, strict=True)
            return [], [y if function is None else y[None] for y, function in whole]
        taken = [fitted(x[()] if x.shape == () else x, var) for x, var in zip(operands, plan.operands, strict=True)]
        kernel = self._kernel(self._places(operands, taken, given))
        results: list[Any] = list(given)
        for k in kernel.kept:
            y, var = given[k], plan.results[k]
            if y is None or not y.flags.carray or any(x is y for x in operands):
                shape = var.aval.shape if plan.partial[k] is None else (self._blocks, *plan.shapes[k])
                results[k] = np.empty(shape, var.aval.dtype)
        kept = [results[k] for k in kernel.kept]
        arguments = [x.reshape(-1) if np.ndim(x) > 1 else x for x in (*taken, *kept)]
        function = kernel.function
        count = min(self._blocks, most)
        bounds = [self._blocks * k // count for k in range(count + 1)]

        def work(lo: int, hi: int) -> None:
            room = [np.empty(kernel.workspace, np.uint8)] if kernel.workspace else []
            function(kernel.table, lo, hi, *room, *arguments)

        return [functools.partial(work, lo, hi) for lo, hi in itertools.pairwise(bounds)], results

    @functools.cached_property
    def _without_kernels(self) -> Callable[..., list]:
        """The same operations as a program of the NumPy engine."""
        return compile_numpy(self._plan.members)

    def ended(self, results: Sequence[Any]) -> list[Any]:
        """Return the results after all shares are done."""
        triples = zip(results, self._plan.partial, self._plan.results, strict=True)
        return [y if function is None else _joined(function, y, var) for y, function, var in triples]

    def _places(self, operands: Sequence[Any], taken: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        """Return pairs (result, operand) of the results that are written into the memory of an operand."""
        places = []
        for k, y in enumerate(given):
            if y is not None:
                i = next((i for i, x in enumerate(operands) if x is y and taken[i] is x), None)
                places += [] if i is None else [(k, i)]
        return tuple(places)

    def _kernel(self, places: tuple[Any, ...]) -> Kernel:
        found = self._kernels.get(places)
        if found is None:
            kept: list[Any] = []
            for place in places:
                kept += [place] if self._plan.placed((*kept, place)) is not None else []
            found = self._kernels[places] = Kernel(self._plan, tuple(kept))
        return found


class Several(Blocks):
    """Several independent kernels, run together so that threads are woken once for all of them."""

    def __init__(self, parts: Sequence[Parallel], equations: Sequence[Equation]) -> None:
        self._parts = parts
        self._counts = [(len(equation.operands), len(equation.results)) for equation in equations]
        self.source = "\n\n".join(dict.fromkeys(part.source for part in parts))
        self.sliced = tuple([cut for part in parts for cut in part.sliced])
        self._bytes = sum(part.bytes for part in parts)
        self._shares = [shares_of(part.bytes, self._bytes) for part in parts]

    def may_take(self, operand: int, result: int) -> bool:
        """Return whether both belong to the same kernel."""
        of_operands, of_results = [list(itertools.accumulate(counts)) for counts in zip(*self._counts, strict=True)]
        return bisect.bisect(of_operands, operand) == bisect.bisect(of_results, result)

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return the results of all kernels, in the given memory or in new memory."""
        shares: list[Callable[[], Any]] = []
        made: list[list[Any]] = []
        start, first = 0, 0
        for part, (n, m), most in zip(self._parts, self._counts, self._shares, strict=True):
            work, results = part.begun(operands[start : start + n], given[first : first + m], most)
            shares += work
            made.append(results)
            start, first = start + n, first + m
        run_shares(shares, self._bytes)
        return [y for part, results in zip(self._parts, made, strict=True) for y in part.ended(results)]


class FlatKernel:
    """The kernel of a whole elementwise program, for arrays of every length.

    Args:
        plan: the kernel.
        operands: for each of its operands, the number of the program's input.
        results: for each of its results, the number of the program's output.
    """

    def __init__(self, plan: KernelPlan, operands: Sequence[int], results: Sequence[int]) -> None:
        self._plan = plan
        self._operands = operands
        self._results = results
        # The kernel with its table, by length.
        self._sized: dict[int, Parallel] = {}

    def begun(
        self, values: Sequence[Any], given: Sequence[np.ndarray], most: int
    ) -> tuple[list[Callable[[], Any]], list[Any]]:
        """Return the work in shares, and pairs of results and memory to which they have to be copied afterwards.

        Args:
            values: vectors of one length, and numbers.
            given: vectors for the results.
            most: the number of shares, if there are as many blocks.
        """
        n = given[0].size
        part = self._sized.get(n)
        if part is None:
            if len(self._sized) >= _LENGTHS:
                self._sized.clear()
            part = self._sized[n] = Parallel(self._plan.of_length(n))
        places = [given[k] for k in self._results]
        shares, made = part.begun([values[i] for i in self._operands], places, most)
        return shares, [(y, place) for y, place in zip(made, places, strict=True) if y is not place]


def flat_kernel(graph: Graph) -> FlatKernel | None:
    """Return the kernel of an elementwise graph; ``None`` if not all of it has a form in kernels."""
    outputs = list(graph.outputs)
    plan = flat_plan(graph)
    if plan is None or len(set(outputs)) < len(outputs) or not set(outputs) <= set(plan.results):
        return None
    if not set(plan.operands) <= set(graph.inputs):
        return None
    inputs = list(graph.inputs)
    return FlatKernel(plan, [inputs.index(x) for x in plan.operands], [outputs.index(x) for x in plan.results])


def shares_of(size: int, total: int) -> int:
    """Return how many shares a kernel runs in that has this size, among kernels of a total size.

    The call of a share takes some 4 us, so all kernels together have a few shares for each thread. The step of a
    ResNet-50 then has 50 shares instead of 570, and takes 0.93 of the time (on one core).
    """
    return math.ceil(workers() * _SHARES * size / total)


def run_shares(shares: Sequence[Callable[[], Any]], size: int) -> None:
    """Run all shares, on all cores if that pays."""
    if size < _THREADED_BYTES or len(shares) < 2:
        for share in shares:
            share()
        return
    rest = iter(shares)

    def work() -> None:
        # Each thread takes the next share when it is free: `next` on a list's iterator is atomic.
        while (share := next(rest, None)) is not None:
            share()

    together([work] * min(workers(), len(shares)))


def _joined(function: Any, parts: np.ndarray, var: Var) -> Any:
    """Combine the parts that the blocks computed."""
    if parts.size == parts.shape[0]:
        y = function.reduce(parts.reshape(-1), dtype=parts.dtype)
        return np.full(var.aval.shape, y, parts.dtype) if var.aval.shape else y
    return function.reduce(parts, axis=0, dtype=parts.dtype).reshape(var.aval.shape)
