"""``fg.jit(f, paths=n)`` on engines that write source: the tree of paths is one generated function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.tracebacks import folded
from funcgrad._engines.signature import MISS, Signature, is_plain
from funcgrad._ops.program.guard import ASKED
from funcgrad._transforms.base.arguments import taken
from funcgrad._transforms.base.stage import is_stageable
from funcgrad._transforms.compiled.paths import Bound, PathsFunction, TypedPaths
from funcgrad._transforms.compiled.source_function import donations

# Programs are tried in turn before the arguments are looked up: a guard that refuses does so at its first lines.
_TRIED = 8

Program = Callable[[tuple, dict], Any]


class SourcePaths(PathsFunction):
    """A function of which the engine writes the paths."""

    # The programs that ran last.
    _recent: tuple[Program, ...] = ()

    def _call_recent(self, args: tuple, kwargs: dict) -> Any:
        for program in self._recent:
            y = program(args, kwargs)
            if y is not MISS:
                return y
        return MISS

    def clear_cache(self) -> None:
        super().clear_cache()
        self._recent = ()

    def _forget(self, types: TypedPaths) -> None:
        old = [program for program, _ in types.programs.values()]
        self._recent = tuple([program for program in self._recent if program not in old])
        types.programs = {}

    def _run(self, bound: Bound, args: tuple, kwargs: dict) -> Any:
        if self._engine.written_paths is None or not all(
            (is_plain(leaf) and taken(leaf) is leaf) or not is_stageable(leaf) for leaf in bound.found
        ):
            return self._call_general(args, kwargs)
        program, _ = self._program(bound.types, bound.found, args, kwargs)
        self._recent = (program, *[each for each in self._recent if each is not program])[:_TRIED]
        y = program(args, kwargs)
        return self._call_general(args, kwargs) if y is MISS else y

    def _program(self, types: TypedPaths, found: Sequence[Any], args: tuple, kwargs: dict) -> tuple[Program, str]:
        """Return the program for these arguments, and its source."""
        _, given, named, static = self._static.bind(args, kwargs)
        values = [] if static is None else [value for part in static for _, value in part]
        key = (*map(type, found), *map(type, values))
        with self._lock:
            made = types.programs.get(key)
            if made is None:
                numbers = self._donated, self.donated_names
                donated, names = donations(self._function, self._static, numbers, args, (given, named))
                fixed = self._static.numbers, self._static.names
                tree = types.tree.paths[0].tree
                signature = Signature(args, kwargs, fixed, types.in_tree, found, tree, donated, names)
                assert self._engine.written_paths is not None
                above = self._engine.rolls_above if self.roll else None
                made = types.programs[key] = self._engine.written_paths(types.tree, signature, ASKED, above)
        return made

    @folded
    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code that runs for arguments of these types, with all paths that were taken until now."""
        bound = self._bound(self._static.bind(args, kwargs))
        # The path of these arguments is one of them.
        self._stage_bound(*self._static.bind(args, kwargs))
        return self._program(bound.types, bound.found, args, kwargs)[1]
