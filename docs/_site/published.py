"""The last results of benchmarks that others publish, as the documentation shows them."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from measured import RESULTS, bars, duration, machine, suite, table

from benchmarks.npbench import _table
from benchmarks.npbench.__main__ import stored
from benchmarks.npbench._programs import DACE

_COLOURS = {"eager": "#b9b9b9", "numpy": "#e08a5f", "numba": "#1b6ca8", "xla": "#57a773"}
_NAMES = {"eager": "eager", "numpy": "NumPy", "numba": "Numba", "xla": "XLA"}


def npbench_counts() -> str:
    """Return how many of NPBench's programs ended in which way, by engine, as a table in Markdown."""
    rows = suite("npbench")["rows"]
    found = {name: _table.counts(rows, name) for name in _NAMES}
    lines = [f"| the gradient is | {' | '.join(_NAMES.values())} |", "|---|" + "---:|" * len(_NAMES)]
    for what in _table.OUTCOMES:
        counts = [found[name][what] for name in _NAMES]
        if any(counts):
            lines.append(f"| {what} | {' | '.join(map(str, counts))} |")
    remark = suite("npbench")["remark"]
    return "\n".join([*lines, "", f"{len(rows)} programs. {remark} {machine('npbench')}"])


def npbench_table() -> str:
    """Return NPBench's programs with JAX's times and our times over them, as a table in Markdown."""
    return _table.markdown(suite("npbench")["rows"])


def npbench_on_numba(size: str) -> str:
    """Return Numba's gradients beside JAX's at a size, in processor time, as a table in Markdown."""
    name = stored(size, "processor")
    lines = ["| program | JAX: first call, run | Numba: first call, run | gradient |", "|---|---|---|---|"]
    for row in suite(name)["rows"]:
        both = [row["contenders"][who] for who in ("jax", "numba")]
        times = [f"{duration(x['first'])}, {duration(x['run'])}" if x["status"] == "ok" else x["error"] for x in both]
        lines.append(f"| {row['program']} | {times[0]} | {times[1]} | {row['check']} |")
    means = [line for line in _table.summary(suite(name)["rows"]) if "geometric mean" in line]
    return "\n".join([*lines, "", *means, "", suite(name)["remark"]])


def npbench_of_dace() -> str:
    """Return the programs whose gradients DaCe's tests check, each with what it gives on each engine."""
    rows = {row["program"]: row for row in suite("npbench_xs")["rows"]}
    lines = [f"| program | {' | '.join(_NAMES.values())} | compared with |", "|---|" + "---|" * (len(_NAMES) + 1)]
    for name in DACE:
        if name in rows:
            found = [_table.outcome(rows[name], engine) for engine in _NAMES]
            lines.append(f"| {name} | {' | '.join(found)} | {rows[name]['check']} |")
    return "\n".join([*lines, "", suite("npbench_xs")["remark"]])


def npbench_chart() -> Figure:
    """Draw each engine's time of a gradient over JAX's, a line for each of NPBench's programs, fastest first."""
    rows = [row for row in suite("npbench")["rows"] if _ratios(row)]
    rows.sort(key=lambda row: min(_ratios(row).values()), reverse=True)
    figure, axis = plt.subplots(figsize=(9.5, 0.21 * len(rows) + 1), layout="constrained")
    for name, colour in _COLOURS.items():
        at = [(_ratios(row)[name], i) for i, row in enumerate(rows) if name in _ratios(row)]
        axis.scatter([x for x, _ in at], [y for _, y in at], s=26, color=colour, label=_NAMES[name], zorder=3)
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), [row["program"] for row in rows], fontsize=8)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlabel("time of the gradient over JAX's: left of 1 funcgrad is faster")
    axis.grid(axis="x", linewidth=0.4)
    axis.legend(loc="lower right", fontsize=8.5)
    return figure


def _ratios(row: _table.Row) -> dict[str, float]:
    found = {name: _table.ratio(row, name, "run") for name in _NAMES}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def times(name: str, command: str) -> str:
    """Return the times and notes of a suite's last run in Markdown, or the command that makes one."""
    if not _is_stored(name):
        return f"`benchmarks/results` holds no run of this suite yet. `{command}` makes one."
    notes = "\n".join(f"- {note}" for note in suite(name)["notes"])
    return "\n\n".join([table(name), _losses(name), notes])


def _losses(name: str) -> str:
    """Return the cases in which another contender is faster than each of funcgrad's, as a sentence and a list."""
    lines: list[str] = []
    for case in suite(name)["cases"]:
        best = {who: each["best"] for who, each in case["contenders"].items()}
        ours = min((who for who in best if who.startswith("funcgrad")), key=best.__getitem__)
        ahead = [f"{who} {best[who] / best[ours]:.2f}" for who in best if best[who] < best[ours]]
        if ahead:
            lines.append(f"- {case['case']} ({ours}): {', '.join(ahead)}")
    count = len(suite(name)["cases"])
    if not lines:
        return f"Each of the {count} cases is fastest with one of funcgrad's engines."
    title = f"In {len(lines)} of {count} cases others are faster than funcgrad's fastest engine. Their time over ours:"
    return "\n".join([title, "", *lines])


def chart(name: str) -> Figure | None:
    """Draw the times of a suite's last run, if there is one."""
    if not _is_stored(name):
        return None
    return bars([(name, case["case"], case["case"]) for case in suite(name)["cases"]])


def _is_stored(name: str) -> bool:
    return (RESULTS / f"{name}.json").exists()
