"""The paths of all optimizers through a ravine and through Rosenbrock's valley, as a picture.

A run is a scan of gradients and steps, and its learning rate is data: all rates that are tried run at once, under
`vmap`, compiled together. Of those that stay in the picture the one that ends lowest is drawn.

python examples/ravine.py --output docs/ravine.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import funcgrad as fg
from funcgrad import optim
from funcgrad.sparse import Rows

STEPS = 100
# Two or three in each decade.
RATES = np.geomspace(1e-4, 100.0, 19)


class Surface(NamedTuple):
    """A function of a matrix ``[[x, y]]``, for the rule that takes matrices alone; and what of it is drawn."""

    name: str
    loss: Callable[[Any], Any]
    start: tuple[float, float]
    lowest: tuple[float, float]
    x: tuple[float, float]
    y: tuple[float, float]


def ravine(p: Any) -> Any:
    """A bowl that is forty times as steep along y."""
    return 0.05 * p[0, 0] ** 2 + 2.0 * p[0, 1] ** 2


def rosenbrock(p: Any) -> Any:
    """Rosenbrock's function (1960), with 10 in the place of 100."""
    return (1 - p[0, 0]) ** 2 + 10 * (p[0, 1] - p[0, 0] ** 2) ** 2


SURFACES = (
    Surface("Ravine", ravine, (-9.0, 1.6), (0.0, 0.0), (-10.0, 3.0), (-2.2, 2.2)),
    Surface("Rosenbrock", rosenbrock, (-1.3, 1.6), (1.0, 1.0), (-1.8, 1.6), (-0.7, 2.1)),
)


def runs() -> dict[str, tuple[Any, Any]]:
    """For each panel how a state begins, and the step."""
    momentum = partial(fg.sgd_init, momentum=0.9)
    found: dict[str, tuple[Any, Any]] = {
        "SGD": (fg.sgd_init, fg.sgd_update),
        "SGD, momentum": (momentum, fg.sgd_update),
        "SGD, Nesterov": (partial(momentum, nesterov=True), fg.sgd_update),
    }
    names = "Adam AdamW NAdam RAdam Adamax Adagrad Adadelta RMSprop Rprop ASGD Lion Muon SparseAdam"
    for name in names.split():
        lower = {"SparseAdam": "sparse_adam"}.get(name, name.lower())
        found[name] = getattr(optim, f"{lower}_init"), getattr(optim, f"{lower}_update")
    return found


def path(init: Any, update: Any, surface: Surface, rate: Any) -> Any:
    """The points of one run: f64[STEPS + 1, 2]."""
    start = np.array([surface.start])

    def step(carry: Any, _: Any) -> Any:
        params, state = carry
        g = fg.grad(surface.loss)(params)
        g = Rows(np.arange(1), g, (1, 2)) if update is optim.sparse_adam_update else g
        params, state = update(g, state, params)
        return (params, state), params[0]

    _, points = fg.scan(step, (start, init(start, lr=rate)), None, length=STEPS)
    return np.concatenate([start, points])


def best_path(init: Any, update: Any, surface: Surface) -> tuple[np.ndarray, float]:
    """The run that ends lowest of those that stay in the picture, and its rate."""
    paths = np.asarray(fg.jit(fg.vmap(partial(path, init, update, surface)))(RATES))
    with np.errstate(all="ignore"):
        ends = np.array([surface.loss(points[-1:]) for points in paths])
    low, high = np.array([surface.x, surface.y]).T
    inside = ((low < paths) & (paths < high)).all(axis=(1, 2))
    best = int(np.argmin(np.where(inside, ends, np.inf)))
    return paths[best], RATES[best]


def draw(ax: Any, surface: Surface, points: np.ndarray, title: str) -> None:
    """Contours, the path, and where it ends."""
    x, y = np.meshgrid(np.linspace(*surface.x, 120), np.linspace(*surface.y, 120))
    heights = surface.loss(np.stack([x, y])[None])
    ax.contourf(x, y, np.log10(heights + 1e-2), levels=8, cmap="Greys_r", vmin=-3.0)
    ax.plot(*points.T, color="tab:blue", linewidth=0.9, marker=".", markersize=1.8)
    ax.plot(*surface.lowest, color="tab:red", marker="+", markersize=8)
    ax.plot(*points[-1], color="tab:orange", marker="o", markersize=3)
    ax.set(xlim=surface.x, ylim=surface.y, xticks=[], yticks=[])
    ax.set_title(title, fontsize=7, pad=2)


def main() -> None:
    """Run the rules on both surfaces, print where they end, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("examples/output/ravine.png"))
    parser.add_argument("--rules", nargs="*", default=list(runs()))
    options = parser.parse_args()
    output = options.output
    mpl.use("Agg")
    held = {name: runs()[name] for name in options.rules}
    rows = min(4, len(held))
    columns = -(-len(held) // rows)
    figure, axes = plt.subplots(rows, 2 * columns, figsize=(11, 5.6), layout="constrained", squeeze=False)
    for block, surface in enumerate(SURFACES):
        for i, (name, (init, update)) in enumerate(held.items()):
            points, rate = best_path(init, update, surface)
            end = float(surface.loss(points[-1:]))
            print(f"{surface.name:<10} {name:<13} lr {rate:<8.2g} loss {end:.2g}")
            draw(axes[i // columns][block * columns + i % columns], surface, points, f"{name}, lr {rate:.2g}")
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=90)
    print(f"picture: {output}")


if __name__ == "__main__":
    main()
