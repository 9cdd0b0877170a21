"""Write parts of rows as rows: ``y[t, 1:-1] = v`` becomes ``row = y[t]; row[1:-1] = v; y[t] = row``.

``forward.py`` follows the updates of an array at one pattern. A program that steps an equation in time writes whole
rows and parts of them, and reads neighbours: ``y[t]``, ``y[t, 1:-1]``, ``y[t, 0]``, ``y[t - 1, 2:]``. If an array that
is written is used at several patterns that begin with the same integers, this pass turns all of them into reads and
updates of rows at these integers. No number changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import FULL, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.patterns import HOLE, Key, Pattern, entries_of, pattern_of
from funcgrad._ops.rolling.rows import Emitter

# A pattern counts if it is used at least this often, and at least once for so many uses of the most frequent one. The
# first row of a table that is filled number by number does not.
_LEAST_USES = 4
_RARE = 8
# More patterns are windows that move within a row. Those are followed number by number.
_MOST_PATTERNS = 8

Family = dict[Operand, Var]


def with_whole_rows(graph: Graph) -> Graph:
    """Return the same program, in which arrays that are used by rows and by parts of rows are used by rows alone."""
    family, scatters = _families(graph)
    if not family:
        return graph
    prefixes = _prefixes(graph, family, scatters)
    return _WholeRows(graph, family, scatters, prefixes).run() if prefixes else graph


def _families(graph: Graph) -> tuple[Family, dict[Operand, Equation]]:
    """Return for each version of an array that is updated the first version, and the scatters by their results."""
    family: Family = {}
    scatters: dict[Operand, Equation] = {}
    for equation in graph.equations:
        primitive, operands = equation.primitive, equation.operands
        if primitive is scatter_p and len(equation.params["indices"]) == len(operands):
            scatters[equation.results[0]] = equation
        elif primitive is scatter_set_p and len(operands) == 2 and type(operands[0]) is Var:
            family[equation.results[0]] = family.get(operands[0], operands[0])
        elif primitive is add_p and (found := _summed(equation, scatters)) is not None:
            family[equation.results[0]] = family.get(found[0], found[0])
    family.update({first: first for first in list(family.values())})
    return family, scatters


def _summed(equation: Equation, scatters: dict[Operand, Equation]) -> tuple[Var, Equation] | None:
    """Return the array to which an addition adds scattered parts, and the scatter; ``None`` for other additions."""
    for x, part in (equation.operands, equation.operands[::-1]):
        if part in scatters and x not in scatters and type(x) is Var and x.aval == equation.results[0].aval:
            return x, scatters[part]
    return None


def _prefixes(graph: Graph, family: Family, scatters: dict[Operand, Equation]) -> dict[Var, Pattern]:
    """Return the integers at which rows are followed, for the arrays that are used at several patterns."""
    uses: dict[Var, Counter[Pattern]] = {}
    for equation in graph.equations:
        primitive, x = equation.primitive, equation.operands[0] if equation.operands else None
        if primitive in (index_p, scatter_set_p) and x in family:
            indices: Sequence[Index] = [equation.params["index"]]
        elif primitive is add_p and (sum_of := _summed(equation, scatters)) is not None:
            x, indices = sum_of[0], sum_of[1].params["indices"]
        else:
            continue
        found = [pattern_of(index, x.aval.shape) for index in indices]
        uses.setdefault(family[x], Counter()).update([each[0] for each in found if each is not None])
    prefixes: dict[Var, Pattern] = {}
    for first, counts in uses.items():
        least = max(_LEAST_USES, max(counts.values(), default=0) // _RARE)
        frequent = [pattern for pattern, count in counts.items() if count >= least]
        if 1 < len(frequent) <= _MOST_PATTERNS and (prefix := _common_holes(frequent)):
            prefixes[first] = prefix
    return prefixes


def _common_holes(patterns: Sequence[Pattern]) -> Pattern:
    """Return the holes with which all patterns begin."""
    count = 0
    while all(len(each) > count and each[count] == HOLE for each in patterns):
        count += 1
    return (HOLE,) * count


class _WholeRows(Emitter):
    """One pass over a program."""

    def __init__(
        self, graph: Graph, family: Family, scatters: dict[Operand, Equation], prefixes: dict[Var, Pattern]
    ) -> None:
        super().__init__()
        self._graph = graph
        self._family = family
        self._scatters = scatters
        self._prefixes = prefixes

    def run(self) -> Graph:
        """Return the program."""
        graph = self._graph
        for equation in graph.equations:
            self.source = equation.source
            if not self._rewritten(equation):
                self.equations.append(equation)
        found = trusted_graph(graph.inputs, graph.constants, self.equations, graph.outputs, graph.name, graph.trees)
        return drop_dead(found)

    def _rewritten(self, equation: Equation) -> bool:
        """Append a read or an update of a part as equations of its row; return whether this was done."""
        primitive, operands = equation.primitive, equation.operands
        if primitive is add_p:
            return self._sum(equation)
        if primitive not in (index_p, scatter_set_p) or operands[0] not in self._family:
            return False
        if len(operands) != (1 if primitive is index_p else 2):
            return False
        x = operands[0]
        found = self._split(x, equation.params["index"])
        if found is None or found[1] is None or equation.results[0].aval.weak:
            return False
        key, rest = found
        row = self.part(x, (HOLE,) * len(key), key)
        if primitive is index_p:
            self._append(index_p, (row,), {"index": rest}, equation)
        else:
            row = self.emit(scatter_set_p, row, operands[1], index=rest)
            self._append(scatter_set_p, (x, row), {"index": Index(key)}, equation)
        return True

    def _append(self, primitive: Any, operands: tuple[Operand, ...], params: dict[str, Any], old: Equation) -> None:
        """Append an equation that makes the results of an old one."""
        self.equations.append(Equation(primitive, operands, params, old.results, old.source))

    def _split(self, x: Operand, index: Index) -> tuple[Key, Index | None] | None:
        """Return the integers of the row that an index reads, and the index within the row; ``None`` for whole rows."""
        prefix, found = self._prefixes.get(self._family[x]), pattern_of(index, x.aval.shape)
        if prefix is None or found is None or found[0][: len(prefix)] != prefix:
            return None
        (pattern, key), count = found, len(prefix)
        rest = Index(entries_of(pattern[count:], key[count:])) if len(pattern) > count else None
        return key[:count], rest

    def _sum(self, equation: Equation) -> bool:
        """Append an addition of scattered parts as an addition of scattered rows; return whether this was done."""
        sum_of = _summed(equation, self._scatters)
        if sum_of is None:
            return False
        x, scatter = sum_of
        found = [self._split(x, index) for index in scatter.params["indices"]]
        known = [each for each in found if each is not None]
        shape, dtype = x.aval.shape, x.aval.dtype
        is_plain = all(v.aval.dtype == dtype and not v.aval.weak for v in scatter.operands)
        if len(known) < len(found) or not is_plain or all(rest is None for _, rest in known):
            return False
        rows: dict[Key, list[tuple[Operand, Index]]] = {}
        for v, (key, rest) in zip(scatter.operands, known, strict=True):
            rows.setdefault(key, []).append((v, rest or Index((FULL,))))
        # A scatter adds the parts of a row to zeros, in the order of the parts.
        values = [
            self.emit(scatter_p, *[v for v, _ in parts], shape=shape[len(key) :], indices=tuple([i for _, i in parts]))
            for key, parts in rows.items()
        ]
        scattered = self.emit(scatter_p, *values, shape=shape, indices=tuple([Index(key) for key in rows]))
        operands = (x, scattered) if equation.operands[0] is x else (scattered, x)
        self._append(add_p, operands, {}, equation)
        return True
