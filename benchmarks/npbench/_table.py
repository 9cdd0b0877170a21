"""The results of all contenders, as a table in Markdown and as a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks._report import duration
from benchmarks.npbench._run import OURS

Row = dict[str, Any]
OUTCOMES = (
    "right, as it stands",
    "right, inside of `fg.intercept()`",
    "wrong",
    "not compared",
    "refused",
    "too slow",
    "too large",
    "not run",
)


def markdown(rows: Sequence[Row]) -> str:
    """Return a line for each program: JAX's times, and for each of our ways build and run as multiples of JAX's."""
    header = ["program", "unchanged", "JAX: build, run", *(f"{name}: build, run" for name in OURS), "gradient"]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join([*lines, "", *summary(rows)])


def summary(rows: Sequence[Row]) -> list[str]:
    """Return sentences that count the programs and give the geometric means of the ratios."""
    unchanged = sum(_changed(row) == "yes" for row in rows)
    intercepted = sum(_changed(row) == "`intercept`" for row in rows)
    lines = [f"- {len(rows)} programs: {unchanged} run unchanged, {intercepted} inside of `fg.intercept()`."]
    lines += [f"- {name}: {_listed(counts(rows, name))}." for name in OURS]
    for name in OURS:
        ratios = [each for row in rows if (each := ratio(row, name, "run")) is not None]
        done = sum(_done(row, name) for row in rows)
        if ratios:
            lines.append(
                f"- {name}: {done} of {len(rows)} within the limit; run over JAX's, geometric mean of {len(ratios)}: "
                f"{_geometric_mean(ratios):.2f}."
            )
    return lines


def counts(rows: Sequence[Row], name: str) -> dict[str, int]:
    """Return how many programs ended in which way with one of our contenders."""
    found: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for row in rows:
        found[outcome(row, name)] += 1
    return found


def outcome(row: Row, name: str) -> str:
    """Return one of OUTCOMES for a program and one of our contenders."""
    given = row["contenders"][name]
    if not _done(row, name):
        if given["error"] == "not run":
            return "not run"
        if given["error"].startswith(">"):
            return "too large" if given["error"].endswith("MiB") else "too slow"
        return "refused"
    if row["check"].startswith("wrong: "):
        return (
            "wrong" if name in row["check"].removeprefix("wrong: ").split(" beside ")[0].split(", ") else "not compared"
        )
    if not row["check"].startswith(("JAX's", "the differences'")):
        return "not compared"
    return "right, inside of `fg.intercept()`" if given["intercept"] else "right, as it stands"


def _listed(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in found.items() if count)


def _cells(row: Row) -> list[str]:
    jax = row["contenders"]["jax"]
    theirs = f"{duration(jax['first'])}, {duration(jax['run'])}" if _done(row, "jax") else jax["error"]
    return [row["program"], _changed(row), theirs, *(_ours(row, name) for name in OURS), row["check"]]


def _ours(row: Row, name: str) -> str:
    found = row["contenders"][name]
    if not _done(row, name):
        return found["error"]
    if not _done(row, "jax"):
        return f"{duration(found['first'])}, {duration(found['run'])}"
    mark = ", `paths`" if found.get("paths") else ""
    return f"{ratio(row, name, 'first'):.2g}, {ratio(row, name, 'run'):.2g}{mark}"


def _changed(row: Row) -> str:
    ways = [row["contenders"][name] for name in OURS if _done(row, name)]
    if not ways:
        return "no"
    return "`intercept`" if ways[0]["intercept"] else "yes"


def ratio(row: Row, name: str, what: str) -> float | None:
    """Return one of our times, "first" or "run", over JAX's; None if one of the two has no gradient."""
    both = _done(row, name) and _done(row, "jax")
    return row["contenders"][name][what] / row["contenders"]["jax"][what] if both else None


def _done(row: Row, name: str) -> bool:
    return row["contenders"][name]["status"] == "ok"


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
