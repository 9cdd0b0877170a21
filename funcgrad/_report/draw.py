"""A drawn graph: the data that the page and the picture share."""

from __future__ import annotations

from typing import Any

from funcgrad._core.graph.ir import Graph
from funcgrad._report.fold import folded
from funcgrad._report.items import Item, items_of, summed
from funcgrad._report.layout import (
    PADDING,
    TITLE,
    Borders,
    Layers,
    Placed,
    box_size,
    has_columns,
    layers_of,
    least_width,
    opened_first,
    rows_shown,
)
from funcgrad._report.positions import BEND

# The number of boxes that are visible at first; groups beyond it are folded.
MOST_SHOWN = 60


class Drawing:
    """The numbered items of a graph, the layers of each group, and the groups that are open at first."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root = summed(folded(items_of(graph)))
        self.items = list(self.root.walk())
        for i, item in enumerate(self.items):
            item.number = i
        self.numbers = {id(item): item.number for item in self.items}
        self.groups = [item for item in self.items if item.children]
        borders = self._borders()
        self.layers: dict[int, Layers] = {id(group): layers_of(group, borders) for group in self.groups}
        self.opened = opened_first(self.root, MOST_SHOWN)

    def _borders(self) -> Borders:
        """Return the group borders that an edge crosses between its ends, except the borders of columns."""
        found: Borders = set()
        columns = has_columns(self.root)
        for item in self.items:
            for reader in item.readers:
                group, _, _ = meeting(item, reader)
                if columns and group is self.root:
                    continue
                for end, entering in ((item, False), (reader, True)):
                    for child in [*end.path(), end][len(group.path()) + 2 :]:
                        found.add((id(child.parent), id(child), entering))
        return found

    @property
    def all_open(self) -> set[int]:
        """Return all groups."""
        return {id(group) for group in self.groups}

    @property
    def columns(self) -> set[int]:
        """Return the groups that are open when all blocks are folded."""
        columns = self.root.children if has_columns(self.root) else []
        return {id(self.root), *map(id, columns)}


def edges_shown(drawing: Drawing, opened: set[int]) -> list[tuple[Item, Item]]:
    """Return the edges between visible items, each once. A folded group stands for all its items."""
    found: dict[tuple[int, int], tuple[Item, Item]] = {}
    for item in drawing.items:
        for reader in item.readers:
            a, b = seen(item, opened), seen(reader, opened)
            if a is not b:
                found[id(a), id(b)] = a, b
    return list(found.values())


def seen(item: Item, opened: set[int]) -> Item:
    """Return the item itself, or the outermost folded group that contains it."""
    return next((group for group in item.path() if id(group) not in opened), item)


def meeting(a: Item, b: Item) -> tuple[Item, Item, Item]:
    """Return the innermost group that contains both items, and its two children that contain them."""
    first, second = [*a.path(), a], [*b.path(), b]
    depth = 0
    while depth + 1 < min(len(first), len(second)) and first[depth + 1] is second[depth + 1]:
        depth += 1
    return first[depth], first[min(depth + 1, len(first) - 1)], second[min(depth + 1, len(second) - 1)]


def as_data(drawing: Drawing) -> dict[str, Any]:
    """Return the data of the page, with the places of all boxes.

    A group that is open at first is placed as it is shown then. Another group is placed with all its children folded.
    """
    placed = Placed(drawing.root, drawing.layers, drawing.opened)
    for group in drawing.groups:
        if id(group) not in drawing.opened:
            placed.place_inside(group)
    return {
        "name": drawing.graph.name,
        "items": [_item(drawing, item, placed) for item in drawing.items],
        "sizes": {"padding": PADDING, "title": TITLE, "bend": BEND},
        "open": [item.number for item in drawing.groups if id(item) in drawing.opened],
        "columns": has_columns(drawing.root),
    }


def _item(drawing: Drawing, item: Item, placed: Placed) -> dict[str, Any]:
    data: dict[str, Any] = {
        "k": item.kind,
        "p": item.part,
        "l": item.label,
        "d": item.detail,
        "b": item.below,
        "a": list(item.about.items()),
        "n": item.count,
        "f": item.flops,
        "r": [reader.number for reader in item.readers],
        "u": -1 if item.parent is None else item.parent.number,
        "s": _rounded(box_size(item)),
    }
    layers = drawing.layers.get(id(item))
    if layers is not None:
        data["t"] = -1 if item.twin is None else item.twin.number
        data["c"] = [child.number for child in item.children]
        rows = [item.children] if item is drawing.root and has_columns(item) else rows_shown(item, layers)
        data["rows"] = [[each.number if isinstance(each, Item) else -1 - each for each in row] for row in rows]
        data["z"] = _rounded((*placed.open_sizes[id(item)], least_width(item)))
        data["at"] = [_rounded(placed.corners[id(child)]) for child in item.children]
        bends = placed.inner_bends[id(item)]
        data["bends"] = [_rounded(bends[bend]) for bend in range(len(bends))]
        data["e"] = [[a.number, b.number, bends] for a, b, bends in layers.edges]
        data["w"] = [[drawing.numbers[child], int(entering), way] for (child, entering), way in layers.ports.items()]
    return data


def _rounded(numbers: tuple[float, ...]) -> list[float]:
    """Return pixels with one digit after the point: the data of a page stays short."""
    return [round(x, 1) for x in numbers]
