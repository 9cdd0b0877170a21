"""Drawn graphs: each equation appears once, boxes do not overlap, and the first view has a readable number of boxes."""

import functools
from collections import Counter
from itertools import combinations

import pytest

import funcgrad as fg
from funcgrad._core.graph.show import graphs_in
from funcgrad._report.draw import MOST_SHOWN, Drawing, edges_shown
from funcgrad._report.fold import MOST
from funcgrad._report.items import items_of
from funcgrad._report.layout import Placed
from funcgrad._report.positions import GAP, spaced
from funcgrad._report.svg import route
from tests._report._graphs import DRAWN


@functools.cache
def drawn(name: str) -> Drawing:
    return Drawing(DRAWN[name]())


def equations(graph: fg.Graph) -> Counter[str]:
    """Return how often each primitive occurs, bodies of loops included."""
    found = Counter(equation.primitive.name for equation in graph.equations)
    for equation in graph.equations:
        for body in graphs_in(equation.params.values()):
            found += equations(body)
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_every_equation_and_every_value_is_there_once(name: str) -> None:
    drawing = drawn(name)
    graph = drawing.graph
    assert Counter(item.label for item in drawing.items if "equation" in item.about) == equations(graph)
    assert drawing.root.count == sum(equations(graph).values())
    outer = [item for item in drawing.items if not any(group.closed for group in item.path())]
    for kind, count in [("input", len(graph.inputs)), ("output", len(graph.outputs))]:
        assert sum(item.kind == kind for item in outer) == count
    # Folding keeps every edge.
    plain = [(item.label, reader.label) for item in items_of(graph).walk() for reader in item.readers]
    assert sorted((item.label, reader.label) for item in drawing.items for reader in item.readers) == sorted(plain)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("state", ["first", "folded", "open"])
def test_boxes_lie_in_their_groups_and_apart(name: str, state: str) -> None:
    drawing = drawn(name)
    opened = {"first": drawing.opened, "folded": drawing.columns, "open": drawing.all_open}[state]
    placed = Placed(drawing.root, drawing.layers, opened)
    for group in drawing.groups:
        if id(group) not in opened or id(group) not in placed.boxes:
            continue
        x, y, w, h = placed.boxes[id(group)]
        boxes = [placed.boxes[id(child)] for child in group.children]
        assert all(x < a and y < b and a + c < x + w and b + d < y + h for a, b, c, d in boxes)
        for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(boxes, 2):
            assert ax + aw < bx or bx + bw < ax or ay + ah < by or by + bh < ay
    for a, b in edges_shown(drawing, opened):
        points, _ = route(a, b, placed, drawing)
        for item, (px, py) in [(a, points[0]), (b, points[-1])]:
            x, y, w, h = placed.boxes[id(item)]
            assert x <= px <= x + w
            assert y <= py <= y + h


@pytest.mark.parametrize("name", DRAWN)
def test_no_more_is_shown_at_first_than_can_be_read(name: str) -> None:
    drawing = drawn(name)
    placed = Placed(drawing.root, drawing.layers, drawing.opened)
    assert len(placed.boxes) - len(drawing.opened) <= MOST_SHOWN
    for group in drawing.groups:
        assert sum(child.kind in ("op", "group") for child in group.children) <= MOST


def test_the_way_back_goes_up_beside_the_way_there() -> None:
    drawing = drawn("network")
    forward, backward = drawing.root.children
    assert (forward.part, backward.part) == ("forward", "backward")
    placed = Placed(drawing.root, drawing.layers, drawing.all_open)
    for column, sign in ((forward, 1), (backward, -1)):
        inside = [item for item in column.walk() if item.kind == "op"]
        assert {item.part for item in inside} == {column.part}
        for item in inside:
            for reader in [reader for reader in item.readers if column in reader.path()]:
                assert sign * (placed.boxes[id(reader)][1] - placed.boxes[id(item)][1]) > 0


def test_turns_of_an_unrolled_loop_are_folded() -> None:
    drawing = drawn("unrolled")
    labels = [child.label for child in drawing.root.children if child.kind == "group"]
    assert labels[0].startswith("turns 1-")
    assert labels[-1].endswith("-120")
    turns = [item for item in drawing.items if item.label.startswith("turn ")]
    assert len(turns) == 120
    assert {tuple(child.label for child in turn.children if child.kind == "op") for turn in turns[:-1]} == {
        ("sin", "mul", "div", "add")
    }


def test_places_are_the_nearest_that_leave_gaps() -> None:
    assert spaced([0.0, 1000.0], [1, 1], [10, 10]) == [0.0, 1000.0]
    a, b, c = spaced([5.0, 5.0, 500.0], [1, 1, 1], [10, 30, 10])
    assert b - a == 20 + GAP
    assert a + b == 10
    assert c == 500
