"""``fg.jit(f, paths=n)`` on engines that write source.

The tree of paths is one generated function. Where the engine compiles a short path as a whole, as Numba does, each such
path is a function of its own, which returns `Unknown` where a guard is answered otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.graph.path_rounds import rounds_from
from funcgrad._core.graph.paths import Path
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.tracebacks import folded
from funcgrad._engines.signature import MISS, Signature, Unknown, is_plain
from funcgrad._ops.program.guard import ASKED
from funcgrad._transforms.base.arguments import taken
from funcgrad._transforms.base.stage import is_stageable
from funcgrad._transforms.compiled.paths import Bound, PathsFunction, TypedPaths
from funcgrad._transforms.compiled.source_function import donations
from funcgrad.tree import TreeDef

# Programs are tried in turn before the arguments are looked up: a guard that refuses does so at its first lines.
_TRIED = 8

Program = Callable[[tuple, dict], Any]
Key = tuple[type, ...]


class Recent(NamedTuple):
    """A program that ran lately.

    Args:
        program: the program, of the whole tree or of one path.
        types: its paths.
        key: the classes of the arguments.
        of_tree: whether it is the program of the whole tree.
        others: the program that ran instead, by the answers that this one returned. It is only a guess: each program
            checks all of its guards.
    """

    program: Program
    types: TypedPaths
    key: Key
    of_tree: bool
    others: dict[tuple[Hashable, ...], Recent]


class SourcePaths(PathsFunction):
    """A function of which the engine writes the paths."""

    # The programs that ran last; at most one for arguments of the same types and classes.
    _recent: tuple[Recent, ...] = ()

    def _call_recent(self, args: tuple, kwargs: dict) -> Any:
        for recent in self._recent:
            y = recent.program(args, kwargs)
            if y is not MISS:
                return self._other_path(recent, y, args, kwargs) if type(y) is Unknown else y
        return MISS

    def clear_cache(self) -> None:
        super().clear_cache()
        self._recent = ()

    def _forget(self, types: TypedPaths) -> None:
        self._recent = tuple([each for each in self._recent if each.types is not types or not each.of_tree])
        types.programs = {}

    def _run(self, bound: Bound, args: tuple, kwargs: dict) -> Any:
        if self._engine.written_paths is None or not all(
            (is_plain(leaf) and taken(leaf) is leaf) or not is_stageable(leaf) for leaf in bound.found
        ):
            return self._call_general(args, kwargs)
        y = self._run_known(bound.types, self._key(bound.found, args, kwargs), bound.types.latest, args, kwargs)
        return self._call_general(args, kwargs) if y is MISS else y

    def _other_path(self, recent: Recent, unknown: Unknown, args: tuple, kwargs: dict) -> Any:
        """Run the path that has these answers; return `Unknown` if there is none."""
        other = recent.others.get(unknown.answers)
        if other is not None:
            y = other.program(args, kwargs)
            if type(y) is not Unknown:
                self._recent = tuple([other if each is recent else each for each in self._recent])
                return y
        number = None if recent.of_tree else self._leads_to(recent.types, unknown.answers)
        if number is None:
            return unknown
        y = self._run_known(recent.types, recent.key, number, args, kwargs)
        newest = self._recent[0] if self._recent else recent
        if newest is not recent and newest.types is recent.types and newest.key == recent.key:
            recent.others[unknown.answers] = newest
        return y

    def _run_known(self, types: TypedPaths, key: Key, number: int, args: tuple, kwargs: dict) -> Any:
        """Run the program of one path, then those of the paths that its answers lead to; else that of the tree."""
        tried: set[int] = set()
        while number not in tried:
            tried.add(number)
            path, _ = self._path(types, key, number, args, kwargs)
            if path is None:
                break
            y = path.program(args, kwargs)
            if type(y) is not Unknown:
                types.latest = number
                self._note(path)
                return y
            found = self._leads_to(types, y.answers)
            if found is None:
                return y
            number = found
        program, _ = self._tree(types, key, args, kwargs)
        if len(tried) == 1 and types.whole[number, key][0] is None:
            self._note(Recent(program, types, key, True, {}))
        return program(args, kwargs)

    def _note(self, recent: Recent) -> None:
        """Make a program the first one that is tried."""
        others = [x for x in self._recent if x.types is not recent.types or x.key != recent.key]
        self._recent = (recent, *others[: _TRIED - 1])

    def _key(self, found: Sequence[Any], args: tuple, kwargs: dict) -> Key:
        """Return the classes of the arguments and of the static values."""
        static = self._static.bind(args, kwargs)[3]
        values = [] if static is None else [value for part in static for _, value in part]
        return (*map(type, found), *map(type, values))

    def _path(self, types: TypedPaths, key: Key, number: int, args: tuple, kwargs: dict) -> tuple[Recent | None, str]:
        """Return the program of one path, and its source; ``None`` if the tree is to run."""
        made = types.whole.get((number, key))
        if made is None:
            program, source = self._written_path(types, number, args, kwargs) or (None, "")
            path = None if program is None else Recent(program, types, key, False, {})
            made = types.whole.setdefault((number, key), (path, source))
        return made

    def _written_path(self, types: TypedPaths, number: int, args: tuple, kwargs: dict) -> tuple[Program, str] | None:
        write = self._engine.written_path
        if write is None or types.must_wait or self._donated or self.donated_names:
            # The tree writes to donated memory after the last guard.
            return None
        path = types.tree.paths[number]
        graph = path.graph.made(simplify)
        if self.roll and len(graph.equations) > self._engine.rolls_above and self._has_rounds(types, path):
            # Paths that differ in the number of rounds share a loop in the tree.
            return None
        return write(graph, self._signature(types, path.tree, args, kwargs), path.answers)

    def _has_rounds(self, types: TypedPaths, path: Path) -> bool:
        """Return whether a path goes through a chain of stretches that do the same."""
        with self._lock:
            here = types.tree.root
            for answer in path.answers:
                if here is None or rounds_from(here) is not None:
                    return True
                here = here.ways.get(answer)
        return False

    def _tree(self, types: TypedPaths, key: Key, args: tuple, kwargs: dict) -> tuple[Program, str]:
        """Return the program of all paths, and its source."""
        with self._lock:
            made = types.programs.get(key)
            if made is None:
                signature = self._signature(types, types.tree.paths[0].tree, args, kwargs)
                assert self._engine.written_paths is not None
                above = self._engine.rolls_above if self.roll else None
                made = types.programs[key] = self._engine.written_paths(types.tree, signature, ASKED, above)
        return made

    def _signature(self, types: TypedPaths, tree: TreeDef, args: tuple, kwargs: dict) -> Signature:
        bound = self._bound(self._static.bind(args, kwargs))
        _, given, named, _ = self._static.bind(args, kwargs)
        numbers = self._donated, self.donated_names
        donated, names = donations(self._function, self._static, numbers, args, (given, named))
        fixed = self._static.numbers, self._static.names
        return Signature(args, kwargs, fixed, types.in_tree, bound.found, tree, donated, names)

    @folded
    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code that runs for arguments of these types, with all paths that were taken until now."""
        bound = self._bound(self._static.bind(args, kwargs))
        # The path of these arguments is one of them.
        self._stage_bound(*self._static.bind(args, kwargs))
        types, key = bound.types, self._key(bound.found, args, kwargs)
        parts = [self._path(types, key, number, args, kwargs)[1] for number in range(len(types.tree.paths))]
        return "\n\n".join(parts if all(parts) else [*filter(None, parts), self._tree(types, key, args, kwargs)[1]])
