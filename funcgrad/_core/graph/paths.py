"""A tree of paths: the straight programs that a function ran, with their common beginnings written once.

Each path is a graph with guards: equations with a question and its answer. A function does the same until two calls
answer a guard differently, so two paths have equal equations until then. The paths form a tree of *stretches*:

    equations -> guard: x > 0?  -- True --> equations -> results
                                -- False -> equations -> guard: n? -- 3 --> equations -> results

Each stretch is a graph of its own. Its inputs are the variables that it reads; its outputs are the variables that it
makes and later stretches read. Variables that it neither reads nor makes are no part of its graph, so the stretches
together grow in proportion to the path. A program of the tree keeps the values of all stretches before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.key import params_key
from funcgrad._core.graph.line import Line
from funcgrad._core.graph.same import same_value
from funcgrad._core.graph.simplify import drop_dead, simplify
from funcgrad._types import Value
from funcgrad.tree import TreeDef
from funcgrad.tree.extend import static_key


class Path(NamedTuple):
    """One path, as it was staged.

    Args:
        graph: the program, with guards.
        tree: the structure of the results.
        answers: the answers of the guards, in order.
        unkept: why the program does not hold for other numbers with these answers; empty if it does.
    """

    graph: Graph
    tree: TreeDef
    answers: tuple[Hashable, ...]
    unkept: str = ""


class Branch(NamedTuple):
    """A line that branches, in all paths.

    Args:
        line: the line.
        asked: the question of its guards.
        guards: the number of guards that it left: a loop leaves one in each round.
        forks: the number of guards that went more than one way: those of a loop at which calls left it.
        ways: the most ways that one of them went.
    """

    line: Line | None
    asked: str
    guards: int
    forks: int
    ways: int


class DifferentProgramError(Exception):
    """The function did something else, although all answers were the same: it depends on more than its arguments.

    Args:
        line: the first line that did something else, if it is known.
    """

    def __init__(self, line: Line | None) -> None:
        super().__init__(line)
        self.line = line


class Stretch:
    """A straight part of the program, and the ways that it goes on.

    Args:
        equations: the operations, in order.
        guard: the guard that ends the stretch; ``None`` if the program ends here.

    Attributes:
        ways: for each answer to the guard, the stretch that follows.
        outputs: the results of the program, if it ends here.
        number: the number of the path that ends here, or -1.
        tree: the structure of the results, if the program ends here.
        graph: the stretch as a graph. Its outputs are the variables ``given`` and then the value that the guard asks;
            or the results.
        given: the variables that this stretch makes and later ones read, in the order of the graph's outputs.
    """

    def __init__(self, equations: Sequence[Equation], guard: Equation | None) -> None:
        self.equations = equations
        self.guard = guard
        self.ways: dict[Hashable, Stretch] = {}
        self.outputs: Sequence[Operand] = ()
        self.number = -1
        self.tree: TreeDef | None = None
        self.graph: Graph = trusted_graph((), (), (), ())
        self.given: Sequence[Var] = ()

    @property
    def asked(self) -> str:
        """The question of the guard."""
        return "" if self.guard is None else self.guard.params["asked"]

    @property
    def has_effect(self) -> bool:
        return any(equation.has_effect for equation in self.graph.equations)


class PathTree:
    """The paths of one function for arguments of the same types."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.root: Stretch | None = None
        self.inputs: Sequence[Var] = ()
        # The constants of all paths. An array that the function makes again in each call is one constant.
        self._constants: dict[Hashable, Var] = {}
        self._values: dict[Operand, Any] = {}
        # The inputs of all stretches.
        self._read: set[Operand] = set()

    def __iter__(self) -> Iterator[Stretch]:
        """Iterate over the stretches; each comes after the one before it."""
        stretches = [] if self.root is None else [self.root]
        for stretch in stretches:
            stretches += stretch.ways.values()
            yield stretch

    def branches(self) -> list[Branch]:
        """Return the lines that branch, those that lead to the most paths first."""
        found: dict[tuple[Line | None, str], list[int]] = {}
        for stretch in self:
            if stretch.guard is not None:
                found.setdefault((stretch.guard.source, stretch.asked), []).append(len(stretch.ways))
        branches = [
            Branch(line, asked, len(ways), sum(each > 1 for each in ways), max(ways))
            for (line, asked), ways in found.items()
        ]
        return sorted(branches, key=lambda branch: -branch.forks * (branch.ways - 1))

    def add(self, path: Path) -> int:
        """Add a path, unless it is there, and return its number.

        Raises:
            DifferentProgramError: the path differs from the others where it should equal them.
        """
        graph = path.graph
        if self.root is None:
            self.inputs = graph.inputs
        known: dict[Operand, Operand] = dict(zip(graph.inputs, self.inputs, strict=True))
        for var, value in graph.constants:
            known[var] = self._constants.setdefault(_constant_key(value), var)
            self._values.setdefault(known[var], value)
        here, last, answer = self.root, None, None
        is_new, along = False, []
        for equations, guard in _stretches(graph):
            if here is None:
                here, is_new = Stretch([_renamed(e, known) for e in equations], guard and _renamed(guard, known)), True
                if last is None:
                    self.root = here
                else:
                    last.ways[answer] = here
            else:
                _match(equations, guard, here, known)
            last = here
            along.append(here)
            if guard is not None:
                answer = guard.params["answer"]
                here = last.ways.get(answer)
        assert last is not None
        if not is_new:
            return last.number
        last.outputs = [known.get(x, x) for x in graph.outputs]
        last.number = len(self.paths)
        last.tree = path.tree
        self.paths.append(path)
        self._finish(along)
        return last.number

    def leads_to(self, answers: Sequence[Hashable]) -> int | None:
        """Return the number of a path whose guards begin with these answers; ``None`` if there is none."""
        here = self.root
        for answer in answers:
            here = None if here is None else here.ways.get(answer)
        while here is not None and here.guard is not None:
            # Any way leads to a path, which says how its next guard is answered.
            here = next(iter(here.ways.values()))
        return None if here is None else here.number

    def _finish(self, along: Sequence[Stretch]) -> None:
        """Make the graphs of new stretches, and of those with variables that only the new path reads."""
        for stretch in reversed(along):
            given = [var for equation in stretch.equations for var in equation.results if var in self._read]
            if stretch.graph.outputs and len(given) == len(stretch.given):
                continue
            stretch.given = given
            outputs = stretch.outputs if stretch.guard is None else (*given, *stretch.guard.operands)
            stretch.graph = self.part(stretch.equations, outputs)
            self._read.update(stretch.graph.inputs)

    def part(self, equations: Sequence[Equation], outputs: Sequence[Operand]) -> Graph:
        """Return some equations as a graph of what they read."""
        made = {var for equation in equations for var in equation.results}
        read = dict.fromkeys(x for e in equations for x in e.operands if type(x) is Var and x not in made)
        read.update(dict.fromkeys(x for x in outputs if type(x) is Var and x not in made))
        inputs = [x for x in read if x not in self._values]
        held = [(x, self._values[x]) for x in read if x in self._values]
        name = self.paths[0].graph.name
        graph = drop_dead(simplify(trusted_graph(inputs, held, equations, outputs, name)))
        needed = {x for equation in graph.equations for x in equation.operands} | set(graph.outputs)
        inputs = [var for var in inputs if var in needed]
        return trusted_graph(inputs, graph.constants, graph.equations, graph.outputs, name)

    def with_questions(self, number: int) -> Graph:
        """Return a path as one graph, simplified. Its outputs are the results and then what each guard asks."""
        return self.paths[number].graph.made(_with_questions)


def is_guard(equation: Equation) -> bool:
    """Return whether an equation is a guard."""
    return equation.primitive.guards


def _stretches(graph: Graph) -> Iterator[tuple[list[Equation], Equation | None]]:
    """Cut a path at its guards."""
    equations: list[Equation] = []
    for equation in graph.equations:
        if is_guard(equation):
            yield equations, equation
            equations = []
        else:
            equations.append(equation)
    yield equations, None


def _renamed(equation: Equation, known: dict[Operand, Operand]) -> Equation:
    operands = tuple([known.get(x, x) for x in equation.operands])
    return Equation(equation.primitive, operands, equation.params, equation.results, equation.source)


def _constant_key(value: Value) -> Hashable:
    """Return a key that equal arrays of NumPy share."""
    if type(value) is not np.ndarray or value.dtype.hasobject:
        return id(value)
    return value.shape, value.dtype, value.strides, value.tobytes()


def _match(equations: Sequence[Equation], guard: Equation | None, here: Stretch, known: dict) -> None:
    """Check that a stretch of a new path equals a known one; note which variables correspond."""
    for new, old in itertools.zip_longest([*equations, guard], [*here.equations, here.guard]):
        if new is None and old is None:
            return
        if new is None or old is None or not matched(new, old) or not _read_alike(new, old, known):
            found = new or old
            raise DifferentProgramError(None if found is None else found.source)
        known.update(zip(new.results, old.results, strict=True))


def matched(new: Equation, old: Equation) -> bool:
    """Return whether two equations do the same to their operands, or ask the same question."""
    if new.primitive is not old.primitive or len(new.operands) != len(old.operands):
        return False
    if [var.aval for var in new.results] != [var.aval for var in old.results]:
        return False
    if is_guard(new):
        return new.params["asked"] == old.params["asked"]
    return params_key(new.params) == params_key(old.params) or same_value(new.params, old.params)


def _read_alike(new: Equation, old: Equation, known: dict) -> bool:
    return all(are_equal(known.get(x, x), y) for x, y in zip(new.operands, old.operands, strict=True))


def are_equal(x: Operand, y: Operand) -> bool:
    """Return whether two operands are the same variable or the same number."""
    if type(x) is Literal and type(y) is Literal:
        return static_key(x.value) == static_key(y.value)
    return x is y


def do_the_same(new: Stretch, old: Stretch, known: dict[Operand, Any]) -> bool:
    """Return whether the program does the same after two stretches begin, along the same paths.

    Args:
        new: a stretch.
        old: another stretch.
        known: for each variable of the first, the one that corresponds to it. Others correspond to themselves.
    """
    pending = [(new, old)]
    while pending:
        new, old = pending.pop()
        try:
            _match(new.equations, new.guard, old, known)
        except DifferentProgramError:
            return False
        if new.ways.keys() != old.ways.keys() or len(new.outputs) != len(old.outputs):
            return False
        if not all(are_equal(known.get(x, x), y) for x, y in zip(new.outputs, old.outputs, strict=True)):
            return False
        if new.tree != old.tree:
            return False
        pending += [(way, old.ways[answer]) for answer, way in new.ways.items()]
    return True


def without_guards(graph: Graph) -> Graph:
    """Return a path without its guards, simplified."""
    return _replaced(graph, lambda guards: graph.outputs)


def _with_questions(graph: Graph) -> Graph:
    return _replaced(graph, lambda guards: [*graph.outputs, *[x for guard in guards for x in guard.operands]])


def _replaced(graph: Graph, outputs: Callable[[Iterable[Equation]], Sequence[Operand]]) -> Graph:
    guards = [equation for equation in graph.equations if is_guard(equation)]
    rest = [equation for equation in graph.equations if not is_guard(equation)]
    return simplify(trusted_graph(graph.inputs, graph.constants, rest, outputs(guards), graph.name, graph.trees))
