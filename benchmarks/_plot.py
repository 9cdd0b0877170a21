"""A picture of the ratios."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks._timing import Suite

COLOURS = {True: "tab:green", False: "tab:red", None: "tab:grey"}


def plot_ratios(suites: Sequence[Suite], path: Path) -> None:
    """Draw, for every case, our time relative to each contender's, with the targets as marks."""
    rows = [(case, name) for suite in suites for case in suite.cases for name in case.samples if name != case.ours]
    figure = Figure(figsize=(9, 1.2 + 0.28 * len(rows)), layout="constrained")
    axes = figure.subplots()
    ratios = [case.ratio(name) for case, name in rows]
    axes.barh(range(len(rows)), ratios, color=[COLOURS[case.reached(name)] for case, name in rows])
    targets = [(case.limits[name], row) for row, (case, name) in enumerate(rows) if name in case.limits]
    axes.scatter([x for x, _ in targets], [y for _, y in targets], marker="|", color="black", s=90, label="target")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [f"{case.name}: {name}" for case, name in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("funcgrad's time / the contender's\n(green: target met, red: missed, grey: none)")
    axes.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
