"""Whether the elements of arrays that are read and written by index have their cotangents added in the same order.

The program is rolled before it is differentiated; see ``order.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand, Var
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.program.scan import scan_p
from funcgrad._ops.rolling.rows import Key, Pattern, entries_of
from funcgrad._ops.rolling.table import OUTSIDE, Table, first_places

_WHOLE = Index((Ellipsis,))


class _Writes:
    """The rows that were written into one array, and the reads of them."""

    def __init__(self) -> None:
        # The versions of the array that are read as a whole.
        self.wholes: set[Operand] = set()
        # The row at each part, by number, and how often each row was read.
        self.now: dict[int, Operand] = {}
        self.reads: dict[Operand, int] = {}
        # All rows that were ever written.
        self.rows: list[Operand] = []
        # The array before the first write, how often it is used otherwise, and reads after it of parts as they were.
        self.base: Operand | None = None
        self.others = 0
        self.rest: list[tuple[Pattern, Key, Operand]] = []


def elements_keep_order(table: Table, rolled: Graph, active: np.ndarray) -> bool:
    """Return whether the cotangents of elements that are read or written by index are added in the same order.

    Args:
        table: the program.
        rolled: the rolled program.
        active: a mask of the values that depend on what is differentiated.
    """
    found = _Found(table, active)
    uses, reads = found.uses, found.reads
    written = {id(each): each for each in found.arrays.values()}.values()
    if not all(_rows_keep_order(each, uses) and _rest_keeps_order(each, reads, uses) for each in written):
        return False
    for each in written:
        # A row that was written is used where the array is used.
        for row in each.rows:
            uses[row] += each.reads.get(row, 0) + len(each.wholes) - 1
    if not _rows_keep_parts(table, reads):
        return False
    slots = _reads_of(rolled.equations, reads)
    return all(
        _reads_keep_order(base, each, slots.get(base, []), uses) and _uses_keep_order(each, found.places)
        for base, each in reads.items()
    )


class _Found:
    """The reads and writes at integers of active arrays that decide about the order.

    Args:
        table: the program.
        active: a mask of the values that depend on what is differentiated.
    """

    def __init__(self, table: Table, active: np.ndarray) -> None:
        # How many shares the cotangents of rows that are read or written have.
        self.uses: dict[Operand, int] = {}
        self.reads: dict[Var, list[tuple[Pattern, Key, Operand]]] = {}
        # The equation that uses each row first, and the place of the row among all operands of the program. Rows of
        # one equation with equal shares have one place.
        self.places: dict[Operand, list[int]] = {}
        # The arrays that are written, and their versions.
        self.arrays: dict[Operand, _Writes] = {}
        self._table = table
        counts = _shares(table)
        sets = table.of(scatter_set_p)
        for i, count in zip(sets.tolist(), counts[table.operands[table.starts[sets] + 1]].tolist(), strict=True):
            self.uses[table.equations[i].operands[1]] = count
        noted = _noted(table, active, counts)
        parts = np.full(len(table.equations), OUTSIDE)
        parts[table.reads.equations], parts[sets] = table.reads.numbers, table.parts_of(sets)
        results, first = noted * table.width, table.operands[table.starts[noted]]
        places = _first_uses(table)[results]
        users = np.append(table.readers(), np.full(len(table.outputs), len(table.equations)))[places]
        # Both factors of a square, and both terms of ``x + x``, have equal shares, so these have no order.
        alike = np.zeros(len(table.equations) + 1, bool)
        alike[table.of(add_p, mul_p)] = True
        places[alike[users]] = 0
        # The rolled program writes a row where its array is read.
        users[np.isin(users, sets)] = OUTSIDE
        columns = [parts[noted], active[results], active[first], counts[results], counts[first], users, places]
        rows = zip(noted.tolist(), np.stack(columns).T.tolist(), strict=True)
        for i, (part, is_active, reads_active, count, base_count, *use) in rows:
            equation = table.equations[i]
            (x, *values), y = equation.operands, equation.results[0]
            if part != OUTSIDE and values and is_active:
                self._write(part, x if reads_active else None, base_count, values[0], y)
            elif part != OUTSIDE and not values and reads_active and type(x) is Var:
                self.uses[y], self.places[y] = count, use
                self._read(part, x, y)
            else:
                for x in equation.operands:
                    self._read_whole(x)
        for number in dict.fromkeys(table.outputs.tolist()):
            self._read_whole(table.value(number))

    def _write(self, part: int, x: Operand | None, count: int, value: Operand, y: Operand) -> None:
        """Note a write into ``x``. Several arrays may begin as one constant, such as zeros: that one is ``None``."""
        writes = None if x is None else self.arrays.get(x)
        if writes is None:
            writes = _Writes()
            if x is not None:
                self.arrays[x] = writes
                writes.base, writes.others = x, count - 1
        writes.now[part] = value
        writes.rows.append(value)
        self.arrays[y] = writes

    def _read_whole(self, x: Operand) -> None:
        if x in self.arrays:
            self.arrays[x].wholes.add(x)

    def _read(self, part: int, x: Var, y: Operand) -> None:
        writes = self.arrays.get(x)
        row = None if writes is None else writes.now.get(part)
        if writes is not None and row is not None:
            writes.reads[row] = writes.reads.get(row, 0) + 1
        else:
            found = (*self._table.parts[part], y)
            self.reads.setdefault(x, []).append(found)
            if writes is not None and x is not writes.base:
                writes.rest.append(found)


def _noted(table: Table, active: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Return the equations that decide about the order: reads by index, writes, and reads of what is written.

    Reads of an array are left out if each of its parts is read twice at most, and no part overlaps another one.
    """
    sets = table.of(scatter_set_p)
    written = np.zeros(len(active), bool)
    written[sets * table.width] = True
    written[table.operands[table.starts[sets]]] = True
    noted = np.zeros(len(table.equations), bool)
    noted[table.readers()[written[table.operands]]] = True
    noted[sets] = True
    (equations, bases, numbers), parts = table.reads, table.parts
    patterns = {pattern: k for k, pattern in enumerate(dict.fromkeys([pattern for pattern, _ in parts]))}
    pattern = np.array([patterns[each] for each, _ in parts] + [-1])[numbers]
    # The array and the part that each equation reads, as one number.
    _, where = first_places(bases * (len(parts) + 1) + numbers)
    shares = np.bincount(where, weights=uses[equations * table.width])
    # A row that is written is used where the array is used.
    is_value = np.zeros(len(active), bool)
    is_value[table.operands[table.starts[sets] + 1]] = True
    many = (np.maximum(np.bincount(where), shares) > 2) | (np.bincount(where, is_value[equations * table.width]) > 0)
    first = np.full(len(active), -1)
    first[bases] = pattern
    mixed = np.zeros(len(active), bool)
    mixed[bases[pattern != first[bases]]] = True
    noted[equations[(many[where] | mixed[bases]) & active[bases]]] = True
    return np.flatnonzero(noted)


def _rows_keep_order(writes: _Writes, uses: dict[Operand, int]) -> bool:
    """Return whether each row that was written has few enough uses, and one version is read as a whole at most."""
    if len(writes.wholes) > 1:
        return False
    for row, count in writes.reads.items():
        others = uses[row] - 1
        if not ((count <= 1 and others <= 1) or count + others + len(writes.wholes) <= 2):
            return False
    return True


def _rest_keeps_order(
    writes: _Writes, reads: dict[Var, list[tuple[Pattern, Key, Operand]]], uses: dict[Operand, int]
) -> bool:
    """Return whether parts that are read after writes to other parts have few enough shares.

    The unrolled program adds these shares to those of the written array, the rolled one to those of the first array.
    """
    if not writes.rest or type(writes.base) is not Var:
        return True
    first = reads.get(writes.base, [])
    shares, later = np.zeros((2, *writes.base.aval.shape), np.int64)
    for found, is_later in ((first, False), (writes.rest, True)):
        for pattern, key, x in found:
            index: Any = entries_of(pattern, key)
            shares[index] += max(uses.get(x, 0), 1)
            later[index] += is_later
    wholes = writes.others - len(first) + len(writes.wholes - {writes.base})
    return not ((later > 0) & (shares + wholes > 2)).any()


def _rows_keep_parts(table: Table, reads: dict[Var, list[tuple[Pattern, Key, Operand]]]) -> bool:
    """Return whether no row with more than two reads has parts that are read by index.

    The rolled program reads the row once, and adds the shares of the parts first.
    """
    often: list[Operand] = []
    for found in reads.values():
        counts = Counter([(pattern, key) for pattern, key, _ in found])
        often += [x for pattern, key, x in found if counts[pattern, key] > 2]
    return not often or {table.equations[i].operands[0] for i in table.of(index_p).tolist()}.isdisjoint(often)


def _shares(table: Table) -> np.ndarray:
    """Return how many shares the cotangent of each value has; a read by index adds `shares_of` it."""
    counts, reads = table.uses(), table.of(index_p)
    for i in reads[np.diff(table.starts)[reads] > 1].tolist():
        counts[table.operands[table.starts[i]]] += shares_of(table.equations[i]) - 1
    return counts


def shares_of(read: Equation) -> int:
    """Return how many shares a read by index adds to the cotangent of an element; two stand for any number.

    An index array may select an element several times.
    """
    arrays = read.operands[1:]
    return 1 if read.params["index"].unique or all(x.aval.size == 1 for x in arrays) else 2


def _reads_of(equations: Collection[Equation], bases: Collection[Var]) -> dict[Var, list[Index]]:
    """Return the reads of arrays by index in a rolled program. A loop over the rows of an array reads all of them."""
    found: dict[Var, list[Index]] = {}
    for equation in equations:
        if equation.primitive is index_p and equation.operands[0] in bases:
            x = equation.operands[0]
            assert type(x) is Var
            found.setdefault(x, []).append(equation.params["index"])
        elif equation.primitive is scan_p:
            for x in equation.params["loop"].parts(equation.operands)[2]:
                if type(x) is Var and x in bases:
                    found.setdefault(x, []).append(_WHOLE)
    return found


def _reads_keep_order(
    base: Var, found: list[tuple[Pattern, Key, Operand]], slots: list[Index], uses: dict[Operand, int]
) -> bool:
    """Return whether each element of an array is read twice at most, or by one read of the rolled program only."""
    if len({pattern for pattern, _, _ in found}) == 1:
        # Reads of one pattern at different integers have no element in common.
        totals: dict[Key, list[int]] = {}
        for _, key, x in found:
            total = totals.setdefault(key, [0, 0])
            total[0] += 1
            total[1] += uses.get(x, 0)
        several = [key for key, (count, shares) in totals.items() if max(count, shares) > 2]
        if not several:
            return True
        counts = np.zeros(base.aval.shape, bool)
        for key in several:
            counts[entries_of(found[0][0], key)] = True
    else:
        per_element, shares = np.zeros((2, *base.aval.shape), np.int64)
        for pattern, key, x in found:
            index: Any = entries_of(pattern, key)
            per_element[index] += 1
            shares[index] += uses.get(x, 0)
        counts = np.maximum(per_element, shares) > 2
    if not counts.any():
        return True
    read = np.zeros(base.aval.shape, np.int64)
    for each in slots:
        if SLOT in each.entries:
            # An index array may read each element several times.
            read += 2
        else:
            read[each.filled(())] += 1
    return not (counts & (read > 1)).any() and not _is_mixed(found, uses)


def _first_uses(table: Table) -> np.ndarray:
    """Return where each value is used first, among the operands of all equations and the outputs after them."""
    used = np.concatenate((table.operands, table.outputs))
    found = np.zeros(len(table.types), np.int64)
    found[used[::-1]] = np.arange(len(used))[::-1]
    return found


def _uses_keep_order(found: list[tuple[Pattern, Key, Operand]], places: dict[Operand, list[int]]) -> bool:
    """Return whether each row is used in the order in which it is read, as far as the order matters.

    The unrolled program adds the shares in the order of the reads, from the last one on. The rolled program reads the
    row once, so it adds them in the order of the uses. The sum of the first two shares has no order.
    """
    rows: dict[tuple[Pattern, Key], list[list[int]]] = {}
    for pattern, key, x in found:
        rows.setdefault((pattern, key), []).append(places[x])
    for each in rows.values():
        if len(each) > 2:
            order = range(len(each) - 1, -1, -1)
            if min(each)[0] == OUTSIDE or sorted(order, key=lambda k: (-each[k][0], each[k][1]))[2:] != [*order[2:]]:
                return False
    return True


def _is_mixed(found: list[tuple[Pattern, Key, Operand]], uses: dict[Operand, int]) -> bool:
    """Return whether a row is read several times, and one of these reads is used several times."""
    seen: dict[Any, bool] = {}
    for pattern, key, x in found:
        several = uses.get(x, 0) > 1
        entry = pattern, key
        if entry in seen and (several or seen[entry]):
            return True
        seen[entry] = several
    return False
