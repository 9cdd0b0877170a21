"""The NumPy engine's programs with parts of them compiled by Numba.

    graph --kernels/plan.py--> kernels and other equations --equations.py--> steps (nodes.py) --text.py--> loops
          --parallel.py--> compiled by Numba; memory and inner loops by their addresses (machine.py, ufuncs.py)

Equations without a kernel form are written as for NumPy. A kernel takes contiguous arrays in native byte order; other
arrays are copied first.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand, trusted_graph
from funcgrad._core.lazy import LazyModule
from funcgrad._engines.signature import Signature
from funcgrad._engines.source.blocks import CombinedPrimitive
from funcgrad._engines.source.call import written
from funcgrad._engines.source.kernels.expand import prepared
from funcgrad._engines.source.kernels.instructions.plan import with_instructions
from funcgrad._engines.source.kernels.kernel import KernelPlan
from funcgrad._engines.source.kernels.parallel import Kernel, Parallel, Several, fitted, packed
from funcgrad._engines.source.kernels.plan import looped
from funcgrad._engines.source.numpy import compile_source
from funcgrad._engines.source.paths import written_paths

if TYPE_CHECKING:
    from funcgrad._core.graph.paths import PathTree
    from funcgrad._engines.engine import Questions
    from funcgrad._engines.source.writer import Writer

_numba: Any = LazyModule("numba")


class Whole(CombinedPrimitive):
    """A kernel for small arrays. One line of the program calls it."""

    def __init__(self, plan: KernelPlan) -> None:
        self._plan = plan
        self._kernel = Kernel(plan)
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
        arguments += [self._operand(w, x) for x in equation.operands]
        for var in equation.results:
            shape, dtype = var.aval.shape, w.value("dtype", var.aval.dtype)
            w.buffers.made(var, own=shape != ())
            new = w.new(var)
            arguments.append(f"{new}_" if shape == () else new)
            lines.append(f"{arguments[-1]} = {w.numpy(np.empty)}({shape or (1,)}, {dtype})")
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
        made = ", ".join([f"{name}[...]" for name in arguments[-len(equation.results) :]])
        return [
            *lines,
            f"try: bad_ = {call}",
            f"except TypeError: bad_ = {again}",
            f"if bad_: [{made}] = {refused}({operands})",
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
            constant = dict(w.graph.constants).get(cast(Any, x))
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

    def _refused(self, *operands: Any) -> list[Any]:
        """Return the results of the NumPy operations, or raise as they do: an index out of bounds, a singular matrix.

        A matrix that is nearly singular can have a factor for LAPACK and none for the kernel, which rounds otherwise.
        """
        return self._plan.members.evaluate(*operands)

    def _fitted(self, *given: Any) -> list[Any]:
        """Return the same arguments in the form that the kernel takes."""
        first = 2 if self._kernel.workspace else 1
        operands = given[first : first + len(self._plan.operands)]
        pairs = zip(operands, self._plan.operands, strict=True)
        return [*given[:first], *[fitted(x, var) for x, var in pairs], *given[first + len(operands) :]]


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
    return _together(looped(with_instructions(prepared(graph), Whole), Whole, Parallel))


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
