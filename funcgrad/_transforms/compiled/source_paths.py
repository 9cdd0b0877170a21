"""``fg.jit(f, paths=n)`` on engines that write source.

The tree of paths is one generated function. Where the engine compiles a short path as a whole, as Numba does, each such
path is a function of its own, which returns `Unknown` where a guard is answered otherwise.

Writing the tree takes time in proportion to its paths, so a new path does not write all of them again. A path that the
written tree lacks is a function of its own, too. After as many calls of such paths as the written tree has paths, the
whole tree is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.graph.path_rounds import rounds_from
from funcgrad._core.graph.paths import Path, PathTree
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
Key = tuple[Any, ...]


class WrittenTree:
    """The program of a tree, as the tree was when it was written.

    Args:
        program: the program.
        source: its source.
        count: the number of its paths.

    Attributes:
        lacked: the programs of paths that it lacks, by the path's number.
        calls: the number of calls that ran one of those after another program.
    """

    def __init__(self, program: Program, source: str, count: int) -> None:
        self.program = program
        self.source = source
        self.count = count
        self.lacked: dict[int, Recent] = {}
        self.calls = 0


class Recent(NamedTuple):
    """A program that ran lately.

    Args:
        program: the program, of the tree or of one path.
        types: its paths.
        key: the classes of the arguments.
        tree: the written tree, if this is its program or that of a path that it lacks.
        others: the program that ran instead, by the answers that this one returned. It is only a guess: each program
            checks all of its guards.
    """

    program: Program
    types: TypedPaths
    key: Key
    tree: WrittenTree | None
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
        if not self._may_lack(types):
            for key in list(types.programs):
                self._drop(types, key)

    def _may_lack(self, types: TypedPaths) -> bool:
        """Return whether the written tree may lack paths. The common beginning of two paths then runs twice."""
        # Numba would compile the stretches of a path for the path, and then once more for the tree.
        return self._engine.written_path is None and not (types.must_wait or self._donated or self.donated_names)

    def _drop(self, types: TypedPaths, key: Key) -> None:
        """Drop the program of a tree, and those of the paths that it lacks."""
        tree = types.programs.pop(key, None)
        self._recent = tuple([each for each in self._recent if each.tree is None or each.tree is not tree])

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
                self._count(other)
                return y
        number = self._leads_to(recent.types, unknown.answers)
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
        tree = self._tree(types, key, args, kwargs)
        if len(tried) == 1 and types.whole[number, key][0] is None:
            self._note(Recent(tree.program, types, key, tree, {}))
        y = tree.program(args, kwargs)
        return self._run_lacked(y, tree, types, key, args, kwargs) if type(y) is Unknown else y

    def _run_lacked(self, y: Unknown, tree: WrittenTree, types: TypedPaths, key: Key, args: tuple, kwargs: dict) -> Any:
        """Run the path with these answers that the written tree lacks; return `Unknown` if there is none."""
        tried: set[int] = set()
        while tree.count < len(types.tree.paths):
            number = self._leads_to(types, y.answers)
            # Two programs may answer a guard differently, by rounding.
            if number is None or number in tried:
                return y
            tried.add(number)
            path = self._lacked(tree, types, key, number, args, kwargs)
            found = path.program(args, kwargs)
            if type(found) is not Unknown:
                types.latest = number
                self._note(path)
                self._count(path)
                return found
            y = found
        return y

    def _lacked(self, tree: WrittenTree, types: TypedPaths, key: Key, number: int, args: tuple, kwargs: dict) -> Recent:
        """Return the program of one path that the written tree lacks."""
        found = tree.lacked.get(number)
        if found is None:
            path = PathTree()
            path.add(types.tree.paths[number])
            program, _ = self._written(types, path, args, kwargs)
            found = tree.lacked.setdefault(number, Recent(program, types, key, tree, {}))
        return found

    def _count(self, recent: Recent) -> None:
        """Count a call of a path that the written tree lacks. After enough of them, the tree is written again."""
        tree = recent.tree
        if tree is not None and recent.program is not tree.program:
            tree.calls += 1
            if tree.calls >= tree.count:
                self._drop(recent.types, recent.key)

    def _note(self, recent: Recent) -> None:
        """Make a program the first one that is tried."""
        others = [x for x in self._recent if x.types is not recent.types or x.key != recent.key]
        self._recent = (recent, *others[: _TRIED - 1])

    def _key(self, found: Sequence[Any], args: tuple, kwargs: dict) -> Key:
        """Return the classes of the arguments, and the static values."""
        static = self._static.bind(args, kwargs)[3]
        return (static and static.key, *map(type, found))

    def _path(self, types: TypedPaths, key: Key, number: int, args: tuple, kwargs: dict) -> tuple[Recent | None, str]:
        """Return the program of one path, and its source; ``None`` if the tree is to run."""
        made = types.whole.get((number, key))
        if made is None:
            program, source = self._written_path(types, number, args, kwargs) or (None, "")
            path = None if program is None else Recent(program, types, key, None, {})
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

    def _tree(self, types: TypedPaths, key: Key, args: tuple, kwargs: dict) -> WrittenTree:
        """Return the program of the tree, which may lack the newest paths."""
        with self._lock:
            tree = types.programs.get(key)
            if tree is None:
                program, source = self._written(types, types.tree, args, kwargs)
                tree = types.programs[key] = WrittenTree(program, source, len(types.tree.paths))
        return tree

    def _written(self, types: TypedPaths, tree: PathTree, args: tuple, kwargs: dict) -> tuple[Program, str]:
        """Return the program of all paths of a tree, and its source."""
        signature = self._signature(types, tree.paths[0].tree, args, kwargs)
        assert self._engine.written_paths is not None
        return self._engine.written_paths(tree, signature, ASKED, self._engine.rolls_above if self.roll else None)

    def _signature(self, types: TypedPaths, tree: TreeDef, args: tuple, kwargs: dict) -> Signature:
        bound = self._bound(self._static.bind(args, kwargs))
        _, given, named, _ = self._static.bind(args, kwargs)
        numbers = self._donated, self.donated_names
        donated, names = donations(self._function, self._static, numbers, args, (given, named))
        fixed = self._static.numbers, self._static.names
        in_order = self._static.sees_order
        return Signature(args, kwargs, fixed, in_order, types.in_tree, bound.found, tree, donated, names)

    @folded
    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the code that runs for arguments of these types, with all paths that were taken until now."""
        bound = self._bound(self._static.bind(args, kwargs))
        # The path of these arguments is one of them.
        self._stage_bound(*self._static.bind(args, kwargs))
        types, key = bound.types, self._key(bound.found, args, kwargs)
        count = len(types.tree.paths)
        parts = [self._path(types, key, number, args, kwargs)[1] for number in range(count)]
        if all(parts):
            return "\n\n".join(parts)
        if self._tree(types, key, args, kwargs).count < count:
            self._drop(types, key)
        return "\n\n".join([*filter(None, parts), self._tree(types, key, args, kwargs).source])
