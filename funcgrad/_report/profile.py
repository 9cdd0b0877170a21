"""Measure the time of each equation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.bind import Tracer, bind, is_engine_value
from funcgrad._core.graph.ir import Graph, Literal
from funcgrad._core.graph.line import Line
from funcgrad._core.graph.show import Names, equation_text
from funcgrad._types import Value
from funcgrad.errors import ConcretizationTypeError

# The time limit keeps a profile short, and a median needs no more runs than the other limit.
_SECONDS, _MOST_RUNS = 0.25, 101
_SHOWN, _WIDTH = 20, 64


class Timed(NamedTuple):
    """One row of a profile.

    Args:
        seconds: the median over the runs.
        share: the fraction of the total time.
        what: the equation, or a line of the program.
        line: the source line.
        equations: the number of equations in this row.
    """

    seconds: float
    share: float
    what: str
    line: Line | None
    equations: int = 1


class Profile:
    """Equations by time; ``rows`` has all of them, and ``by_line()`` adds up the equations of each source line."""

    def __init__(self, title: str, rows: Sequence[Timed], runs: int) -> None:
        self.title = title
        self.rows = sorted(rows, key=lambda row: -row.seconds)
        self.runs = runs

    @property
    def seconds(self) -> float:
        """Return the time of all equations together."""
        return sum(row.seconds for row in self.rows)

    def by_line(self) -> Profile:
        """Return the times by source line. The equations of a gradient belong to the lines that they differentiate."""
        lines: dict[Line | None, list[Timed]] = {}
        for row in self.rows:
            lines.setdefault(row.line and row.line.place, []).append(row)
        rows = [
            Timed(
                sum(r.seconds for r in found), sum(r.share for r in found), line.text if line else "", line, len(found)
            )
            for line, found in lines.items()
        ]
        return Profile(self.title, rows, self.runs)

    def __repr__(self) -> str:
        head = f"{self.title}: {duration(self.seconds)} on NumPy, median of {self.runs} run{'s' * (self.runs != 1)}"
        rows = [(duration(r.seconds), f"{r.share:.0%}", _cut(r.what), str(r.line or "")) for r in self.rows[:_SHOWN]]
        width = max((len(what) for _, _, what, _ in rows), default=0)
        lines = [f"{seconds:>9} {share:>5}  {what:<{width}}  {line}".rstrip() for seconds, share, what, line in rows]
        more = len(self.rows) - _SHOWN
        return "\n".join([head, *lines, *([f"          ... {more:,} more in .rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        rows = "".join(
            f"<tr><td>{duration(r.seconds)}</td><td>{r.share:.0%}</td><td style='text-align:left'>"
            f"<code>{escape(_cut(r.what))}</code></td><td style='text-align:left'>"
            f"{escape(f'{r.line}  {r.line.text}' if r.line else '')}</td></tr>"
            for r in self.rows[:_SHOWN]
        )
        head = "<tr><th>time</th><th>share</th><th>equation</th><th>line</th></tr>"
        return f"<p>{escape(self.title)}: {duration(self.seconds)}</p><table>{head}{rows}</table>"


def profile(graph: Graph, args: tuple, kwargs: dict[str, Any]) -> Profile:
    """Return the times of a graph's equations for these arguments."""
    leaves = [_bare(x) for x in graph.bound(args, kwargs)]
    fixed = {var: _bare(value) for var, value in graph.constants}
    times: list[list[float]] = [[] for _ in graph.equations]
    begin = time.perf_counter()
    runs = 0
    while runs < _MOST_RUNS and (runs < 2 or time.perf_counter() - begin < _SECONDS):
        _run(graph, leaves, fixed, times)
        runs += 1
    # The first run fills the caches and builds the programs of loops, so it is not measured.
    middles = [median(found[1:]) for found in times]
    total = sum(middles) or 1.0
    names = Names()
    rows = [
        Timed(seconds, seconds / total, equation_text(equation, names), equation.source)
        for seconds, equation in zip(middles, graph.equations, strict=True)
    ]
    return Profile(graph.name, rows, runs - 1)


def _run(graph: Graph, leaves: Sequence[Any], fixed: dict[Any, Any], times: Sequence[list[float]]) -> None:
    values = {**fixed, **dict(zip(graph.inputs, leaves, strict=True))}
    for equation, found in zip(graph.equations, times, strict=True):
        operands = tuple([x.value if type(x) is Literal else values[x] for x in equation.operands])
        before = time.perf_counter()
        y = bind(equation.primitive, operands, equation.params)
        found.append(time.perf_counter() - before)
        values.update(zip(equation.results, y if equation.primitive.multiple_results else [y], strict=True))


def _bare(x: Value) -> Any:
    if isinstance(x, Tracer):
        raise ConcretizationTypeError(
            f"profile: an argument or a constant is {x.aval}, traced by a running {x._owner.transform}; needed "
            "numbers, because a profile runs the equations. Profile a graph outside of transforms."
        )
    return np.asarray(x) if is_engine_value(x) else x


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def duration(seconds: float) -> str:
    """Return a time with three digits: ``1.23 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
