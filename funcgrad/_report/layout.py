"""Lay out boxes: layers within each group, then sizes and positions from the inside out.

``order.py`` orders each layer with few crossings. ``positions.py`` computes the positions along a layer. When a reader
of a page folds a block, ``place.js`` moves the boxes around it, from the positions that are computed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from funcgrad._report.items import BACKWARD, Item
from funcgrad._report.order import ordered
from funcgrad._report.positions import along

# In pixels: the width of a letter, the gap between boxes, the margin of a group and the height of its title.
LETTER, SMALL_LETTER = 7.0, 6.1
HEIGHT, HALF_HEIGHT, LAYER_GAP, PADDING, TITLE, COLUMN_GAP = 40.0, 24.0, 34.0, 16.0, 26.0, 90.0
DOOR_GAP = 12.0


class Layers:
    """The layers of one group, top to bottom. They contain items, and bends of edges that pass through a layer.

    Args:
        rows: the items and bends of each layer, left to right. A bend is a number.
        edges: ``(from, to, bends)`` between the group's children.
        ports: for each child with an edge to the outside, the bend at the group's border.
    """

    def __init__(
        self, rows: list[list[Any]], edges: list[tuple[Item, Item, list[int]]], ports: dict[tuple[int, bool], list[int]]
    ) -> None:
        self.rows = rows
        self.edges = edges
        self.ports = ports


# The edges of a group's children that cross its border: (group, child, whether the edge enters), by identity.
Borders = set[tuple[int, int, bool]]


def layers_of(group: Item, borders: Borders) -> Layers:
    """Return the layers of a group's children; an edge across the border has a bend in the first or the last layer."""
    nodes: list[Any] = list(group.children)
    pairs = lifted(group)
    ports: dict[tuple[int, bool], int] = {}
    for i, child in enumerate(group.children):
        for entering in (True, False):
            if (id(group), id(child), entering) in borders:
                port = ports[id(child), entering] = len(nodes)
                nodes.append(len(ports) - 1)
                pairs.append((port, i) if entering else (i, port))
    depths = _depths(len(group.children), len(nodes), pairs)
    # An edge that spans several layers has a bend in each layer between; bends are ordered like boxes.
    bends, steps, ways = len(ports), [], {}
    for a, b in pairs:
        chain = [a, *range(len(nodes), len(nodes) + depths[b] - depths[a] - 1), b]
        for depth in range(depths[a] + 1, depths[b]):
            nodes.append(bends)
            depths.append(depth)
            bends += 1
        ways[a, b] = [nodes[i] for i in chain[1:-1]]
        # An edge against the order, for example between blocks that are entered again, is drawn but does not affect the
        # layers.
        steps += list(itertools.pairwise(chain)) if depths[a] < depths[b] else []
    rows = [[nodes[i] for i in row] for row in ordered(depths, steps)]
    edges = [(nodes[a], nodes[b], way) for (a, b), way in ways.items() if max(a, b) < len(group.children)]
    through: dict[tuple[int, bool], list[int]] = {}
    for i, child in enumerate(group.children):
        if (port := ports.get((id(child), True))) is not None:
            through[id(child), True] = [nodes[port], *ways[port, i]]
        if (port := ports.get((id(child), False))) is not None:
            through[id(child), False] = [*ways[i, port], nodes[port]]
    return Layers(rows, edges, through)


def lifted(group: Item) -> list[tuple[int, int]]:
    """Return the edges between a group's children, each once.

    An edge of an item inside a child is an edge of the child.
    """
    owners: dict[int, int] = {}
    for i, child in enumerate(group.children):
        owners.update(dict.fromkeys(map(id, child.walk()), i))
    pairs: dict[tuple[int, int], None] = {}
    for i, child in enumerate(group.children):
        for item in [child] if child.closed else child.walk():
            for reader in item.readers:
                j = owners.get(id(reader))
                if j is not None and j != i:
                    pairs[i, j] = None
    return list(pairs)


def _depths(count: int, total: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each child: the length of the longest path to it.

    A child without inputs is just above its first reader.

    The nodes from ``count`` on are border bends. Those that lead in are above all others, and those that lead out
    below.
    """
    inner = [(a, b) for a, b in pairs if max(a, b) < count]
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in inner:
        after[a].append(b)
        waiting[b] += 1
    roots = [i for i in range(count) if not waiting[i]]
    depths, ready, left = [0] * count, roots[::-1], dict.fromkeys(range(count))
    while left:
        # Groups may depend on each other in a cycle. Then the first in the program comes first.
        i = ready.pop() if ready else next(iter(left))
        left.pop(i)
        for j in after[i]:
            waiting[j] -= 1
            if j in left:
                depths[j] = max(depths[j], depths[i] + 1)
                if not waiting[j]:
                    ready.append(j)
    for i in roots:
        if after[i]:
            depths[i] = min(depths[j] for j in after[i]) - 1
    first, last = min(depths, default=0) - 1, max(depths, default=0) + 1
    leading = {a for a, b in pairs if a >= count}
    depths += [first if i in leading else last for i in range(count, total)]
    low = min(depths, default=0)
    return [depth - low for depth in depths]


def box_size(item: Item) -> tuple[float, float]:
    """Return the size of an operation, a value, or a folded group."""
    first = len(item.label) + (len(item.detail) + 1 if item.detail else 0) + (2 if item.kind == "group" else 0)
    width = max(LETTER * first, SMALL_LETTER * len(item.below)) + 22
    if item.kind in ("op", "group"):
        return width, HEIGHT
    return LETTER * (len(item.label) + 1 + len(item.below)) + 22, HALF_HEIGHT


def least_width(group: Item) -> float:
    """Return the width that the title of an open group needs."""
    return LETTER * (len(group.label) + len(group.below) + 8)


def rows_shown(group: Item, layers: Layers) -> list[list[Any]]:
    """Return the layers of a group from top to bottom. The backward pass goes up."""
    return layers.rows[::-1] if group.part == BACKWARD else layers.rows


class Placed:
    """The positions of all boxes for a given set of open groups.

    Args:
        root: the root group.
        layers: the layers of each open group, by identity.
        opened: the open groups, by identity.
    """

    def __init__(self, root: Item, layers: dict[int, Layers], opened: set[int]) -> None:
        self.layers = layers
        self.opened = opened
        # The width and height of each item, and of each open group; and the corner of each item in its group.
        self.sizes: dict[int, tuple[float, float]] = {}
        self.open_sizes: dict[int, tuple[float, float]] = {}
        self.corners: dict[int, tuple[float, float]] = {}
        # The middle of each bend in its group, and in the picture.
        self.inner_bends: dict[int, dict[int, tuple[float, float]]] = {}
        self.bends: dict[tuple[int, int], tuple[float, float]] = {}
        self._size(root, is_root=True)
        self.boxes: dict[int, tuple[float, float, float, float]] = {}
        self._spread(root, 0.0, 0.0)

    def _size(self, item: Item, *, is_root: bool = False) -> None:
        is_open = id(item) in self.opened
        self.sizes[id(item)] = self.place_inside(item, is_root=is_root) if is_open else box_size(item)

    def place_inside(self, item: Item, *, is_root: bool = False) -> tuple[float, float]:
        """Place the children and bends of a group in it, and return the size of the open group."""
        for child in item.children:
            self._size(child)
        title = 0.0 if is_root else TITLE
        self.inner_bends[id(item)] = {}
        width, height = self._in_columns(item) if is_root and has_columns(item) else self._in_rows(item)
        for child in item.children:
            x, y = self.corners[id(child)]
            self.corners[id(child)] = x + PADDING, y + PADDING + title
        for bend, (x, y) in self.inner_bends[id(item)].items():
            self.inner_bends[id(item)][bend] = x + PADDING, y + PADDING + title
        size = self.open_sizes[id(item)] = max(width + 2 * PADDING, least_width(item)), height + 2 * PADDING + title
        return size

    def _in_columns(self, item: Item) -> tuple[float, float]:
        """Place the forward pass, and beside it the backward pass, whose last operation is at the top."""
        sizes = [self.sizes[id(child)] for child in item.children]
        height, x = max(size[1] for size in sizes), 0.0
        for child, size in zip(item.children, sizes, strict=True):
            self.corners[id(child)] = x, height - size[1]
            x += size[0] + COLUMN_GAP
        return x - COLUMN_GAP, height

    def _in_rows(self, item: Item) -> tuple[float, float]:
        layers = self.layers[id(item)]
        rows = [[id(each) if isinstance(each, Item) else bend_key(each) for each in row] for row in layers.rows]
        xs, width = along(rows, chains_of(layers), self.sizes)
        y, before = 0.0, 0.0
        for i, row in enumerate(rows_shown(item, layers)):
            height = max((self.sizes[id(each)][1] for each in row if isinstance(each, Item)), default=0.0)
            if i:
                y += LAYER_GAP if height and before else DOOR_GAP
            for each in row:
                if isinstance(each, Item):
                    w, h = self.sizes[id(each)]
                    self.corners[id(each)] = xs[id(each)] - w / 2, y + (height - h) / 2
                else:
                    self.inner_bends[id(item)][each] = xs[bend_key(each)], y + height / 2
            y, before = y + height, height
        return width, y

    def _spread(self, item: Item, x: float, y: float) -> None:
        w, h = self.sizes[id(item)]
        self.boxes[id(item)] = x, y, w, h
        if id(item) in self.opened:
            for child in item.children:
                dx, dy = self.corners[id(child)]
                self._spread(child, x + dx, y + dy)
            for bend, (dx, dy) in self.inner_bends[id(item)].items():
                self.bends[id(item), bend] = x + dx, y + dy


def chains_of(layers: Layers) -> list[list[Any]]:
    """Return the keys of the boxes and bends that each edge passes, from layer to layer, for `along`."""
    chains: list[list[Any]] = [[id(a), *map(bend_key, bends), id(b)] for a, b, bends in layers.edges]
    for (child, entering), bends in layers.ports.items():
        way = list(map(bend_key, bends))
        chains.append([*way, child] if entering else [child, *way])
    return chains


def bend_key(bend: int) -> int:
    """Return the key of a bend: negative, because the keys of boxes (identities) are positive."""
    return -1 - bend


def has_columns(root: Item) -> bool:
    """Return whether the forward and the backward pass are two columns."""
    return [child.label for child in root.children] == ["forward", "backward"] and root.children[1].part == BACKWARD


def opened_first(root: Item, most: int) -> set[int]:
    """Return the groups that are open at first: level by level, until the limit of visible boxes."""
    opened = {id(root)}
    level = [child for child in root.children if child.kind == "group"]
    shown = len(root.children)
    if has_columns(root):
        opened.update(map(id, level))
        shown = sum(len(child.children) for child in level)
        level = [child for column in level for child in column.children if child.kind == "group"]
    while level:
        shown += sum(len(group.children) for group in level)
        if shown > most:
            break
        opened.update(map(id, level))
        level = [child for group in level for child in group.children if child.kind == "group"]
    return opened
