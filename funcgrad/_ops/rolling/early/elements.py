"""Decide whether rolling keeps the order of sums for the elements of arrays that are read and written by index.

``order.py`` explains shares, and why their order matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.program.scan import scan_p
from funcgrad._ops.rolling.numbering import OUTSIDE, first_places
from funcgrad._ops.rolling.patterns import Key, Pattern, entries_of
from funcgrad._ops.rolling.table import Table

# A read by index: the part, and the number of the result.
Read = tuple[Pattern, Key, int]

_WHOLE = Index((Ellipsis,))


class _Writes:
    """The rows that were written into one array, and the reads of them. All values are numbers of the table."""

    def __init__(self) -> None:
        # The versions of the array that are read as a whole.
        self.wholes: set[int] = set()
        # The row at each part, by number, and how often each row was read.
        self.now: dict[int, int] = {}
        self.reads: dict[int, int] = {}
        # All rows that were written, in order.
        self.rows: list[int] = []
        # The array before the first write, how often it is used otherwise, and reads after it of parts as they were.
        self.base: int | None = None
        self.others = 0
        self.rest: list[Read] = []


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
    if not all(_rows_keep_order(each, uses) and _rest_keeps_order(table, each, reads, uses) for each in written):
        return False
    for each in written:
        # A row that was written is used where the array is used.
        for row in each.rows:
            uses[row] += each.reads.get(row, 0) + len(each.wholes) - 1
    if not _rows_keep_parts(table, reads):
        return False
    bases = {table.value(number): each for number, each in reads.items()}
    slots = _reads_of(rolled.equations, bases)
    return all(
        _reads_keep_order(base, each, slots.get(base, []), uses) and _uses_keep_order(each, found.places)
        for base, each in bases.items()
    )


class _Found:
    """The reads and writes of active arrays at integers whose shares may have another order. All values are numbers.

    Args:
        table: the program.
        active: a mask of the values that depend on what is differentiated.
    """

    def __init__(self, table: Table, active: np.ndarray) -> None:
        counts, starts, operands = _shares(table), table.starts, table.operands
        sets = table.of(scatter_set_p)
        rows = operands[starts[sets] + 1]
        # How often rows that are read or written are used.
        self.uses: dict[int, int] = dict(zip(rows.tolist(), counts[rows].tolist(), strict=True))
        self.reads: dict[int, list[Read]] = {}
        # The equation that uses each row first, and the place of the row among all operands of the program. Rows of
        # one equation with equal shares have one place.
        self.places: dict[int, tuple[int, int]] = {}
        # The arrays that are written, and their versions.
        self.arrays: dict[int, _Writes] = {}
        self._table = table
        noted = _noted(table, active, counts)
        parts = np.full(len(table.equations), OUTSIDE)
        parts[table.reads.equations], parts[sets] = table.reads.numbers, table.parts_of(sets)
        results, first, lengths = noted * table.width, operands[starts[noted]], np.diff(starts)[noted]
        second = np.where(lengths > 1, operands[np.minimum(starts[noted] + 1, len(operands) - 1)], OUTSIDE)
        reads_active = active[first] & table.is_variable(first)
        is_read = np.isin(noted, table.of(index_p)) & table.is_variable(first)
        users, places = _first_uses(table)
        columns = noted, parts[noted], results, active[results], counts[results], first, active[first], second
        columns = *columns, reads_active, is_read, counts[first], users[results], places[results]
        # Reads of slices, with the indices. They share elements with the reads at integers of the same array.
        cuts: dict[int, list[tuple[Index, int]]] = {}
        each_of = zip(*[column.tolist() for column in columns], strict=True)
        for i, part, y, is_active, count, x, x_is_active, value, may_read, may_cut, x_count, *use in each_of:
            if is_active and OUTSIDE not in (part, value):
                self._write(part, x if x_is_active else None, x_count, value, y)
            elif part != OUTSIDE and value == OUTSIDE and may_read:
                self.uses[y], self.places[y] = count, (use[0], use[1])
                self._read(part, x, y)
            elif may_cut and value == OUTSIDE and x not in self.arrays:
                self.uses[y], self.places[y] = count, (use[0], use[1])
                cuts.setdefault(x, []).append((table.equations[i].params["index"], y))
            else:
                self._read_whole(operands[starts[i] : starts[i + 1]].tolist())
        self._read_whole(dict.fromkeys(table.outputs.tolist()))
        for x in self.reads.keys() & cuts.keys():
            self.reads[x] += [(_pattern_of(index), (), y) for index, y in cuts[x]]

    def _write(self, part: int, x: int | None, count: int, value: int, y: int) -> None:
        """Note a write into ``x``. It is ``None`` for a constant, such as zeros, as which several arrays may begin."""
        writes = None if x is None else self.arrays.get(x)
        if writes is None:
            writes = _Writes()
            if x is not None:
                self.arrays[x] = writes
                writes.base, writes.others = x, count - 1
        writes.now[part] = value
        writes.rows.append(value)
        self.arrays[y] = writes

    def _read_whole(self, values: Iterable[int]) -> None:
        for x in values:
            if x in self.arrays:
                self.arrays[x].wholes.add(x)

    def _read(self, part: int, x: int, y: int) -> None:
        writes = self.arrays.get(x)
        row = None if writes is None else writes.now.get(part)
        if writes is not None and row is not None:
            writes.reads[row] = writes.reads.get(row, 0) + 1
        else:
            found = (*self._table.parts[part], y)
            self.reads.setdefault(x, []).append(found)
            if writes is not None and x != writes.base:
                writes.rest.append(found)


def _pattern_of(index: Index) -> Pattern:
    """Return the pattern of an index without integers."""
    return tuple([("slice", e.start, e.stop, e.step) if isinstance(e, slice) else e for e in index.entries])


def _noted(table: Table, active: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Return the equations to look at: reads by index, writes, and reads of arrays that are written.

    Reads of an array are left out if each of its parts is read at most twice, and no part overlaps another one.
    """
    sets = table.of(scatter_set_p)
    written = np.zeros(len(active), bool)
    written[sets * table.width] = True
    written[table.operands[table.starts[sets]]] = True
    noted = np.zeros(len(table.equations), bool)
    noted[table.readers()[written[table.operands]]] = True
    noted[sets] = True
    (equations, bases, numbers), parts = table.reads, table.parts
    pattern = np.append(parts.places()[0], -1)[numbers]
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


def _rows_keep_order(writes: _Writes, uses: dict[int, int]) -> bool:
    """Return whether each row that was written has few enough uses, and at most one version is read as a whole."""
    if len(writes.wholes) > 1:
        return False
    for row, count in writes.reads.items():
        others = uses[row] - 1
        if not ((count <= 1 and others <= 1) or count + others + len(writes.wholes) <= 2):
            return False
    return True


def _rest_keeps_order(table: Table, writes: _Writes, reads: dict[int, list[Read]], uses: dict[int, int]) -> bool:
    """Return whether parts that are read after writes to other parts have few enough shares.

    The unrolled program adds these shares to those of the written array, the rolled one to those of the first array.
    """
    if not writes.rest or writes.base is None:
        return True
    first = reads.get(writes.base, [])
    shares, later = np.zeros((2, *table.value(writes.base).aval.shape), np.int64)
    for found, is_later in ((first, False), (writes.rest, True)):
        for pattern, key, x in found:
            index: Any = entries_of(pattern, key)
            shares[index] += max(uses.get(x, 0), 1)
            later[index] += is_later
    wholes = writes.others - len(first) + len(writes.wholes - {writes.base})
    return not ((later > 0) & (shares + wholes > 2)).any()


def _rows_keep_parts(table: Table, reads: dict[int, list[Read]]) -> bool:
    """Return whether no row with more than two reads has parts that are read by index.

    The rolled program reads the row once, and adds the shares of the parts first.
    """
    often: list[int] = []
    for found in reads.values():
        counts = Counter([(pattern, key) for pattern, key, _ in found])
        often += [x for pattern, key, x in found if counts[pattern, key] > 2]
    return not often or not np.isin(table.operands[table.starts[table.of(index_p)]], often).any()


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


def _reads_of(equations: Collection[Equation], bases: Collection[Operand]) -> dict[Operand, list[Index]]:
    """Return the reads of arrays by index in a rolled program. A loop over the rows of an array reads all of them."""
    found: dict[Operand, list[Index]] = {}
    for equation in equations:
        if equation.primitive is index_p and equation.operands[0] in bases:
            found.setdefault(equation.operands[0], []).append(equation.params["index"])
        elif equation.primitive is scan_p:
            for x in equation.params["loop"].parts(equation.operands)[2]:
                if x in bases:
                    found.setdefault(x, []).append(_WHOLE)
    return found


def _reads_keep_order(base: Operand, found: list[Read], slots: list[Index], uses: dict[int, int]) -> bool:
    """Return whether each element of an array is read at most twice, or by only one read of the rolled program."""
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


def _first_uses(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the equation that uses each value first, and the place of this use among all operands and outputs.

    Both factors of a square, and both terms of ``x + x``, have equal shares, so these have no order: their place is 0.
    """
    used = np.concatenate((table.operands, table.outputs))
    places = np.zeros(len(table.types), np.int64)
    # NumPy keeps the last of the values for one place.
    places[used[::-1]] = np.arange(len(used))[::-1]
    count = len(table.equations)
    users = np.append(table.readers(), np.full(len(table.outputs), count))
    found = users[places] if len(users) else np.zeros_like(places)
    alike = np.zeros(count + 1, bool)
    alike[table.of(add_p, mul_p)] = True
    places[alike[found]] = 0
    # The rolled program writes a row where its array is read, so the place of this use is not known.
    found[np.isin(found, table.of(scatter_set_p))] = OUTSIDE
    return found, places


def _uses_keep_order(found: list[Read], places: dict[int, tuple[int, int]]) -> bool:
    """Return whether each row is used in the order in which it is read, as far as the order matters.

    The unrolled program adds the shares in the order of the reads, from the last one on. The rolled program reads the
    row once, so it adds them in the order of the uses. The sum of the first two shares has no order.
    """
    rows: dict[tuple[Pattern, Key], list[tuple[int, int]]] = {}
    for pattern, key, x in found:
        rows.setdefault((pattern, key), []).append(places[x])
    for each in rows.values():
        if len(each) > 2:
            order = range(len(each) - 1, -1, -1)
            if min(each)[0] == OUTSIDE or sorted(order, key=lambda k: (-each[k][0], each[k][1]))[2:] != [*order[2:]]:
                return False
    return True


def _is_mixed(found: list[Read], uses: dict[int, int]) -> bool:
    """Return whether a row is read several times, and one of these reads is used several times."""
    seen: dict[Any, bool] = {}
    for pattern, key, x in found:
        several = uses.get(x, 0) > 1
        entry = pattern, key
        if entry in seen and (several or seen[entry]):
            return True
        seen[entry] = several
    return False
