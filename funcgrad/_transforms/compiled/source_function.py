"""``fg.jit`` on engines that generate source code: one generated function for each signature, including its guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import active_trace, onlookers
from funcgrad._core.collection import rare_collection
from funcgrad._core.graph.ir import Graph
from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import folded, let_out
from funcgrad._engines.engine import Engine
from funcgrad._engines.signature import MISS, Signature, is_plain
from funcgrad._transforms.base.arguments import StaticArguments, argument_name, name_of, taken
from funcgrad._transforms.base.stage import is_stageable
from funcgrad._transforms.compiled.jitted import Jitted, is_lasting
from funcgrad._types import Value
from funcgrad.tree import flatten_with_path, key_path_str, leaves
from funcgrad.tree import map as map_tree
from funcgrad.tree.extend import static_key

# The number of programs that are tried before a lookup by the arguments: a guard refuses in its first lines.
_TRIED = 8
_splitting: Any = LazyModule("funcgrad._ops.rolling.split")

Program = Callable[[tuple, dict], Any]


class SourceFunction(Jitted):
    """A function whose program the engine writes as source."""

    def __init__(
        self, f: Callable[..., Any], static: StaticArguments, engine: Engine, donate_argnums: int | Sequence[int]
    ) -> None:
        super().__init__(f, static, engine, donate_argnums)
        # The programs by graph, and by the classes of leaves and static values, which guards check.
        self._programs: dict[Any, Program] = {}
        # The programs that ran last.
        self._recent: tuple[Program, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = active_trace()
        try:
            if onlookers and (y := self._call_looked_at(args, kwargs)) is not MISS:
                return y
            if before is None or before.concrete:
                for program in self._recent:
                    y = program(args, kwargs)
                    if y is not MISS:
                        return y
                y = MISS if self._engine.written is None else self._call_anew(args, kwargs, self._engine.written)
                if y is not MISS:
                    return y
            return self._call_general(args, kwargs)
        except BaseException as error:
            let_out(error, before)
            raise

    def _call_anew(self, args: tuple, kwargs: dict, written: Callable[..., tuple[Program, str]]) -> Any:
        """Call the program for these arguments, made if it is new; return a miss if they are not bare."""
        found = leaves(self._static.bind(args, kwargs)[1:3])
        if not all((is_plain(leaf) and taken(leaf) is leaf) or not is_stageable(leaf) for leaf in found):
            return MISS
        graph, signature = self._signed(args, kwargs)
        if not all(is_lasting(value) for _, value in graph.constants):
            return MISS
        _, _, _, static = self._static.bind(args, kwargs)
        # Equal graphs may belong to arguments of other structures and static values, which a program checks.
        kinds = [type(x) if is_stageable(x) else static_key(x) for x in found]
        key = (graph, static and static.key, static_key(signature.in_tree), *kinds)
        program = self._programs.get(key)
        is_new = program is None
        if program is None:
            # The code of a long program is written from millions of small objects. Searches for cycles among them took
            # a third of the time.
            with rare_collection():
                program = self._programs[key] = written(self._split(graph), signature)[0]
        self._recent = (program, *[each for each in self._recent if each is not program])[:_TRIED]
        y = program(args, kwargs)
        if is_new:
            # The first run compiles kernels.
            self._log_compiled()
        return y

    def _split(self, graph: Graph) -> Graph:
        """Return the program with smaller loops, if the engine gains by them."""
        return _splitting.split_loops(graph) if self.roll and self._engine.splits_loops else graph

    def _signed(self, args: tuple, kwargs: dict) -> tuple[Graph, Signature]:
        """Return the graph for these arguments, and the signature of all calls that it serves."""
        function, given, named, static = self._static.bind(args, kwargs)
        graph, in_tree, _, out_tree = self._stage_bound(function, given, named, static)
        fixed = self._static.numbers, self._static.names
        numbers = self._donated, self.donated_names
        donated, names = donations(self._function, self._static, numbers, args, (given, named))
        found, in_order = leaves((given, named)), self._static.sees_order
        return graph, Signature(args, kwargs, fixed, in_order, in_tree, found, out_tree, donated, names)

    def clear_cache(self) -> None:
        super().clear_cache()
        self._recent = ()
        self._programs.clear()

    @folded
    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code that runs for arguments of these types.

        The guard, the program, and the construction of the result.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> square = fg.jit(lambda x: x * x, engine="numpy")
            >>> "multiply(x0, x0)" in square.source(np.ones(3))
            True
        """
        args, kwargs = map_tree(_as_array, (args, kwargs))
        if self._engine.written is None:
            raise ValueError(
                f"jit: source of {name_of(self._function)} was asked. The engine {self._engine.name!r} writes none; "
                'needed an engine that writes code. Use engine="numpy", or print graph(*args) instead.'
            )
        graph, signature = self._signed(args, kwargs)
        return self._engine.written(self._split(graph), signature)[1]


def donations(
    f: Callable[..., Any],
    static: StaticArguments,
    asked: tuple[Sequence[int], Sequence[str]],
    args: tuple,
    dynamic: tuple[tuple, dict],
) -> tuple[list[int], list[str]]:
    """Return the numbers of the donated leaves and the names of all leaves; none where nothing is donated.

    Args:
        f: the function.
        static: its static arguments.
        asked: the positions and the names of the donated arguments.
        args: the positional arguments.
        dynamic: the arguments that are not static.
    """
    given, named = dynamic
    places = static.dynamic(asked[0], len(args))
    if not places and not set(asked[1]) & set(named):
        return [], []
    positions = static.others(len(args))
    donated: list[int] = []
    names: list[str] = []
    for k, each in enumerate(given):
        paths = [key_path_str(path) for path, _ in flatten_with_path(each)[0]]
        donated += range(len(names), len(names) + len(paths)) if k in places else []
        name = argument_name(f, positions[k])
        names += [f"{name} at {path}" if path else name for path in paths]
    for path, _ in flatten_with_path(named)[0]:
        donated += [len(names)] if path.path[0] in asked[1] else []
        names.append(f"argument {key_path_str(path)} of {name_of(f)}")
    return donated, names


def _as_array(x: Value) -> Any:
    """Return an object with shape and dtype as an array of this type."""
    if is_plain(x) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)
