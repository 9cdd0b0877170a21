"""Draw the pictures of the README: ``PYTHONPATH=.:docs/_site python docs/_site/pictures.py``.

The graph is written as SVG; package indexes show PNG alone, so a browser or converter makes that of it.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from measured import CASES, bars

import funcgrad as fg

FOLDER = Path(__file__).parents[1] / "_static"


def loss(params: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> np.floating:
    """A small network's."""
    hidden = np.tanh(x @ params["weight"] + params["bias"])
    return np.mean((hidden @ params["out"] - y) ** 2)


def main() -> None:
    """Draw both."""
    mpl.use("Agg")
    bars(CASES).savefig(FOLDER / "benchmarks.png", dpi=140)
    params = {"weight": np.zeros((5, 8)), "bias": np.zeros(8), "out": np.zeros(8)}
    fg.make_graph(fg.grad(loss))(params, np.zeros((32, 5)), np.zeros(32)).to_svg(FOLDER / "graph.svg")


if __name__ == "__main__":
    main()
