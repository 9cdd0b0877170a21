"""Pages and pictures need no other files and are well formed."""

import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._report.page import page, shortened


@fg.named("a </script><b>")
def block(x: Any) -> Any:
    return np.tanh(x)


@pytest.fixture
def graph() -> fg.Graph:
    return fg.make_graph(fg.grad(lambda p: np.sum(block(p["w"]) ** 2)))({"w": np.ones(3)})


def test_a_page_needs_nothing_from_elsewhere(graph: fg.Graph, tmp_path: Path) -> None:
    graph.show(tmp_path / "graph.html")
    text = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'<]*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|\bsrc=|@import|url\((?!#)|\bimport\s*\(|fetch\(", text)
    # No text of the user ends the script or becomes markup.
    assert text.count("</script>") == 2
    assert "prefers-color-scheme: dark" in text


def test_the_data_of_a_page(graph: fg.Graph) -> None:
    found = re.search(r'<script type="application/json" id="graph">(.*?)</script>', page(graph), re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    items = data["items"]
    assert data["columns"] is True
    assert [items[i]["l"] for i in items[0]["c"]] == ["forward", "backward"]
    named = [item for item in items if item["l"] == "a </script><b>"]
    assert {item["p"] for item in named} == {"forward", "backward"}
    # A block and its backward pass refer to each other.
    assert [items[items[item["t"]]["t"]] for item in named] == named
    assert all(items[item["t"]]["p"] != item["p"] for item in named)
    tanh = next(item for item in items if item["l"] == "tanh")
    about = dict(tanh["a"])
    assert about["line"].endswith("return np.tanh(x)")
    assert about["bytes"] == "48"
    assert [items[i]["l"] for i in tanh["r"]]
    assert dict(next(item for item in items if item["k"] == "input")["a"])["argument"] == "0 at ['w']"
    # Each number refers to an item.
    for item in items:
        for number in [*item["r"], *item.get("c", []), *[n for row in item.get("rows", []) for n in row if n >= 0]]:
            assert 0 <= number < len(items)


def test_a_picture_is_well_formed(graph: fg.Graph, tmp_path: Path) -> None:
    root = {}
    for fold in (None, True, False):
        graph.to_svg(tmp_path / "graph.svg", fold=fold)
        root[fold] = ET.parse(tmp_path / "graph.svg").getroot()
    texts = {fold: " ".join(each.itertext()) for fold, each in root.items()}
    assert "tanh" in texts[None]
    assert "+ a </script><b>" in texts[True]
    assert "+ a </script><b>" not in texts[False]
    assert "test_page.py" in texts[False]
    assert float(root[True].attrib["height"]) < float(root[False].attrib["height"])


def test_a_notebook_shows_the_page_in_a_frame(graph: fg.Graph) -> None:
    text = graph._repr_html_()
    assert text is not None
    source = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*" title="[^"]*"></iframe>', text)
    assert source is not None
    assert html.unescape(source[1]) == page(graph)


def test_numbers_are_shortened() -> None:
    assert [shortened(n) for n in (0, 999, 1000, 12_345, 999_600, 10**18)] == [
        "0 ",
        "999 ",
        "1 k",
        "12.3 k",
        "1 M",
        "1e+03 P",
    ]
