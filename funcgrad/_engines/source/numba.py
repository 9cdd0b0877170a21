"""The NumPy engine's programs with parts of them compiled by Numba.

    graph --kernels/plan.py--> kernels and other equations --equations.py--> steps (nodes.py) --text.py--> loops
          --numba.py--> compiled by Numba; memory and inner loops by their addresses (machine.py, ufuncs.py)

Equations without a kernel form are written as for NumPy. A kernel takes contiguous arrays in native byte order; other
arrays are copied first.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._core.lazy import LazyModule
from funcgrad._core.threads import together, workers
from funcgrad._engines.signature import Signature
from funcgrad._engines.source.blocks import Blocks, Part
from funcgrad._engines.source.call import written
from funcgrad._engines.source.kernels import machine
from funcgrad._engines.source.kernels.kernel import KernelPlan
from funcgrad._engines.source.kernels.plan import looped
from funcgrad._engines.source.kernels.store import Kept
from funcgrad._engines.source.kernels.text import Text
from funcgrad._engines.source.numpy import compile_source
from funcgrad._engines.source.paths import written_paths

if TYPE_CHECKING:
    from funcgrad._core.graph.paths import PathTree
    from funcgrad._engines.engine import Questions
    from funcgrad._engines.source.writer import Writer

_numba: Any = LazyModule("numba")
_types: Any = LazyModule("numba.core.types")
_math: Any = LazyModule("math")
# A kernel wakes other threads if its largest array has at least this many bytes.
_THREADED_BYTES = 1 << 19
# Shares of work per thread. Several small shares let all threads end at about the same time.
_SHARES = 8
_lock = threading.Lock()
_compiled: dict[tuple[str, str], Callable[..., int | None]] = {}


def compiled(text: Text, avals: Sequence[Any], blocked: bool, results: int) -> Callable[..., int | None]:
    """Return a kernel's function, the same for all kernels of one text and signature."""
    source, heap = text.source, text.workspace > 0
    kinds = [_types.Array(_types.int64, 1, "C", readonly=True), *[_types.int64] * (2 if blocked else 0)]
    kinds += [_types.Array(_types.uint8, 1, "C")] if heap else []
    operands = len(avals) - results
    for i, aval in enumerate(avals):
        kind = _numba.from_dtype(aval.dtype)
        # Arrays that are cut into blocks are passed flat.
        axes = 1 if blocked else len(aval.shape)
        kinds.append(kind if aval.shape == () else _types.Array(kind, axes, "C", readonly=i < operands))
    signature = (_types.int64 if text.checks else _types.void)(*kinds)
    key = source, str(signature)
    with _lock:
        if key not in _compiled:
            scope = {**machine.functions(), "sqrt": _math.sqrt, "fabs": _math.fabs, "inf": np.inf, "nan": np.nan}
            scope["__name__"] = __name__
            exec(compile(source, "<funcgrad kernel>", "exec"), scope)
            function = _numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(scope["run"])
            # Kept replaces Numba's own cache, which loads any file that it finds without a check.
            processor = function.targetctx.codegen().magic_tuple()
            function._cache = Kept(f"{source}\n{machine.text()}", processor)  # noqa: SLF001  (Numba has no other door)
            function.compile(signature)
            function.disable_compile()
            _compiled[key] = function
    return _compiled[key]


class _Kernel:
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


class Whole(Part):
    """A kernel for small arrays. One line of the program calls it."""

    def __init__(self, plan: KernelPlan) -> None:
        self._plan = plan
        self._kernel = _Kernel(plan)
        self.source = self._kernel.source

    def lines(self, w: Writer, equation: Equation, i: int) -> list[str]:
        """Return lines that allocate the results, call the kernel, and read 0-d results."""
        name = w.value("loop", self)
        w.parts[name] = self.source
        # `_first` compiles at the first call, and puts the compiled function in its own place.
        w.scope[name] = functools.partial(self._first, w.scope, name)
        lines, arguments, numbers = [], [w.value("table", self._kernel.table)], []
        if self._kernel.workspace:
            arguments.append(f"{w.numpy(np.empty)}({self._kernel.workspace}, {w.value('dtype', np.dtype(np.uint8))})")
        operands = equation.operands[: len(self._plan.operands)]
        arguments += [self._operand(w, x) for x in operands]
        first = self._plan.first or (None,) * len(equation.results)
        for var, start in zip(equation.results, first, strict=True):
            shape, dtype = var.aval.shape, w.value("dtype", var.aval.dtype)
            w.buffers.made(var, own=shape != ())
            new = w.new(var)
            arguments.append(f"{new}_" if shape == () else new)
            if start is None:
                lines.append(f"{arguments[-1]} = {w.numpy(np.empty)}({shape or (1,)}, {dtype})")
            else:
                # A carried value has the memory of its result.
                value = w.name(equation.operands[start])
                given = value if shape else f"[{value}]"
                lines.append(f"{arguments[-1]} = {w.numpy(np.array)}({given}, {dtype}, order='C')")
            if shape == ():
                w.numbers.add(var)
                numbers.append(f"{new} = {new}_[0]")
            else:
                w.packed.add(var)
        given = ", ".join(arguments)
        fitted = w.value("fitted", self._fitted)
        call, again = f"{name}({given})", f"{name}(*{fitted}({given}))"
        if not self._kernel.text.checks:
            return [*lines, f"try: {call}", f"except TypeError: {again}", *numbers]
        refused = w.value("refused", self._refused)
        operands = ", ".join([w.name(x) for x in equation.operands])
        return [
            *lines,
            f"try: bad_ = {call}",
            f"except TypeError: bad_ = {again}",
            f"if bad_: {refused}({operands})",
            *numbers,
        ]

    def _operand(self, w: Writer, x: Operand) -> str:
        """Return the expression for an operand as the kernel takes it.

        Numba refuses an array with gaps by an exception that costs about 1 ms, so the code asks the array's flags
        first (40 ns). Only results of kernels are known to lie without gaps.
        """
        name = w.name(x)
        if x.aval.shape:
            if x in w.packed:
                return name
            constant = dict(w.graph.constants).get(cast(Var, x))
            if type(constant) is np.ndarray:
                return w.value("k", packed(constant, x.aval.dtype))
            pack, dtype = w.value("packed", packed), w.value("dtype", x.aval.dtype)
            return f"{name} if {name}.flags.carray else {pack}({name}, {dtype})"
        if x in w.inputs:
            # The argument may be an array without axes.
            return name if x.aval.weak else f"{name}[()]"
        return name if x in w.numbers else f"{w.value(x.aval.dtype.name, x.aval.dtype.type)}({name})"

    def _first(self, scope: dict[str, Any], name: str, *given: Any) -> int | None:
        function = self._kernel.function
        scope[name] = function
        return function(*given)

    def _refused(self, *operands: Any) -> NoReturn:
        """Raise the error that NumPy raises for an index out of bounds."""
        self._plan.members.evaluate(*operands)
        raise IndexError("jit: an index array is out of bounds.")

    def _fitted(self, *given: Any) -> list[Any]:
        """Return the same arguments in the form that the kernel takes."""
        first = 2 if self._kernel.workspace else 1
        operands = given[first : first + len(self._plan.operands)]
        pairs = zip(operands, self._plan.operands, strict=True)
        return [*given[:first], *[fitted(x, var) for x, var in pairs], *given[first + len(operands) :]]


def fitted(x: Any, var: Var) -> Any:
    """Return an operand as kernels take it: a number, or an array as `packed` gives it."""
    dtype = var.aval.dtype
    return packed(x, dtype) if var.aval.shape else dtype.type(x)


def packed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array without gaps, aligned, in the processor's order of bytes; the same one where it is so."""
    return x if x.flags.carray or (x.flags.c_contiguous and x.flags.aligned) else np.require(x, dtype, ["C", "A"])


class Parallel(Blocks):
    """A kernel for large arrays, which runs on blocks of rows on all cores."""

    def __init__(self, plan: KernelPlan) -> None:
        self._plan = plan
        plain = _Kernel(plan)
        self._kernels: dict[tuple[tuple[int, int], ...], _Kernel] = {(): plain}
        self.source = plain.source
        self.sliced = plan.sliced
        assert plan.length is not None
        count, rows = plan.length
        self._blocks = -(-count // rows)
        self.bytes = max([var.aval.nbytes for var in (*plan.operands, *plan.results)])
        self._shares = min(self._blocks, workers() * _SHARES) if self.bytes >= _THREADED_BYTES else 1

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return the results, in the given memory or in new memory."""
        shares, results = self.begun(operands, given)
        _run(shares, self.bytes)
        return self.ended(results)

    def begun(self, operands: Sequence[Any], given: Sequence[Any]) -> tuple[list[Callable[[], Any]], list[Any]]:
        """Return the work in shares, and the memory of the results."""
        plan = self._plan
        taken = [fitted(x[()] if x.shape == () else x, var) for x, var in zip(operands, plan.operands, strict=True)]
        kernel = self._kernel(self._places(operands, taken, given))
        results: list[Any] = list(given)
        for k in kernel.kept:
            var = plan.results[k]
            shape = var.aval.shape if plan.partial[k] is None else (self._blocks, *plan.shapes[k])
            results[k] = np.empty(shape, var.aval.dtype)
        arguments = [x.reshape(-1) if x.shape else x for x in (*taken, *[results[k] for k in kernel.kept])]
        function = kernel.function
        bounds = [self._blocks * k // self._shares for k in range(self._shares + 1)]

        def work(lo: int, hi: int) -> None:
            room = [np.empty(kernel.workspace, np.uint8)] if kernel.workspace else []
            function(kernel.table, lo, hi, *room, *arguments)

        return [functools.partial(work, lo, hi) for lo, hi in itertools.pairwise(bounds)], results

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

    def _kernel(self, places: tuple[Any, ...]) -> _Kernel:
        found = self._kernels.get(places)
        if found is None:
            kept: list[Any] = []
            for place in places:
                kept += [place] if self._plan.placed((*kept, place)) is not None else []
            found = self._kernels[places] = _Kernel(self._plan, tuple(kept))
        return found


class Several(Blocks):
    """Several independent kernels, run together so that threads are woken once for all of them."""

    def __init__(self, parts: Sequence[Parallel], equations: Sequence[Equation]) -> None:
        self._parts = parts
        self._counts = [(len(equation.operands), len(equation.results)) for equation in equations]
        self.source = "\n\n".join(dict.fromkeys(part.source for part in parts))
        self.sliced = tuple([cut for part in parts for cut in part.sliced])
        self._bytes = sum(part.bytes for part in parts)

    def may_take(self, operand: int, result: int) -> bool:
        """Return whether both belong to the same kernel."""
        of_operands, of_results = [list(itertools.accumulate(counts)) for counts in zip(*self._counts, strict=True)]
        return bisect.bisect(of_operands, operand) == bisect.bisect(of_results, result)

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return the results of all kernels, in the given memory or in new memory."""
        shares: list[Callable[[], Any]] = []
        made: list[list[Any]] = []
        start, first = 0, 0
        for part, (n, m) in zip(self._parts, self._counts, strict=True):
            work, results = part.begun(operands[start : start + n], given[first : first + m])
            shares += work
            made.append(results)
            start, first = start + n, first + m
        _run(shares, self._bytes)
        return [y for part, results in zip(self._parts, made, strict=True) for y in part.ended(results)]


def _run(shares: Sequence[Callable[[], Any]], size: int) -> None:
    """Run all shares, on all cores if that pays."""
    if size < _THREADED_BYTES or len(shares) == 1:
        for share in shares:
            share()
        return
    rest = iter(shares)

    def work() -> None:
        # Each thread takes the next share when it is free: `next` on a list's iterator is atomic.
        while (share := next(rest, None)) is not None:
            share()

    together([work] * min(workers(), len(shares)))


def _together(graph: Graph) -> Graph:
    """Return the same program, with independent kernels for large arrays joined into one equation."""
    pending, equations = deque(graph.equations), []
    while pending:
        first = pending.popleft()
        alike, others = [first], []
        late = set(first.results)
        for equation in pending if isinstance(first.primitive, Parallel) else ():
            fits = isinstance(equation.primitive, Parallel) and late.isdisjoint(equation.operands)
            (alike if fits else others).append(equation)
            late.update(equation.results)
        if len(alike) > 1:
            pending = deque(others)
            several: Any = Several([cast(Any, e.primitive) for e in alike], alike)
            operands = tuple([x for e in alike for x in e.operands])
            first = Equation(several, operands, {}, tuple([y for e in alike for y in e.results]), first.source)
        equations.append(first)
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


def _joined(function: Any, parts: np.ndarray, var: Var) -> Any:
    """Combine the parts that the blocks computed."""
    if parts.size == parts.shape[0]:
        y = function.reduce(parts.reshape(-1), dtype=parts.dtype)
        return np.full(var.aval.shape, y, parts.dtype) if var.aval.shape else y
    return function.reduce(parts, axis=0, dtype=parts.dtype).reshape(var.aval.shape)


def _needed() -> None:
    """Raise an error that tells how to install Numba, if it is missing."""
    try:
        _ = _numba.njit
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        raise ModuleNotFoundError(
            'jit: engine "numba" was asked for, which compiles with Numba; there is no module named '
            f"{error.name!r}. Install it (pip install 'funcgrad[numba]'), or compile without it: "
            'fg.jit(f, engine="numpy").',
            name=error.name,
        ) from None


def _prepared(graph: Graph) -> Graph:
    return _together(looped(graph, Whole, Parallel))


def written_numba(graph: Graph, signature: Signature) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return a graph as a function of the user's arguments, and its source, with kernels in it."""
    _needed()
    return written(graph, signature, _prepared)


def written_paths_numba(
    tree: PathTree, signature: Signature, questions: Questions, rolls_above: int | None
) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return a tree of paths as a function of the user's arguments, and its source, with kernels in it."""
    _needed()
    return written_paths(tree, signature, questions, _prepared, rolls_above)


def compile_numba(graph: Graph) -> Callable[..., list]:
    """Return a function of flat arrays that runs the graph, with kernels in it."""
    _needed()
    return compile_source(graph, _prepared)
