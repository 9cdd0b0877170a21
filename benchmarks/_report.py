"""Tables, JSON files of what the suites measured."""

import datetime as dt
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks._timing import Breakdown, Case, Check, Suite

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("numpy", "jax", "jaxlib", "optax", "torch", "autograd")


def markdown(suite: Suite) -> str:
    """Return the suite as Markdown: one table of contenders with ratios and targets, one of the other checks."""
    parts = [f"## {suite.name}"]
    if suite.cases:
        header = ["case", "contender", "best", "median", "ours / this", "paired", "target", "reached"]
        parts.append(_table(header, [row for case in suite.cases for row in _case_rows(case)]))
    if suite.checks:
        parts.append(_table(["check", "value", "target", "reached"], [_check_row(check) for check in suite.checks]))
    parts += [_breakdown_table(breakdown) for breakdown in suite.breakdowns]
    if suite.notes:
        parts.append("\n".join(f"- {note}" for note in suite.notes))
    return "\n\n".join(parts) + "\n"


def write_json(suite: Suite, path: Path) -> None:
    """Write the times, ratios and targets of the suite, with the versions and the machine they were taken on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "suite": suite.name,
        "environment": environment(suite.accelerator),
        "cases": [_case_json(case) for case in suite.cases],
        "checks": [{**vars(check), "reached": check.reached} for check in suite.checks],
        "breakdowns": [vars(breakdown) for breakdown in suite.breakdowns],
        "notes": suite.notes,
    }
    path.write_text(json.dumps(content, indent=1) + "\n")


def environment(accelerator: str | None = None) -> dict[str, Any]:
    """Return what a reader needs to judge the numbers: date, device, processor, cores, Python and package versions."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "device": "cpu" if accelerator is None else "gpu",
        "accelerator": accelerator,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _case_rows(case: Case) -> list[list[str]]:
    rows: list[list[str]] = []
    for name, samples in case.samples.items():
        peer = name != case.ours
        limit = case.limits.get(name)
        rows.append(
            [
                case.name,
                f"**{name}**" if not peer else name,
                duration(samples.best),
                duration(samples.median),
                f"{case.ratio(name):.3g}" if peer else "",
                f"{case.paired_ratio(name):.3g}" if peer else "",
                f"<= {limit:g}" if limit is not None else "",
                _yes_no(case.reached(name)),
            ]
        )
    return rows


def _check_row(check: Check) -> list[str]:
    limit = "" if check.limit is None else f"<= {check.limit:g} {check.unit}".rstrip()
    return [check.name, f"{check.value:.3g} {check.unit}".rstrip(), limit, _yes_no(check.reached)]


def _breakdown_table(breakdown: Breakdown) -> str:
    phases = list(next(iter(breakdown.phases.values())))
    rows = [[name, *(duration(spent[phase]) for phase in phases)] for name, spent in breakdown.phases.items()]
    return _table([breakdown.name, *phases], rows)


def _case_json(case: Case) -> dict[str, Any]:
    contenders = {
        name: {
            "best": samples.best,
            "median": samples.median,
            "ours_over_this": case.ratio(name),
            "ours_over_this_paired": case.paired_ratio(name),
            "limit": case.limits.get(name),
            "reached": case.reached(name),
            "calls_per_sample": samples.calls,
            "rounds": len(samples.seconds),
        }
        for name, samples in case.samples.items()
    }
    return {"case": case.name, "ours": case.ours, "contenders": contenders}


def duration(seconds: float) -> str:
    """Return a time with a unit that suits its size: `13.2 us`, `1.52 s`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _yes_no(reached: bool | None) -> str:
    return {True: "yes", False: "NO", None: ""}[reached]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |" for row in lines
    )


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
