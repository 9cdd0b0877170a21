"""The last results of the benchmarks, as the documentation shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
OURS, _LIGHTER, _OTHERS = "#1b6ca8", "#8fbbdc", "#e08a5f"
# The cases in the short table: suite, case, title.
CASES = (
    ("eager", "sum(3*a**3 - b**2)", "eager: gradient of sum(3*a**3 - b**2)"),
    ("eager", "MLP 64-32-32-10, batch 8", "eager: gradient of an MLP 64-32-32-10"),
    ("compiled", "gradient of an MLP 64-32-32-10, batch 8, Numba", "compiled: gradient of an MLP 64-32-32-10"),
    ("compiled", "Black-Scholes and five Greeks, 1,000,000 options, Numba", "compiled: a million options, five Greeks"),
    ("sgd", "1,000 tensors of 1,000", "SGD: 1,000 tensors of 1,000, packed"),
    ("sgd", "ResNet-50, 161 tensors", "SGD: a ResNet-50, 161 tensors"),
    ("tapes", "loop over xs[t], T = 2,000", "a loop over 2,000 rows"),
    ("training_step", "attention, 4 blocks: step", "XLA: a step of four attention blocks"),
)
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 0.0))


def suite(name: str) -> dict[str, Any]:
    """Return the last results of a suite."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def duration(seconds: float) -> str:
    """A time with a unit that suits its size."""
    unit, scale = next(each for each in _UNITS if seconds >= each[1])
    return f"{seconds / (scale or 1e-9):.3g} {unit}"


def machine(name: str) -> str:
    """A sentence on where and when a suite was run."""
    where = suite(name)["environment"]
    packages = ", ".join(f"{each} {version}" for each, version in where["packages"].items() if version)
    gpu = f"{where['accelerator']}, " if where.get("accelerator") else ""
    return (
        f"*{where['date']}, {gpu}{where['processor']}, {where['cores']} cores, {where['system']}, "
        f"Python {where['python']}; {packages}.*"
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


def memory_of_loops() -> str:
    """The peaks of loops as a table in Markdown: a row for each number of rounds, a column for each program."""
    checks = {check["name"]: check["value"] for check in suite("memory")["checks"]}
    names = [name.split(", ", 1) for name in checks if " rounds, " in name]
    rows, columns = [[*dict.fromkeys(each)] for each in zip(*names, strict=True)]
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for rounds in rows:
        found = [
            f"{value:.0f} MB" if (value := checks[f"{rounds}, {what}"]) > 99 else f"{value:.2g} MB" for what in columns
        ]
        lines.append(f"| {rounds} | {' | '.join(found)} |")
    return "\n".join([*lines, "", machine("memory")])


def bars(cases: Sequence[tuple[str, str, str]], width: float = 9.5, without: Sequence[str] = ("JAX, eager",)) -> Figure:
    """Draw the best times of cases ``(suite, case, title)``, each with a scale of its own: ours on top."""
    chosen = [(title, _times(name, case, without)) for name, case, title in cases]
    rows = [chosen[i : i + 2] for i in range(0, len(chosen), 2)]
    most = [max(len(times) for _, times in row) for row in rows]
    figure = plt.figure(figsize=(width, sum(0.25 * n + 0.55 for n in most)), layout="constrained")
    axes = figure.subplots(len(rows), 2, squeeze=False, height_ratios=[n + 1.5 for n in most])
    for line, row, bars_high in zip(axes, rows, most, strict=True):
        for axis, (title, times) in zip(line, row, strict=False):
            _draw(axis, title, times)
            axis.set_ylim(bars_high - 0.4, -0.6)
        for axis in line[len(row) :]:
            axis.set_visible(False)
    return figure


def _draw(axis: Axes, title: str, times: dict[str, float]) -> None:
    """One case: a bar for each contender, with its time."""
    places = range(len(times))
    colours = [OURS, *(_LIGHTER if name.startswith("funcgrad") else _OTHERS for name in list(times)[1:])]
    axis.barh(places, list(times.values()), color=colours, height=0.68)
    axis.set_yticks(places, list(times), fontsize=8.5)
    axis.set_title(title, fontsize=9.5, loc="left", fontweight="bold")
    axis.set_xlim(0, max(times.values()) * 1.25)
    axis.set_xticks([])
    axis.tick_params(left=False)
    for i, value in enumerate(times.values()):
        axis.text(value, i, f" {duration(value)}", va="center", fontsize=8.5)
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def _times(name: str, title: str, without: Sequence[str]) -> dict[str, float]:
    """The best times of a case: ours first."""
    case = next(case for case in suite(name)["cases"] if case["case"] == title)
    times = {who: each["best"] for who, each in case["contenders"].items() if who not in without}
    return {case["ours"]: times.pop(case["ours"]), **times}
