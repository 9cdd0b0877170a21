"""Groups where there are no named blocks: turns of loops, and else pieces that an eye takes in at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from funcgrad._report.items import Item, counted

# A group shows at most this many operations and groups; what is more is put into groups of its own.
MOST = 36


def folded(item: Item) -> Item:
    """Put the operations of groups that are too large into groups of their own; returns the item."""
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
    # What a turn of a loop holds may be too large in its turn.
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
    """Put inputs and outputs where what reads or makes them has gone, if that is one group."""
    homes: dict[int, Item] = {}
    makers: dict[int, list[Item]] = {}
    for child in group.children:
        for item in child.walk():
            homes[id(item)] = child
            for reader in item.readers:
                makers.setdefault(id(reader), []).append(child)
    for item in others:
        beside = makers.get(id(item), []) if item.kind == "output" else [homes.get(id(r), group) for r in item.readers]
        home = beside[0] if beside and all(each is beside[0] for each in beside) else group
        home = home if home.kind == "group" and not home.closed else group
        home.add(item)


def _turns(items: Sequence[Item]) -> list[tuple[str, list[Item]]]:
    """The turns of an unrolled loop: what lies between one run of a line and the next run of the same line."""
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
    """Pieces of about the same size, as many as there are in one, and no more than can be shown."""
    size = max(2, -(-len(items) // min(MOST // 2, max(2, int(len(items) ** 0.5)))))
    pieces = [list(items[i : i + size]) for i in range(0, len(items), size)]
    return [(_turns_of(piece) or _span(piece), piece) for piece in pieces]


def _turns_of(items: Sequence[Item]) -> str:
    """``turns 1-20``, where that is what these are."""
    numbers = [item.label.removeprefix("turn ") for item in items if item.label.startswith("turn ")]
    return f"turns {numbers[0]}-{numbers[-1]}" if len(numbers) == len(items) else ""


def _line(item: Item) -> str:
    return item.line[0] or next((child.line[0] for child in item.walk() if child.line[0]), item.label)


def _span(items: Sequence[Item]) -> str:
    """The lines that the operations come from."""
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
