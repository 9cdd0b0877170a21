"""Chains: the updates of one array in their order, and the equations that give a row or a window after some of them.

The *depth* of an update is its number in the chain, from 1 on. Depth 0 is the array before all of them.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import islice, pairwise, product

import numpy as np

from funcgrad._core.graph.ir import Equation, Literal, Operand
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._ops.rolling.forwarding.cells import Cells, Filled, RowUpdate, Run, WindowRow, WindowSum
from funcgrad._ops.rolling.patterns import FIRST_AXIS, HOLE, Key, Pattern
from funcgrad._ops.rolling.rows import Gatherer
from funcgrad.tree.extend import static_key

# At least this many rows of a window are read at once from an array that has them.
_LEAST_ROWS = 8
# The most rows of an array that are read or added to at once by one equation, and are followed.
MOST_CELLS = 64


_depth_of = operator.attrgetter("depth")


class Chain:
    """The updates of rows of an array, all at one pattern (``rows.py``)."""

    def __init__(self, base: Operand, pattern: Pattern) -> None:
        self.base = base
        self.pattern = pattern
        self.depth = 0
        self.of: dict[Key, list[RowUpdate]] = {}
        # The depths of the updates that add.
        self.sums: list[int] = []
        # The versions that were made as arrays, by depth.
        self.made: dict[int, Operand] = {0: base}
        self._depths = [0]
        # The rows that were read, so that equal reads get one variable.
        self.known: dict[object, Operand] = {}
        # Whether a row or a window was read.
        self.is_read = False
        # The sums of many rows, by the depth after each: the depth before it, the scatter, and whether the scatter is
        # the first operand of the sum.
        self.sums_of_many: dict[int, tuple[int, Equation, bool]] = {}
        # The window that was read last: its array, and for each row its position there and its value.
        self.window: tuple[Operand | None, dict[Key, tuple[int, Operand | WindowRow]]] = None, {}
        # The depth of the last update of each row; made when a window is read or added to.
        self._newest: np.ndarray | None = None
        # The sums of windows by depth, and the depth of the last one of each row. These are no updates of single rows
        # in ``of`` until an older version is read.
        self._windows: dict[int, WindowSum] = {}
        self._window_at: np.ndarray | None = None
        # The updates of each depth; none for sums of windows.
        self._events: list[list[tuple[Key, RowUpdate]]] = []

    def add(self, key: Key, value: Operand | Filled, row_first: bool = False, *, adds: bool) -> int:
        """Add an update, and return its depth."""
        self.depth += 1
        event = RowUpdate(self.depth, adds, value, row_first)
        self._events.append([(key, event)])
        self.of.setdefault(key, []).append(event)
        if self._newest is not None:
            self._newest[key] = self.depth
        if adds:
            self.sums.append(self.depth)
        return self.depth

    def add_window(self, window: WindowSum) -> None:
        """Add an update that adds to all rows of a window."""
        self.depth += 1
        self._events.append([])
        self._windows[self.depth] = window
        if self._window_at is None:
            self._window_at = np.zeros(self._depths_of_rows().shape, np.int64)
        self._window_at[window.box] = self.depth
        self._depths_of_rows()[window.box] = self.depth
        self.sums.append(self.depth)

    def events_between(self, before: int, depth: int) -> list[tuple[Key, RowUpdate]]:
        """Return the updates of single rows between two depths."""
        return [event for events in self._events[before:depth] for event in events]

    def has_windows(self, before: int, depth: int) -> bool:
        """Return whether sums of windows are among the updates between two depths."""
        return any(each in self._windows for each in range(before + 1, depth + 1))

    def changed_rows(self, before: int, depth: int) -> list[Key]:
        """Return the rows that updates between two depths concern."""
        if depth == self.depth and self._windows:
            return [*map(tuple, np.argwhere(self._depths_of_rows() > before).tolist())]
        keys: dict[Key, None] = {}
        for each in range(before + 1, depth + 1):
            window = self._windows.get(each)
            keys |= dict.fromkeys(window.keys if window else [key for key, _ in self._events[each - 1]])
        return [*keys]

    def _depths_of_rows(self) -> np.ndarray:
        if self._newest is None:
            self._newest = np.zeros(self.base.aval.shape[: len(self.pattern)], np.int64)
            for key, events in self.of.items():
                self._newest[key] = events[-1].depth
        return self._newest

    def single_rows(self, box: tuple[slice, ...]) -> int:
        """Return the number of rows of a window that are no rows of sums of windows."""
        runs = self.runs(box)
        if runs is None:
            return WindowSum(box, self.base).size
        return sum(each.end - each.start for each in runs if each.array is None)

    def note(self, depth: int, version: Operand) -> None:
        """Note a version that was made as an array."""
        self.made[depth] = version
        insort(self._depths, depth)

    def made_before(self, depth: int) -> int:
        """Return the depth of the last version before ``depth`` that was made as an array."""
        return self._depths[bisect_left(self._depths, depth) - 1]

    def is_first(self, key: Key, depth: int) -> bool:
        """Return whether a row is the one of the array before all updates. Sums of other rows add 0 to it."""
        events = self.of.get(key)
        if events and events[0].depth <= depth:
            return False
        return not self.sums_between(0, depth)

    def last(self, key: Key, depth: int) -> tuple[RowUpdate | None, Sequence[RowUpdate]]:
        """Return the last update up to a depth that replaces a row, and those after it, which add to the row."""
        window = 0 if self._window_at is None else int(self._window_at[key])
        if window > depth:
            self._split_windows()
            window = 0
        events = self.of.get(key) or []
        count = len(events)
        if count and events[-1].depth > depth:
            count = bisect_right(events, depth, key=_depth_of)
        start = count - 1
        while start >= 0 and events[start].adds and events[start].depth > window:
            start -= 1
        after = events[start + 1 : count]
        if window and (start < 0 or events[start].depth < window):
            return self._windows[window].update(key, window), after
        return events[start] if start >= 0 else None, after

    def _split_windows(self) -> None:
        """Note the sums of windows as updates of single rows, for reads of older versions."""
        self._window_at = None
        for depth, window in self._windows.items():
            for key, event in window.updates(depth):
                insort(self.of.setdefault(key, []), event, key=_depth_of)

    def runs(self, box: tuple[slice, ...]) -> list[Run] | None:
        """Return the parts of a window that one array has; ``None`` if the window has several axes."""
        long = [k for k, each in enumerate(box) if each.stop - each.start > 1]
        if len(long) != 1:
            return None
        (k,) = long
        depths = self._depths_of_rows()[box].reshape(-1)
        cuts = [0, *(np.flatnonzero(depths[1:] != depths[:-1]) + 1).tolist(), len(depths)]
        before = self.made_before(self.depth + 1)
        found: list[Run] = []
        for start, end in pairwise(cuts):
            depth = int(depths[start])
            window, array = self._windows.get(depth), None
            if depth <= before and end - start >= _LEAST_ROWS:
                first = box[k].start
                array = self.made[before], (*box[:k], slice(first + start, first + end), *box[k + 1 :])
            elif window is not None:
                if window.size != window.box[k].stop - window.box[k].start:
                    return None
                first = box[k].start + start - window.box[k].start
                array = window.rows, (slice(first, first + end - start),)
            found.append(Run(start, end, array, depth <= before and self.sums_between(before, self.depth) > 0))
        return found

    def version_with(self, cells: Cells, depth: int) -> Operand | None:
        """Return the last array that exists if none of these rows changed after it, up to a depth; else ``None``."""
        before = depth if depth in self.made else self.made_before(depth)
        changed = self._depths_of_rows()[_box(cells.lows, cells.highs)].max() > before
        return None if changed or self.sums_between(before, depth) else self.made[before]

    def sums_between(self, after: int, until: int) -> int:
        """Return how many updates between two depths add."""
        if not self.sums or self.sums[-1] <= after:
            return 0
        return bisect_right(self.sums, until) - bisect_right(self.sums, after)


def _box(lows: Key, highs: Key) -> tuple[slice, ...]:
    return tuple([slice(low, high + 1) for low, high in zip(lows, highs, strict=True)])


class ChainReader(Gatherer):
    """Appends the equations that give rows and windows of arrays with chains."""

    def __init__(self) -> None:
        super().__init__()
        self._filled: dict[object, Operand] = {}

    def element(self, chain: Chain, key: Key, depth: int) -> Operand:
        """Return the row at ``key`` after the updates up to ``depth``."""
        found = self._value(chain, key, depth)
        return self.part(found.window, FIRST_AXIS, (found.place,)) if isinstance(found, WindowRow) else found

    def _value(self, chain: Chain, key: Key, depth: int) -> Operand | WindowRow:
        """Return the row at ``key``; the row of a window is not read yet."""
        replaced, events = chain.last(key, depth)
        at, value = (0, None) if replaced is None else (replaced.depth, self._made_row(replaced.value))
        is_sum = isinstance(value, WindowRow)
        if is_sum and not events:
            # Later sums of other rows add 0 to it. This changes nothing, because it is a sum that cannot be -0.0.
            return value
        last = events[-1].depth if events else at
        is_added = chain.sums_between(last, depth) > 0
        if value is not None and not events and not is_added:
            return value
        entry = key, at, last, is_added
        if entry in chain.known:
            return chain.known[entry]
        if value is None:
            value = self.part(chain.base, chain.pattern, key)
        elif isinstance(value, WindowRow):
            value = self.part(value.window, FIRST_AXIS, (value.place,))
        # Sums of other rows add 0, which turns -0.0 into 0.0. The row of a window is a sum that cannot be -0.0.
        if events and not is_sum and chain.sums_between(at, events[0].depth) > 1:
            value = self.plus_zero(value)
        for event in events:
            assert not isinstance(event.value, WindowRow | Filled)
            value = self.emit(add_p, value, event.value)
        if not events and is_added:
            value = self.plus_zero(value)
        chain.known[entry] = value
        return value

    def _made_row(self, value: Operand | WindowRow | Filled) -> Operand | WindowRow:
        """Return a row. Two rows of one number and one shape are one array."""
        if not isinstance(value, Filled):
            return value
        entry = static_key(value.number.value), value.shape
        if entry not in self._filled:
            self._filled[entry] = self.emit(broadcast_to_p, value.number, shape=value.shape)
        return self._filled[entry]

    def plus_zero(self, x: Operand) -> Operand:
        """Return x + 0, once."""
        zero = x.aval.dtype.type(0)
        return Literal(x.value + zero) if type(x) is Literal else self.emit(add_p, x, Literal(zero))

    def window(self, chain: Chain, cells: Cells, depth: int) -> Operand:
        """Return the rows of a window after the updates up to ``depth``.

        NumPy adds the elements of an array in the order of memory, and pairs them by their distances. So the result has
        gaps in memory where the window of the array has gaps: the rows between those that the window names, and one
        more row along each later axis that the window does not cover.
        """
        shape = chain.base.aval.shape
        lengths: list[int] = []
        entries: list[int | slice] = []
        lines: list[list[int]] = []
        for each, is_kept, n in zip(cells.places, cells.is_kept, shape, strict=False):
            low, high = min(each[0], each[-1]), max(each[0], each[-1])
            line = [*range(low, high + 1)]
            if lengths and len(line) < n:
                line.append(low)
            if is_kept or lengths:
                lengths.append(len(line))
                start, stop = (high - low, None) if each.step < 0 else (0, high - low + 1)
                entries.append(slice(start, stop, each.step) if is_kept else 0)
            lines.append(line)
        found = self.stack_of(chain, [*product(*lines)], depth)
        if len(lengths) > 1:
            found = self.emit(reshape_p, found, shape=(*lengths, *shape[len(lines) :]))
        if all(each == slice(0, n, 1) for each, n in zip(entries, lengths, strict=True)):
            return found
        return self.emit(index_p, found, index=Index(tuple(entries)))

    def window_now(self, chain: Chain, box: tuple[slice, ...]) -> Operand:
        """Return the rows of a window after all updates, stacked along a new first axis."""
        runs = chain.runs(box)
        if runs is None:
            return self.stack_of(chain, WindowSum(box, chain.base).keys, chain.depth)
        pieces: list[Operand] = []
        rows: list[Operand | WindowRow] = []
        rest = chain.base.aval.shape[len(box) :]
        for start, end, array, is_added in runs:
            if array is None:
                keys = product(*[range(each.start, each.stop) for each in box])
                rows += [self._row(chain, key, chain.depth) for key in islice(keys, start, end)]
                continue
            if rows:
                pieces.append(self._joined(rows))
                rows = []
            piece, places = array
            if tuple([each.stop - each.start for each in places]) != piece.aval.shape[: len(places)]:
                piece = self.part(piece, (HOLE,) * len(places), places)
            if len(places) > 1:
                piece = self.emit(reshape_p, piece, shape=(end - start, *rest))
            pieces.append(self.plus_zero(piece) if is_added else piece)
        pieces += [self._joined(rows)] if rows else []
        return pieces[0] if len(pieces) == 1 else self.emit(concatenate_p, *pieces, axis=0)

    def _row(self, chain: Chain, key: Key, depth: int) -> Operand | WindowRow:
        """Return a row; one of the first array that lies in a line is not read yet."""
        if chain.pattern == FIRST_AXIS and chain.is_first(key, depth):
            return WindowRow(chain.base, key[0])
        return self._value(chain, key, depth)

    def stack_of(self, chain: Chain, keys: Sequence[Key], depth: int) -> Operand:
        """Return rows stacked along a new first axis. Rows that the window before has are read as a slice of it."""
        window, known = chain.window
        rows: list[Operand | WindowRow] = []
        values: dict[Key, tuple[int, Operand | WindowRow]] = {}
        for k, key in enumerate(keys):
            value = self._row(chain, key, depth)
            values.setdefault(key, (k, value))
            if window is not None and key in known:
                place, before = known[key]
                if value == before if isinstance(value, WindowRow) else value is before:
                    value = WindowRow(window, place)
            rows.append(value)
        found = self._joined(rows)
        chain.window = found, values
        return found

    def _joined(self, rows: Sequence[Operand | WindowRow]) -> Operand:
        """Return rows stacked along a new first axis."""
        pieces: list[Operand] = []
        start = 0
        while start < len(rows):
            first = rows[start]
            if isinstance(first, WindowRow):
                end = start + 1
                while end < len(rows) and rows[end] == WindowRow(first.window, first.place + end - start):
                    end += 1
                piece = first.window
                if end - start < piece.aval.shape[0]:
                    piece = self.part(piece, FIRST_AXIS, (slice(first.place, first.place + end - start),))
            else:
                ones: list[Operand] = []
                for each in rows[start:]:
                    if isinstance(each, WindowRow):
                        break
                    ones.append(each)
                end, piece = start + len(ones), self.emit(stack_p, *ones, axis=0)
            pieces.append(piece)
            start = end
        return pieces[0] if len(pieces) == 1 else self.emit(concatenate_p, *pieces, axis=0)
