"""Arrays that a program fills row by row: reads of rows that were written get the rows, found for all rows at once.

``y[t] = f(y[t - 1])`` writes one row in each round, and each write makes a new version of the array. `forward.py`
follows every kind of update, one equation after the other. Here are the programs whose updates are all writes of whole
rows at one integer: arrays of numbers tell which row a read gets, in a tenth of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Graph, Var, trusted_graph
from funcgrad._ops.index.gather import scatter_p
from funcgrad._ops.index.join import stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.numbering import first_places
from funcgrad._ops.rolling.patterns import FIRST_AXIS
from funcgrad._ops.rolling.table import Added, Table

# Fewer writes of one array stay as they are.
_LEAST_WRITES = 3


class _RowWrites(NamedTuple):
    """The writes of a program, in order.

    Args:
        equations: the equations.
        arrays: the number of the array that each write begins with.
        rows: the number of the row that it writes.
        keys: the place of the row.
        first: the first write of the same array.
        depths: how many writes of the array were made by then.
        is_last: whether no other write begins with its result.
        of: the write that makes each value of the program; -1 for other values.
    """

    equations: np.ndarray
    arrays: np.ndarray
    rows: np.ndarray
    keys: np.ndarray
    first: np.ndarray
    depths: np.ndarray
    is_last: np.ndarray
    of: np.ndarray


def filled(graph: Graph, table: Table) -> tuple[Graph, Table] | None:
    """Return the program without reads of rows that were written, and its table.

    An array that is read as a whole is made at once, where it is first read.

    Args:
        graph: the program.
        table: its table.

    Returns:
        ``None`` if the program has other updates than writes of rows, or reads a whole array before its last write.
    """
    writes = _writes_of(table)
    found = None if writes is None else _replaced(table, writes)
    if writes is None or found is None:
        return None
    replaced, operands, kept = found
    whole = _read_as_whole(table, writes)
    if not writes.is_last[whole].all():
        return None
    kept[writes.equations] = False
    of_array = np.argsort(writes.first, kind="stable")
    ends = np.searchsorted(writes.first[of_array], writes.first[whole], "right")
    few = writes.depths[whole] < _LEAST_WRITES
    for end, depth in zip(ends[few].tolist(), writes.depths[whole[few]].tolist(), strict=True):
        kept[writes.equations[of_array[end - depth : end]]] = True
    operands = replaced[operands]
    places = _first_readers(table, operands, kept)
    added: list[Added] = []
    for last, end in zip(whole[~few].tolist(), ends[~few].tolist(), strict=True):
        mine = of_array[end - writes.depths[last] : end]
        place = int(places[writes.equations[last] * table.width])
        made = _made_at_once(table, writes, mine, replaced, place, len(added))
        if made is None:
            return None
        added += made
    edited = table.edited(kept, operands, replaced[table.outputs], added)
    outputs = [edited.value(number) for number in edited.outputs.tolist()]
    return trusted_graph(graph.inputs, graph.constants, edited.equations, outputs, graph.name, graph.trees), edited


def _keys_of(table: Table, parts: np.ndarray) -> np.ndarray:
    """Return the integer of each part that is a row; -1 for others."""
    patterns, keys = table.parts.places()
    is_row = patterns == table.parts.pattern(FIRST_AXIS)
    return np.append(np.where(is_row, keys[:, 0], -1), -1)[parts]


def _writes_of(table: Table) -> _RowWrites | None:
    """Return the writes of rows; ``None`` if the program has other updates."""
    equations = table.of(scatter_set_p)
    starts = table.starts[equations]
    if len(table.of(scatter_p)) or (table.starts[equations + 1] - starts != 2).any():
        return None
    arrays, rows = table.operands[starts], table.operands[starts + 1]
    keys = _keys_of(table, table.parts_of(equations))
    if (keys < 0).any() or not _are_rows(table, arrays, rows):
        return None
    count = len(equations)
    of = np.full(len(table.types), -1)
    of[equations * table.width] = np.arange(count)
    before = of[arrays]
    later = np.bincount(before[before >= 0], minlength=count)
    if later.max(initial=0) > 1:
        return None
    # Each write goes on to the one before, and after that twice, four times, ... as far.
    first, depths = np.where(before < 0, np.arange(count), before), (before >= 0).astype(np.int64)
    while (first[first] != first).any():
        first, depths = first[first], depths + depths[first]
    return _RowWrites(equations, arrays, rows, keys, first, depths + 1, later == 0, of)


def _are_rows(table: Table, arrays: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether values have the types of the rows of arrays."""
    pairs = np.unique(np.stack((table.types[arrays], table.types[rows])), axis=1)
    for a, b in pairs.T.tolist():
        array, row = table.aval(a), table.aval(b)
        if row.weak or array.weak or row.shape != array.shape[1:] or row.dtype != array.dtype:
            return False
    return True


def _replaced(table: Table, writes: _RowWrites) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return what stands for each value, the operands of the program, and a mask of the equations that stay.

    A row that no write before concerns is read in the array before all writes.
    """
    (equations, bases, numbers), of = table.reads, writes.of
    keys = _keys_of(table, numbers)
    mine = (of[bases] >= 0) & (keys >= 0)
    equations, keys, version = equations[mine], keys[mine], of[bases[mine]]
    # The rows of each array, as numbers, and the writes of each row in order.
    count, most = len(writes.equations), int(max(writes.keys.max(), keys.max(initial=0))) + 1
    read = writes.first[version] * most + keys
    _, rows = first_places(np.concatenate((writes.first * most + writes.keys, read)))
    written = rows[:count] * (count + 1) + writes.depths
    order = np.argsort(written)
    asked = rows[count:] * (count + 1) + writes.depths[version]
    last = order[np.searchsorted(written[order], asked, "right") - 1]
    is_found = (rows[last] == rows[count:]) & (writes.depths[last] <= writes.depths[version])
    results = equations * table.width
    replaced = np.arange(len(table.types))
    replaced[results[is_found]] = writes.rows[last[is_found]]
    # Other rows are read once in the first version.
    arrays = writes.arrays[writes.first[version[~is_found]]]
    first, places = first_places(arrays * most + keys[~is_found])
    replaced[results[~is_found]] = results[~is_found][first[places]]
    operands = table.operands.copy()
    operands[table.starts[equations[~is_found]]] = arrays
    kept = replaced[: table.size : table.width] == np.arange(0, table.size, table.width)
    # A row that was written may be a row that was read.
    while (replaced[replaced] != replaced).any():
        replaced = replaced[replaced]
    return replaced, operands, kept


def _read_as_whole(table: Table, writes: _RowWrites) -> np.ndarray:
    """Return the writes whose results are read by other equations than writes and reads of rows."""
    others = np.ones(len(table.operands), bool)
    others[table.starts[writes.equations]] = False
    equations, _, numbers = table.reads
    others[table.starts[equations[_keys_of(table, numbers) >= 0]]] = False
    found = writes.of[np.concatenate((table.operands[others], table.outputs))]
    return np.unique(found[found >= 0])


def _first_readers(table: Table, operands: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the first equation that stays and reads each value; the number of equations for none."""
    readers = table.readers()
    stays = np.flatnonzero(kept[readers])[::-1]
    found = np.full(len(table.types), len(table.equations))
    # NumPy keeps the last of the values for one place.
    found[operands[stays]] = readers[stays]
    return found


def _made_at_once(
    table: Table, writes: _RowWrites, mine: np.ndarray, replaced: np.ndarray, place: int, count: int
) -> list[Added] | None:
    """Return the equations that make an array after its last write; ``None`` if its rows do not lie evenly.

    Args:
        table: the program.
        writes: its writes.
        mine: the writes of the array, in order.
        replaced: what stands for each value.
        place: the equation that reads the array first.
        count: how many equations were added before.
    """
    # The last write of each row.
    keys, last = np.unique(writes.keys[mine][::-1], return_index=True)
    steps = np.unique(np.diff(keys))
    if len(steps) != 1:
        return None
    rows = replaced[writes.rows[mine[::-1][last]]]
    first, result = int(writes.arrays[mine[0]]), int(writes.equations[mine[-1]]) * table.width
    array, whole = table.value(first), table.value(result)
    source = table.equations[min(place, len(table.equations) - 1)].source
    values = tuple([table.value(number) for number in rows.tolist()])
    assert type(whole) is Var
    if len(keys) == array.aval.shape[0]:
        return [Added(place, Equation(stack_p, values, {"axis": 0}, (whole,), source), rows, result)]
    start, stop, step = int(keys[0]), int(keys[-1]) + 1, int(steps[0])
    index = Index((slice(start, stop, None if step == 1 else step),))
    together = Var(Aval((len(keys), *array.aval.shape[1:]), array.aval.dtype))
    number = len(table.types) + count
    return [
        Added(place, Equation(stack_p, values, {"axis": 0}, (together,), source), rows, number),
        Added(
            place,
            Equation(scatter_set_p, (array, together), {"index": index}, (whole,), source),
            np.array([first, number]),
            result,
        ),
    ]
