"""The common part of the compiled functions of all engines: staging, and the call under tracers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.collection import rare_collection
from funcgrad._core.graph.ir import Graph, Operand
from funcgrad._core.graph.simplify import avals_of, drop_dead, lift_tracers, simplify
from funcgrad._core.lazy import LazyModule
from funcgrad._core.trace.checked import checks
from funcgrad._core.tracebacks import folded
from funcgrad._engines import engine_named, is_abstract
from funcgrad._engines.engine import Engine
from funcgrad._engines.signature import MISS
from funcgrad._ops.program.call import call
from funcgrad._transforms.base.arguments import StaticArguments, StaticValues, checked_argnums, name_of, owned, taken
from funcgrad._transforms.base.own import call_with_own
from funcgrad._transforms.base.shape_dtype import is_array_argument
from funcgrad._transforms.base.stage import is_stageable, stage_leaves
from funcgrad._transforms.compiled import log
from funcgrad._transforms.compiled.size import refuse_if_too_long
from funcgrad._transforms.debug import checked_call
from funcgrad._transforms.tap import open_taps
from funcgrad.numpy.extend import arrays_of, without_kinds
from funcgrad.tree import TreeDef, flatten, leaves, unflatten
from funcgrad.tree.extend import static_key

_late: Any = LazyModule("funcgrad._ops.index.late")
# In a program of fewer equations, large sums of pieces cost little.
_SHORT = 64


class Jitted:
    """Base class of compiled functions: staging, and the call under tracers."""

    # Whether this function was compiled for taps.
    for_taps = False
    # Whether stretches that repeat become loops (`jit`'s option).
    roll = True
    # The names of donated arguments, for calls that pass them by name.
    donated_names: tuple[str, ...] = ()
    # Whether a program depends on which arguments without axes are arrays: it writes to one, and numbers never change.
    _tells_arrays = False
    # The time at which the last staging began, until its program is compiled.
    _began: float | None = None

    def __init__(
        self, f: Callable[..., Any], static: StaticArguments, engine: Engine, donate_argnums: int | Sequence[int]
    ) -> None:
        numbers = checked_argnums("jit", f, donate_argnums, "donate_argnums")
        self._donated = (numbers,) if isinstance(numbers, int) else numbers
        static.refuse_donated(self._donated)
        self._function = f
        self._static = static
        self._engine = engine
        self._staged: dict[Any, tuple[Graph, TreeDef]] = {}
        # The call that was staged last; the log says how the next one differs from it.
        self._newest: log.DescribedTypes | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _call_looked_at(self, args: tuple, kwargs: dict) -> Any:
        """Call the function under checks or taps; return `MISS` if neither applies to this call.

        Checks run traced values through the function operation by operation, and donate nothing, because arguments may
        be read again. For taps the function is compiled again, with its marks.
        """
        if checks.get() is not None:
            if any(isinstance(leaf, Tracer) for leaf in leaves((args, kwargs))):
                return call_with_own(self._function, args, kwargs)
            return checked_call(self._keeping, self._function, self._stage, args, kwargs)
        if not open_taps or self.for_taps:
            return MISS
        compiled = open_taps[-1].compiled
        marked = compiled.get(self)
        if marked is None:
            marked = compiled[self] = self._with_donated(self._donated)
            marked.for_taps = True
        return marked(*args, **kwargs)

    @functools.cached_property
    def _keeping(self) -> Jitted:
        """Return the same function without donation."""
        return self._with_donated(()) if self._donated else self

    def _with_donated(self, numbers: Sequence[int]) -> Jitted:
        return type(self)(self._function, self._static, self._engine, numbers)

    def __copy__(self) -> Jitted:
        """Return the function itself, which is its own copy."""
        return self

    def __deepcopy__(self, memo: dict) -> Jitted:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name, as a function, if the module has it under this name; else by the function it compiles."""
        name = getattr(self, "__qualname__", "")
        if getattr(sys.modules.get(getattr(self, "__module__", "")), name, None) is self:
            return name
        static = self._static
        return _again, (type(self), self._function, static.numbers, static.names, self._engine.name, self._donated)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {name_of(self._function)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self.__call__, instance)

    def cache_size(self) -> int:
        """Return the number of programs that are kept: one for each combination of types and static values.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> f = fg.jit(np.sin, engine="numpy")
            >>> f(1.0), f(np.ones(2)), f(np.zeros(2))
            (np.float64(0.8414709848078965), array([0.84147098, 0.84147098]), array([0., 0.]))
            >>> f.cache_size()
            2
            >>> f.clear_cache()
            >>> f.cache_size()
            0
        """
        return len(self._staged)

    def clear_cache(self) -> None:
        """Forget all programs; the next call stages and compiles again."""
        self._staged.clear()
        self._newest = None

    def _log_compiled(self) -> None:
        """Say how long the program took since its staging began."""
        # Another thread may set it to None in between.
        began, self._began = self._began, None
        if began is not None:
            log.compiled(self._function, self._engine.name, perf_counter() - began)

    @folded
    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the simplified graph for arguments of these types."""
        graph, in_tree, _, out_tree = self._stage(args, kwargs)
        self._began = None
        return graph.with_trees(in_tree, without_kinds(out_tree))

    def _stage(self, args: tuple, kwargs: dict) -> tuple[Graph, TreeDef, list[Any], TreeDef]:
        """Return the graph for these arguments, staged if it is new, with the dynamic leaves."""
        return self._stage_bound(*self._static.bind(args, kwargs))

    def _stage_bound(
        self,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict,
        static: StaticValues | None,
        is_array: Callable[[Any], bool] = is_array_argument,
    ) -> tuple[Graph, TreeDef, list[Any], TreeDef]:
        found, in_tree = flatten((args, kwargs))
        found = [taken(x) for x in found]
        dynamic = [leaf for leaf in found if is_stageable(leaf)]
        others = [static_key(leaf) for leaf in found if not is_stageable(leaf)]
        structure, fixed = static_key(in_tree), static and static.key
        avals = avals_of(dynamic)

        def asking() -> tuple[int, ...]:
            return arrays_of(dynamic, is_array) if self._tells_arrays else ()

        cached = self._staged.get((fixed, structure, avals, asking(), *others))
        if cached is None:
            began = perf_counter()
            positions = self._static.others(len(args) + (static.positional if static else 0))
            named = self._function, positions

            def noted(leaf: Any) -> bool:
                self._tells_arrays = True
                return is_array(leaf)

            # Until the long program is replaced by a short one, nothing is gained by a search for cycles.
            with rare_collection():
                above = self._engine.rolls_above if self.roll else None
                graph, out_tree = stage_leaves(
                    function, found, in_tree, is_stageable, "jit", named, rolls_above=above, is_array=noted
                )
                if above is not None and len(graph.equations) > above:
                    # Equations that nothing reads would be rolled too.
                    graph = drop_dead(graph)
                    graph = graph.roll() if len(graph.equations) > above else graph
                refuse_if_too_long(graph, name_of(self._function), self._engine)
                graph = simplify(graph)
                cached = (_late.with_late_sums(graph) if len(graph.equations) > _SHORT else graph), out_tree
            self._began = began
            # The function may have asked for arrays without axes while it was staged.
            arrays = asking()
            described = log.DescribedTypes(static, in_tree, avals, arrays)
            log.staged(
                self._function, positions, described, self._newest, len(cached[0].equations), perf_counter() - began
            )
            if all(is_lasting(value) for _, value in graph.constants):
                self._staged[fixed, structure, avals, arrays, *others] = cached
                self._newest = described
        return cached[0], in_tree, dynamic, cached[1]

    def _call_general(self, args: tuple, kwargs: dict) -> Any:
        """Apply the whole function as one call primitive; inside a staged function, apply its equations."""
        trace = active_trace()
        if trace is not None and not trace.concrete:
            return call_with_own(self._function, args, kwargs)
        graph, _, dynamic, out_tree = self._stage(args, kwargs)
        graph, captured = lift_tracers(graph)
        operands = [*dynamic, *captured]
        results = call(graph, operands, self._engine.compile)
        given: dict[Operand, Any] = dict(zip(graph.inputs, operands, strict=True))
        constants = [value for _, value in graph.constants]
        computed = [y for y, x in zip(results, graph.outputs, strict=True) if x not in given]
        mine = iter(owned(computed, [*operands, *constants]))
        return unflatten(out_tree, [given[x] if x in given else next(mine) for x in graph.outputs])


def is_lasting(value: Any) -> bool:
    """Return whether a constant of a graph outlives a transform, unlike tracers of ours or JAX's."""
    return not isinstance(value, Tracer) and not is_abstract(value)


def _again(kind: type[Jitted], f: Callable[..., Any], numbers: Any, names: Any, engine: str, *rest: Any) -> Jitted:
    """Restore a pickled compiled function. Its programs are compiled again."""
    made = kind(f, StaticArguments(f, numbers, names), engine_named(engine), *rest)
    functools.update_wrapper(made, f, updated=())
    return made
