"""Draw graphs for papers: SVG without scripts, in light colours."""

from __future__ import annotations

import itertools
import os
from html import escape
from typing import Any

from funcgrad._core.graph.ir import Graph
from funcgrad._report.draw import Drawing, edges_shown, meeting
from funcgrad._report.items import BACKWARD, Item
from funcgrad._report.layout import Placed, has_columns

_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# The fill colour, line colour and text colour of each kind of box.
_COLORS = {
    "forward": ("#e8f1fb", "#3b78b8", "#15304d"),
    "backward": ("#fdeee2", "#c7662b", "#4d260d"),
    "input": ("#eef3ea", "#7d9a6a", "#2f3d27"),
    "constant": ("#f1f1f1", "#9a9a9a", "#3c3c3c"),
    "output": ("#f3ecf8", "#8a68a8", "#35244a"),
}
_EDGE, _ACROSS = "#6b7683", "#b3a397"


def to_svg(graph: Graph, path: str | os.PathLike[str], fold: bool | None = None) -> None:
    """Return the picture of a graph."""
    drawing = Drawing(graph)
    opened = drawing.opened if fold is None else drawing.columns if fold else drawing.all_open
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg_of(drawing, opened))


def svg_of(drawing: Drawing, opened: set[int]) -> str:
    """Return the picture with these groups open."""
    placed = Placed(drawing.root, drawing.layers, opened)
    _, _, width, height = placed.boxes[id(drawing.root)]
    sizes = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {sizes} font-family="{escape(_FONT)}">',
        f"<title>{escape(drawing.graph.name)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
        f'<path d="M0,0.8 L8,4 L0,7.2 z" fill="{_EDGE}"/></marker></defs>',
    ]
    shown = [item for item in drawing.items[1:] if id(item) in placed.boxes]
    lines += [_frame(item, placed) for item in shown if id(item) in opened]
    lines += [_edge(a, b, placed, drawing) for a, b in edges_shown(drawing, opened)]
    lines += [_box(item, placed) for item in shown if id(item) not in opened]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _colors(item: Item) -> tuple[str, str, str]:
    return _COLORS[item.part if item.kind in ("op", "group") else item.kind]


def _frame(item: Item, placed: Placed) -> str:
    x, y, w, h = placed.boxes[id(item)]
    fill, line, ink = _colors(item)
    return (
        f'<g><rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="8" fill="{fill}" fill-opacity="0.35" '
        f'stroke="{line}" stroke-opacity="0.5"/>'
        f'<text x="{x + 12:.1f}" y="{y + 18:.1f}" font-size="12" fill="{ink}"><tspan font-weight="600">'
        f'{escape(item.label)}</tspan><tspan font-size="10.5" dx="8" fill-opacity="0.7">{escape(item.below)}</tspan>'
        "</text></g>"
    )


def _box(item: Item, placed: Placed) -> str:
    x, y, w, h = placed.boxes[id(item)]
    fill, line, ink = _colors(item)
    small = h < 30
    about = "\n".join(f"{name}: {text}" for name, text in item.about.items())
    radius = h / 2 if small else 6
    mark = "+ " if item.kind == "group" else ""
    texts = [f'<tspan font-weight="600">{escape(mark + item.label)}</tspan>']
    rest = item.below if small else item.detail
    if rest:
        texts.append(f'<tspan fill-opacity="0.75"> {escape(rest)}</tspan>')
    middle = x + w / 2
    rows = [_text(middle, y + (h / 2 + 4 if small else 17), 12, ink, "".join(texts))]
    if not small:
        rows.append(_text(middle, y + 32, 10.5, ink, f'<tspan fill-opacity="0.75">{escape(item.below)}</tspan>'))
    return (
        f'<g><title>{escape(about)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" '
        f'rx="{radius:.0f}" fill="{fill}" stroke="{line}"/>{"".join(rows)}</g>'
    )


def _text(x: float, y: float, size: float, ink: str, inside: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="middle" fill="{ink}" xml:space="preserve">'
        f"{inside}</text>"
    )


def _edge(a: Item, b: Item, placed: Placed, drawing: Drawing) -> str:
    points, across = route(a, b, placed, drawing)
    color, width = (_ACROSS, 0.9) if across else (_EDGE, 1.1)
    return (
        f'<path d="{curve(points, across)}" fill="none" stroke="{color}" stroke-width="{width}" '
        f'stroke-opacity="0.85" marker-end="url(#tip)"/>'
    )


def route(a: Item, b: Item, placed: Placed, drawing: Drawing) -> tuple[list[tuple[float, float]], bool]:
    """Return the points of an edge, and whether it goes from one column to the other."""
    group, first, second = meeting(a, b)
    ax, ay, aw, ah = placed.boxes[id(a)]
    bx, by, bw, bh = placed.boxes[id(b)]
    if group is drawing.root and has_columns(drawing.root):
        right = ax < bx
        return [(ax + (aw if right else 0), ay + ah / 2), (bx + (0 if right else bw), by + bh / 2)], True
    bends: Any = next((e[2] for e in drawing.layers[id(group)].edges if e[0] is first and e[1] is second), [])
    middle = [placed.bends[id(group), bend] for bend in bends]
    middle = [*_ports(a, group, False, placed, drawing), *middle, *_ports(b, group, True, placed, drawing)]
    if group.part == BACKWARD:
        return [(ax + aw / 2, ay), *middle, (bx + bw / 2, by + bh)], False
    return [(ax + aw / 2, ay + ah), *middle, (bx + bw / 2, by)], False


def _ports(end: Item, group: Item, entering: bool, placed: Placed, drawing: Drawing) -> list[tuple[float, float]]:
    """Return the bends at the borders between one end of an edge and the group that holds both ends."""
    inside = [*end.path(), end][len(group.path()) + 2 :]
    points = []
    for child in inside if entering else inside[::-1]:
        parent: Any = child.parent
        way = drawing.layers[id(parent)].ports.get((id(child), entering), [])
        points += [placed.bends[id(parent), bend] for bend in way]
    return points


def curve(points: list[tuple[float, float]], across: bool) -> str:
    """Return a smooth path through points, along the layers' direction at each."""
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if across:
            middle = (x0 + x1) / 2
            path += f" C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
        else:
            middle = (y0 + y1) / 2
            path += f" C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return path
