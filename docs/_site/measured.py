"""The last results of the benchmarks, as the documentation shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
OURS, OTHERS = "#1b6ca8", ("#e4572e", "#2a9d5c", "#b8860b", "#7b4fa3", "#17a2b8", "#8c564b")
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 0.0))


def suite(name: str) -> dict[str, Any]:
    """What a suite last measured."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def duration(seconds: float) -> str:
    """A time with a unit that suits its size."""
    unit, scale = next(each for each in _UNITS if seconds >= each[1])
    return f"{seconds / (scale or 1e-9):.3g} {unit}"


def machine(name: str) -> str:
    """A sentence on where and when a suite was run."""
    where = suite(name)["environment"]
    packages = ", ".join(f"{each} {version}" for each, version in where["packages"].items() if version)
    return (
        f"*{where['date']}, {where['processor']}, {where['cores']} cores, {where['system']}, Python {where['python']}; "
        f"{packages}.*"
    )


def table(name: str) -> str:
    """A suite as a table in Markdown: best times, and ours over each other's."""
    lines = ["| case | contender | best | ours / this |", "|---|---|---:|---:|"]
    for case in suite(name)["cases"]:
        title = f"`{case['case']}`" if "*" in case["case"] else case["case"]
        for who, times in case["contenders"].items():
            ours = who == case["ours"]
            ratio = "" if ours else f"{times['ours_over_this']:.2f}"
            lines.append(f"| {title} | {f'**{who}**' if ours else who} | {duration(times['best'])} | {ratio} |")
            title = ""
    checks = [check for check in suite(name)["checks"] if check["value"] is not None]
    if checks:
        lines += ["", "| also measured | value |", "|---|---:|"]
        lines += [f"| {check['name']} | {check['value']:.3g} {check['unit']} |" for check in checks]
    return "\n".join([*lines, "", machine(name)])


def bars(cases: Sequence[tuple[str, str]], width: float = 9.0) -> Figure:
    """Draw the best times of cases ``(suite, case)``, each with a scale of its own: ours on top, then the others."""
    chosen = [(case, times) for case, times in _cases(cases)]
    columns = 2 if width > 6 else 1
    rows = -(-len(chosen) // columns)
    heights = [max(len(times) for _, times in chosen[i * columns : (i + 1) * columns]) for i in range(rows)]
    figure = plt.figure(figsize=(width, sum(0.27 * n + 0.62 for n in heights)), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, height_ratios=[n + 2.2 for n in heights]).flat
    for axis, (title, times) in zip(axes, chosen, strict=False):
        names, seconds = list(times), list(times.values())
        axis.barh(range(len(names)), seconds, color=[OURS, *(OTHERS[0] for _ in names[1:])], height=0.7)
        axis.set_yticks(range(len(names)), names, fontsize=8.5)
        axis.invert_yaxis()
        axis.set_title(title, fontsize=9.5, loc="left", fontweight="bold")
        axis.set_xlim(0, max(seconds) * 1.22)
        axis.set_xticks([])
        for i, value in enumerate(seconds):
            axis.text(value, i, f" {duration(value)}", va="center", fontsize=8.5)
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
    for axis in list(axes)[len(chosen) :]:
        axis.set_visible(False)
    return figure


def _cases(cases: Sequence[tuple[str, str]]) -> Iterator[tuple[str, dict[str, float]]]:
    """The titles of cases, and their best times: ours first."""
    for name, title in cases:
        case = next(case for case in suite(name)["cases"] if case["case"] == title)
        times = {who: each["best"] for who, each in case["contenders"].items()}
        yield title, {case["ours"]: times.pop(case["ours"]), **times}
