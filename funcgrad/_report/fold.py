"""Group the operations outside named blocks: one group per loop iteration, or pieces of a readable size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from funcgrad._report.items import Item, counted

# The largest number of operations and groups in a group. A larger group is split into groups.
MOST = 36


def folded(item: Item) -> Item:
    """Put the operations of groups that are too large into subgroups; return the item."""
    for child in list(item.children):
        folded(child)
    if item.kind == "group":
        _fold(item)
    return item


def _fold(group: Item) -> None:
    while len(moved := [child for child in group.children if child.kind in ("op", "group")]) > MOST:
        parts = _turns(moved) or _evenly(moved)
        others = [child for child in group.children if child.kind not in ("op", "group")]
        group.children = []
        for label, part in parts:
            group.add(part[0] if len(part) == 1 else _grouped(group, label, part))
        _put_back(group, others)
        if len(parts) >= len(moved):
            break
    # The body of one loop iteration may itself be too large.
    for child in group.children:
        if child.kind == "group" and not child.closed and len(child.children) > MOST:
            _fold(child)


def _grouped(parent: Item, label: str, children: Sequence[Item]) -> Item:
    group = Item("group", children[0].part if parent.closed is False else parent.part, label)
    for child in children:
        group.add(child)
    group.about["lines"] = _span(children)
    return group


def _put_back(group: Item, others: Sequence[Item]) -> None:
    """Move inputs and outputs into the group that reads or makes them, if it is one group."""
    homes: dict[int, Item] = {}
    makers: dict[int, list[Item]] = {}
    for child in group.children:
        for item in child.walk():
            homes[id(item)] = child
            for reader in item.readers:
                makers.setdefault(id(reader), []).append(child)
    for item in others:
        beside = makers.get(id(item), []) if item.kind == "output" else [homes.get(id(r), group) for r in item.readers]
        target = beside[0] if beside and all(each is beside[0] for each in beside) else group
        target = target if target.kind == "group" and not target.closed else group
        target.add(item)


def _turns(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """Return the iterations of an unrolled loop: each starts where the same source line runs again."""
    runs = [(line, list(run)) for line, run in groupby(items, key=_line)]
    counts = Counter(line for line, _ in runs)
    often = max(counts.values())
    if often < 3:
        return []
    first = next(line for line, _ in runs if 2 * counts[line] > often)
    turns: list[list[Item]] = [[]]
    for line, run in runs:
        if line == first:
            turns.append([])
        turns[-1] += run
    turns = [turn for turn in turns if turn]
    if len(turns) < 3 or max(map(len, turns)) > len(items) // 2:
        return []
    return [(f"turn {k}", turn) for k, turn in enumerate(turns, 1)]


def _evenly(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """Return pieces of about equal size, each within the limit of one group."""
    size = max(2, -(-len(items) // min(MOST // 2, max(2, int(len(items) ** 0.5)))))
    pieces = [list(items[i : i + size]) for i in range(0, len(items), size)]
    return [(_turns_of(piece) or _span(piece), piece) for piece in pieces]


def _turns_of(items: Sequence[Item]) -> str:
    """Return ``turns 1-20`` if these items are iterations of a loop."""
    numbers = [item.label.removeprefix("turn ") for item in items if item.label.startswith("turn ")]
    return f"turns {numbers[0]}-{numbers[-1]}" if len(numbers) == len(items) else ""


def _line(item: Item) -> str:
    return item.line[0] or next((child.line[0] for child in item.walk() if child.line[0]), item.label)


def _span(items: Sequence[Item]) -> str:
    """Return the range of source lines that the operations come from."""
    lines = sorted({line for item in items for each in item.walk() if (line := each.line[0])}, key=_by_number)
    if not lines:
        return counted(sum(item.count for item in items))
    first, last = lines[0], lines[-1]
    if first == last:
        return first
    file = first.rpartition(":")[0]
    return f"{first}-{last.rpartition(':')[2]}" if all(line.rpartition(":")[0] == file for line in lines) else first


def _by_number(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file, int(number) if number.isdigit() else 0
