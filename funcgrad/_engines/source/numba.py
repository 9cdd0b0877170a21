"""The engine ``"numba"``: the NumPy engine's programs with parts of them compiled to machine code.

    graph --kernels/plan.py--> kernels and other equations --equations.py--> steps (nodes.py) --text.py--> loops
          --compiler/--> machine code, run by parallel.py; inner loops by their addresses (ufuncs.py)

Equations without a kernel form are written as for NumPy. A kernel takes contiguous arrays in native byte order; other
arrays are copied first. LLVM compiles the kernels. The package llvmlite, which is a part of Numba, contains it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand, trusted_graph
from funcgrad._core.lazy import LazyModule
from funcgrad._engines.signature import Signature, Unknown
from funcgrad._engines.source.blocks import CombinedPrimitive
from funcgrad._engines.source.call import written
from funcgrad._engines.source.kernels.expand import prepared
from funcgrad._engines.source.kernels.instructions.plan import with_instructions
from funcgrad._engines.source.kernels.kernel import KernelPlan
from funcgrad._engines.source.kernels.nodes import guard_that_ended
from funcgrad._engines.source.kernels.parallel import Kernel, Parallel, Several, fitted, packed
from funcgrad._engines.source.kernels.plan import looped, whole_plan
from funcgrad._engines.source.numpy import compile_source
from funcgrad._engines.source.paths import written_paths

if TYPE_CHECKING:
    from funcgrad._core.graph.paths import PathTree
    from funcgrad._engines.engine import Questions
    from funcgrad._engines.source.writer import Writer

_llvm: Any = LazyModule("llvmlite.binding")

# A path of more operations on numbers than this is not one kernel: a call with other numbers computes a part of it in
# vain. They take 10 us, ten times what a call of a kernel costs.
_LOST = 20_000
# A kernel of more equations takes half a second to build, and paths would not share what they have in common.
_LONG = 160
# Kernels run earlier to run together. The most bytes of results that wait for their readers meanwhile.
_MOST_HELD = 1 << 27


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
        ended = self._ended(w, equation, arguments[len(arguments) - len(equation.results) :])
        return [
            *lines,
            f"try: bad_ = {call}",
            f"except TypeError: bad_ = {again}",
            f"if bad_: {ended}",
            *numbers,
        ]

    def _ended(self, w: Writer, equation: Equation, made: Sequence[str]) -> str:
        """Return the statement that runs if the kernel ended early; ``made`` are the names of the results' arrays."""
        refused = w.value("refused", self._refused)
        operands = ", ".join([w.name(x) for x in equation.operands])
        return f"[{', '.join([f'{name}[...]' for name in made])}] = {refused}({operands})"

    def _operand(self, w: Writer, x: Operand) -> str:
        """Return the expression for an operand as the kernel takes it.

        A kernel refuses an array with gaps by an exception, and each argument is then looked at in Python. So the code
        asks the array's flags first (40 ns). Only results of kernels are known to lie without gaps.
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
            # The argument may be an array without axes, or Python's bool, which has no index.
            is_bool = x.aval.dtype == np.bool_
            return name if x.aval.weak else f"{w.numpy(np.bool_)}({name})" if is_bool else f"{name}[()]"
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


class PathKernel(Whole):
    """The kernel of a path with its guards. Its program returns `Unknown` where a guard is answered in another way.

    Args:
        plan: the kernel.
        answers: the answers of the guards.
    """

    def __init__(self, plan: KernelPlan, answers: Sequence[Hashable]) -> None:
        super().__init__(plan)
        self._answers = tuple(answers)
        # The results of guards on bools, by the number that the kernel returned.
        self._unknown: dict[int, Unknown] = {}

    def _ended(self, w: Writer, equation: Equation, made: Sequence[str]) -> str:
        del equation, made
        return f"return {w.value('other', self._other)}(bad_)"

    def _other(self, returned: int) -> Unknown:
        """Return the answers up to the one that differs, as far as the kernel knows them."""
        found = self._unknown.get(returned)
        return self._unknown_after(returned) if found is None else found

    def _unknown_after(self, returned: int) -> Unknown:
        if returned > 0:
            # An index out of bounds, or a singular matrix.
            return Unknown(())
        number, found = guard_that_ended(returned)
        before, answer = self._answers[:number], self._answers[number]
        if type(answer) is bool:
            self._unknown[returned] = unknown = Unknown((*before, not answer))
            return unknown
        return Unknown(before if found is None else (*before, found))


def _together(graph: Graph) -> Graph:
    """Return the same program, with independent kernels for large arrays joined into one equation."""
    pending, equations = deque(graph.equations), []
    outputs = set(graph.outputs)
    while pending:
        first = pending.popleft()
        alike, others = [first], []
        late, held = set(first.results), 0
        for equation in pending if isinstance(first.primitive, Parallel) else ():
            made = sum(y.aval.nbytes for y in equation.results if y not in outputs)
            fits = isinstance(equation.primitive, Parallel) and late.isdisjoint(equation.operands)
            fits = fits and held + made <= _MOST_HELD
            held += made if fits else 0
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
    """Raise an error that tells how to install LLVM, if it is missing."""
    try:
        _ = _llvm.llvm_version_info
    except ModuleNotFoundError as error:
        if error.name not in ("llvmlite", "llvmlite.binding"):
            raise
        raise ModuleNotFoundError(
            'jit: engine "numba" was asked for, which compiles with LLVM; there is no module named '
            f"{error.name!r}. Install it (pip install llvmlite), or compile without it: "
            'fg.jit(f, engine="numpy").',
            name=error.name,
        ) from None


def _prepared(graph: Graph) -> Graph:
    return _together(looped(with_instructions(prepared(graph), Whole), Whole, Parallel))


def written_numba(graph: Graph, signature: Signature) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return a graph as a function of the user's arguments, and its source, with kernels in it."""
    _needed()
    return written(graph, signature, _prepared)


def written_path_numba(
    graph: Graph, signature: Signature, answers: Sequence[Hashable]
) -> tuple[Callable[[tuple, dict], Any], str] | None:
    """Return a path as a function that is one kernel, and its source; ``None`` if it is no short path of small arrays.

    The function returns `Unknown` where a guard is answered in another way than in ``answers``.
    """
    _needed()
    flops = sum(equation.flops for equation in graph.equations)
    guards = sum(equation.primitive.guards for equation in graph.equations)
    if flops > _LOST or len(graph.equations) > _LONG or guards != len(answers):
        return None
    plan = whole_plan(graph)
    if plan is None:
        return None
    kernel = Equation(cast(Any, PathKernel(plan, answers)), plan.operands, {}, plan.results, None)
    return written(
        trusted_graph(graph.inputs, graph.constants, [kernel], graph.outputs, graph.name),
        signature,
        lambda graph: graph,
    )


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
