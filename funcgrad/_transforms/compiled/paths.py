"""``fg.jit(f, paths=n)``: a compiled function that branches on numbers. Each path is a straight program.

    call -> the tree of paths knows all answers -> the compiled result
         -> a guard gets a new answer           -> f is staged once more with these numbers, and the tree grows
         -> the tree has n paths already        -> f runs eagerly, with one warning

`SourcePaths` writes the tree as one function with ``if`` statements. `XlaPaths` compiles a program for each path.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import WeakComplex, WeakFloat
from funcgrad._core.bind import Tracer, active_trace, is_value, onlookers
from funcgrad._core.graph.ir import Graph, Literal, trusted_graph
from funcgrad._core.graph.paths import Branch, DifferentProgramError, Path, PathTree, is_guard, without_guards
from funcgrad._core.graph.show import graphs_in
from funcgrad._core.graph.simplify import avals_of, simplify
from funcgrad._core.tracebacks import caller_level, folded, let_out
from funcgrad._engines import NUMPY, engine_of, is_abstract
from funcgrad._engines.engine import Engine
from funcgrad._engines.signature import MISS, Unknown
from funcgrad._ops.program.branch import While
from funcgrad._ops.program.callback import callback_p
from funcgrad._ops.program.guard import answer_to
from funcgrad._transforms.base.arguments import StaticArguments, StaticValues, name_of, owned, taken
from funcgrad._transforms.base.own import call_with_own
from funcgrad._transforms.base.shape_dtype import is_array_argument
from funcgrad._transforms.base.stage import is_stageable, stage_leaves, stage_path
from funcgrad._transforms.compiled.jitted import Jitted, is_lasting
from funcgrad._types import Array, Value
from funcgrad.errors import ConcretizationTypeError, PathsWarning
from funcgrad.numpy.extend import arrays_of, innermost, without_kinds
from funcgrad.tree import TreeDef, flatten, leaves, unflatten
from funcgrad.tree.extend import static_key

# A compiled program may answer a guard in another way than the staged numbers, by rounding. The call then grows the
# tree once more. After this many times it returns the staged numbers.
_ROUNDS = 3

# The stretches of a path that are compiled in order to find the path of some numbers. XLA takes 0.15 s for each, and
# the others, in a loop of guards, are short.
_MOST_COMPILED = 16


_INSTEAD_OF_ERRORS = "Ask the numbers beforehand (if np.all(np.linalg.eigvalsh(k) > 0)) instead of catching an error."


class TypedPaths:
    """The paths for arguments of one structure and of the same types."""

    def __init__(self, in_tree: TreeDef) -> None:
        self.tree = PathTree()
        self.in_tree = in_tree
        # Why no more paths are added, empty while they are; and what to do about it.
        self.closed = self.remedy = ""
        # Whether a path has an effect, such as a print, that must happen once in each call.
        self.has_effects = False
        # Whether a path may run only for its own numbers (`must_wait`).
        self.must_wait = False
        # The compiled form of the tree, by what it is compiled for.
        self.programs: dict[Any, Any] = {}
        # The programs of whole paths, by the path's number and by what they are compiled for.
        self.whole: dict[Any, Any] = {}
        # The number of the path that was added or taken last.
        self.latest = 0

    def find(self, numbers: Sequence[Any], engine: Engine) -> int | Unknown:
        """Return the number of the path that these numbers take. Effects do not happen."""
        # Programs that run while the engine traces a function would become parts of that function.
        most = 0 if engine.is_tracing() else _MOST_COMPILED
        # A stretch is built in 1 ms for NumPy, and in 0.2 s as a kernel of Numba's with the same numbers.
        compile_stretch = engine.compile if engine.tracing is not None else NUMPY.compile
        here = self.tree.root
        answers: list[Hashable] = []
        found: dict[Any, Any] = dict(zip(self.tree.inputs, numbers, strict=True))
        while here is not None and here.guard is not None:
            graph = here.graph.made(_without_effects)
            run = graph.made(compile_stretch) if len(answers) < most else graph.evaluate
            try:
                values = run(*[found[var] for var in graph.inputs])
            except Exception:  # noqa: BLE001  (the function may catch it: the path of these numbers is another one)
                return Unknown(tuple(answers))
            found.update(zip(here.given, values, strict=False))
            answers.append(answer_to(here.asked, values[-1]))
            here = here.ways.get(answers[-1])
        return Unknown(tuple(answers)) if here is None else here.number


def _is_lasting(path: Path) -> bool:
    return all(is_lasting(value) for _, value in path.graph.constants)


def known(x: Value) -> Any:
    """Return the array whose numbers a bare value stands for; ``None`` if they are not known, as in ``jax.jit``."""
    engine = engine_of(x)
    return x if engine is None else engine.known(x)


def _is_unknown(leaf: object) -> bool:
    """Return whether only the type of a leaf is known: numbers beneath our own tracers may have a derivative."""
    return isinstance(leaf, Tracer) or (is_stageable(leaf) and (not is_value(leaf) or known(leaf) is None))


def _without_effects(graph: Graph) -> Graph:
    """Return a graph without its effects. A graph in which an effect's result is read keeps them."""
    kept = [equation for equation in graph.equations if not equation.has_effect]
    removed = {var for equation in graph.equations if equation.has_effect for var in equation.results}
    read = {x for equation in kept for x in equation.operands} | set(graph.outputs)
    if not removed.isdisjoint(read):
        return graph
    return trusted_graph(graph.inputs, graph.constants, kept, graph.outputs, graph.name)


class Bound(NamedTuple):
    """The arguments of one call.

    Args:
        function: the function of the dynamic arguments.
        types: the paths for arguments of these types.
        found: the leaves.
        dynamic: the leaves that are arrays and numbers.
    """

    function: Callable[..., Any]
    types: TypedPaths
    found: list[Any]
    dynamic: list[Any]

    def called(self) -> Any:
        """Return what the function returns for these arguments, without any compilation."""
        args, kwargs = unflatten(self.types.in_tree, self.found)
        return call_with_own(self.function, args, kwargs)


class PathsFunction(Jitted):
    """A compiled function that follows branches; a subclass runs the tree of paths on an engine.

    Args:
        f: the function.
        static: its static arguments.
        engine: the engine.
        donate_argnums: the positions of arguments whose memory the results may use.
        paths: the most paths for arguments of the same types.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        static: StaticArguments,
        engine: Engine,
        donate_argnums: int | Sequence[int],
        paths: int,
    ) -> None:
        super().__init__(f, static, engine, donate_argnums)
        self._paths = paths
        self._types: dict[Any, TypedPaths] = {}
        self._lock = threading.Lock()
        self._warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = active_trace()
        try:
            if onlookers and (y := self._call_looked_at(args, kwargs)) is not MISS:
                return y
            if before is None or before.concrete:
                try:
                    y = self._call_recent(args, kwargs)
                except Exception as error:  # noqa: BLE001  (most are raised again)
                    y = self._after(error, self._bound(self._static.bind(args, kwargs)))
                if type(y) is Unknown:
                    return self._call_anew(args, kwargs, y)
                if y is not MISS:
                    return y
            if any(isinstance(leaf, Tracer) for leaf in leaves((args, kwargs))):
                return self._call_traced(args, kwargs)
            return self._call_anew(args, kwargs)
        except BaseException as error:
            let_out(error, before)
            raise

    def _call_recent(self, args: tuple, kwargs: dict) -> Any:
        """Call the programs that ran last.

        Return `MISS` where they are for other types, and `Unknown` where one lacks the path of these arguments.
        """
        raise NotImplementedError

    def _run(self, bound: Bound, args: tuple, kwargs: dict) -> Any:
        """Call the program of these types. Return `Unknown` where it has no path for the arguments."""
        raise NotImplementedError

    def _call_anew(self, args: tuple, kwargs: dict, y: Value = MISS) -> Any:
        """Call the program for these arguments; stage the path that it lacks.

        ``y`` is `Unknown` if the program ran already. Its effects happened up to the unknown answer.
        """
        bound = self._bound(self._static.bind(args, kwargs))
        types = bound.types
        if self._engine.is_tracing() or any(map(is_abstract, bound.dynamic)):
            # The path becomes a part of the program that is traced. If nobody knows the numbers, a branch is refused.
            return self._call_general(args, kwargs)
        rounds = 0
        while True:
            answers: tuple[Hashable, ...] = ()
            if types.tree.paths:
                y = self._run_or_call(bound, args, kwargs) if y is MISS else y
                if type(y) is not Unknown:
                    return y
                answers, y = y.answers, MISS
            if types.closed:
                self._warn(types)
                if not types.has_effects:
                    return bound.called()
            if active_trace() is not None and not (answers and types.has_effects):
                # The function may close over values that an outer transform traces. Their derivatives count.
                return self._call_general(args, kwargs)
            path, numbers = stage_path(bound.function, bound.found, types.in_tree, answers)
            rounds += 1
            is_known = self._add(types, path)
            if types.closed and not is_known:
                self._warn(types)
            if not is_known or types.has_effects or rounds == _ROUNDS:
                # Effects of this call happened while it was staged.
                return _results(path, numbers, bound.dynamic)

    def _run_or_call(self, bound: Bound, args: tuple, kwargs: dict) -> Any:
        try:
            return self._run(bound, args, kwargs)
        except Exception as error:  # noqa: BLE001  (most are raised again)
            return self._after(error, bound)

    def _after(self, error: Exception, bound: Bound) -> Any:
        """Run the function eagerly after its program failed: it may catch the error, and go on in another way."""
        failed = isinstance(error, np.linalg.LinAlgError | ArithmeticError) or bound.types.must_wait
        if not failed or bound.types.has_effects or self._donated or self.donated_names:
            raise error
        y = bound.called()
        self._warn(bound.types, f"its program raised a {type(error).__name__}, which it catches")
        return y

    def _leads_to(self, types: TypedPaths, answers: Sequence[Hashable]) -> int | None:
        """Return the number of a path that begins with these answers, if one does."""
        with self._lock:
            return types.tree.leads_to(answers)

    def _forget(self, types: TypedPaths) -> None:
        """Forget the programs of a tree that has grown, if they hold the whole tree."""

    def _call_traced(self, args: tuple, kwargs: dict) -> Any:
        """Call the function on traced values. The path that their numbers take is one primitive."""
        trace = active_trace()
        if any(isinstance(innermost(leaf), Tracer) for leaf in leaves((args, kwargs)) if isinstance(leaf, Tracer)):
            return call_with_own(self._function, args, kwargs)
        if trace is not None and not trace.concrete:
            return call_with_own(self._function, args, kwargs)
        return self._call_general(args, kwargs)

    def _bound(self, bound: tuple[Callable[..., Any], tuple, dict, StaticValues | None]) -> Bound:
        """Find the paths for arguments of these types."""
        function, args, kwargs, static = bound
        found, in_tree = flatten((args, kwargs))
        found = [taken(x) for x in found]
        dynamic = [leaf for leaf in found if is_stageable(leaf)]
        arrays = arrays_of(dynamic, is_array_argument)
        others = [static_key(x) for x in found if not is_stageable(x)]
        key = (static and static.key, static_key(in_tree), avals_of(dynamic), arrays, *others)
        types = self._types.get(key)
        if types is None:
            types = self._types.setdefault(key, TypedPaths(in_tree))
        return Bound(function, types, found, dynamic)

    def _stage_bound(
        self,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict,
        static: StaticValues | None,
        is_array: Callable[[Any], bool] = is_array_argument,
    ) -> tuple[Graph, TreeDef, list[Any], TreeDef]:
        """Return the path that these numbers take, as a graph without guards."""
        bound = self._bound((function, args, kwargs, static))
        numbers = [known(innermost(x)) for x in bound.dynamic]
        if any(isinstance(x, Tracer) or not is_value(x) for x in numbers):
            return self._stage_types(bound, args, is_array)
        types, given = bound.types, iter(numbers)
        number = types.find(numbers, self._engine) if types.tree.paths else Unknown(())
        if isinstance(number, Unknown):
            # Effects belong to the call of the graph.
            found = [next(given) if is_stageable(leaf) else leaf for leaf in bound.found]
            path, _ = stage_path(function, found, types.in_tree, number.answers, effects=False)
            self._add(types, path)
        else:
            path = types.tree.paths[number]
        graph = path.graph.made(without_guards)
        return graph, types.in_tree, bound.dynamic, path.tree

    def _stage_types(
        self, bound: Bound, args: tuple, is_array: Callable[[Any], bool]
    ) -> tuple[Graph, TreeDef, list[Any], TreeDef]:
        """Return the graph for arguments of which some are known by their types only. A branch on those is refused."""
        found = [leaf if _is_unknown(leaf) or not is_stageable(leaf) else known(leaf) for leaf in bound.found]
        named, in_tree = (self._function, self._static.others(len(args))), bound.types.in_tree
        try:
            graph, out_tree = stage_leaves(
                bound.function, found, in_tree, _is_unknown, "jit with paths", named, is_array=is_array
            )
        except ConcretizationTypeError as error:
            raise type(error)(
                f"{error} The option paths= of {name_of(self._function)} follows a branch where the numbers of the "
                "call are known. They are not in a function that is staged on types, such as one of jax.jit: "
                "call it outside."
            ) from error
        return simplify(graph), in_tree, [leaf for leaf in found if _is_unknown(leaf)], out_tree

    def _add(self, types: TypedPaths, path: Path) -> bool:
        """Add a path to the tree, or note why the tree is closed. Return whether the tree has the path."""
        with self._lock:
            effects = [equation for equation in path.graph.equations if equation.has_effect]
            types.must_wait = types.must_wait or path.graph.made(must_wait)
            types.has_effects = types.has_effects or not all(map(is_guard, effects))
            if types.closed or not _is_lasting(path):
                return False
            if path.unkept:
                types.closed, types.remedy = path.unkept, _INSTEAD_OF_ERRORS
                return False
            try:
                types.latest = types.tree.add(path)
            except DifferentProgramError as error:
                line = "" if error.line is None else f" at {error.line}"
                types.closed = f"it did something else{line} for the same answers of its branches"
                types.remedy = (
                    "It depends on more than its arguments, such as a global or a function that each call makes again: "
                    "pass what changes as an argument, and make such functions once."
                )
                return False
            self._forget(types)
            if len(types.tree.paths) >= self._paths:
                types.closed = f"it took more than {self._paths} paths, the most that paths={self._paths} allows"
                types.remedy = "Raise paths=, or choose in the arrays with np.where, fg.cond or fg.while_loop."
            return True

    def _warn(self, types: TypedPaths, why: str = "") -> None:
        """Say once that new paths run eagerly, and where the function branches."""
        if self._warned:
            return
        self._warned = True
        branches = types.tree.branches()
        ways = "; ".join(map(_ways, branches[:8]))
        more = f"; and {len(branches) - 8} more lines" if len(branches) > 8 else ""
        where = f"It branches at {ways}{more}. " if ways else ""
        remedy = _INSTEAD_OF_ERRORS if why else types.remedy
        warnings.warn(
            f"jit: a call of {name_of(self._function)} runs eagerly: {why or types.closed}. {where}{remedy}",
            PathsWarning,
            stacklevel=caller_level(),
        )

    def cache_size(self) -> int:
        """Return the number of paths that are kept, for all combinations of types and static values."""
        return sum(len(types.tree.paths) for types in self._types.values())

    def clear_cache(self) -> None:
        super().clear_cache()
        self._types.clear()

    @folded
    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the path of these arguments as a graph with its guards; the numbers of the arguments count."""
        bound = self._bound(self._static.bind(args, kwargs))
        path, _ = stage_path(bound.function, bound.found, bound.types.in_tree, effects=False)
        return path.graph.with_trees(bound.types.in_tree, without_kinds(path.tree))

    def _with_donated(self, numbers: Sequence[int]) -> Jitted:
        return type(self)(self._function, self._static, self._engine, numbers, self._paths)

    def __reduce__(self) -> str | tuple[Any, ...]:
        plain = super().__reduce__()
        return plain if isinstance(plain, str) else (plain[0], (*plain[1], self._paths))


def _ways(branch: Branch) -> str:
    asked = f"{branch.line}: {branch.asked}() went {branch.ways} {'way' if branch.ways == 1 else 'ways'}"
    if branch.guards == 1:
        return asked
    return (
        f"{asked}, at {branch.forks} of {branch.guards} guards"
        if branch.forks
        else f"{asked} at {branch.guards} guards"
    )


def _results(path: Path, numbers: Sequence[Any], given: Sequence[Any]) -> Any:
    """Return the results that staging computed: an argument as it is, all else in memory of its own."""
    if not _is_lasting(path):
        # The function closes over a traced value, of which staging used the number only. Effects have happened.
        numbers = _without_effects(path.graph).evaluate(*given)
    arguments: dict[Any, Any] = dict(zip(path.graph.inputs, given, strict=True))
    constants = [value for _, value in path.graph.constants]
    computed = [y for y, x in zip(numbers, path.graph.outputs, strict=True) if _is_computed(x, arguments)]
    mine = iter(owned(map(_number, computed), [*given, *constants]))
    outputs = path.graph.outputs
    return unflatten(path.tree, [next(mine) if _is_computed(x, arguments) else arguments[x] for x in outputs])


def _is_computed(x: Value, arguments: dict[Any, Any]) -> bool:
    return type(x) is Literal or x not in arguments


def _number(y: Value) -> Array:
    """Return a Python number's result as NumPy's number, as a compiled program does."""
    if type(y) is WeakFloat:
        return np.float64(y)
    return np.complex128(y) if type(y) is WeakComplex else y


def must_wait(graph: Graph) -> bool:
    """Return whether a program may run only for the numbers of its path: it has effects, or might not end."""
    for equation in graph.equations:
        if (equation.has_effect and not is_guard(equation)) or equation.primitive is callback_p:
            return True
        if any(isinstance(param, While) for param in equation.params.values()):
            return True
        if any(map(must_wait, graphs_in(equation.params.values()))):
            return True
    return False
