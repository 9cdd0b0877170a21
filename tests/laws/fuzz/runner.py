"""Check the programs of a range of seeds. A program that fails is reduced and printed as a script."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax

from tests.laws.fuzz import borders, branches, lines, loops, mixtures, schedules, states, tensors, windows, writing
from tests.laws.fuzz.check import Finding, Report, run
from tests.laws.fuzz.generate import program_of
from tests.laws.fuzz.shrink import shrunk
from tests.laws.fuzz.tensor_scripts import script_of

CLEAR_EVERY = 300
MAX_SHRUNK = 12
SHRINK_SECONDS = 8.0


@dataclass(frozen=True)
class Found:
    """A reduced finding, in a form that goes between processes."""

    seed: int
    key: str
    text: str


def run_seeds(first: int, step: int, count: int, seconds: float) -> tuple[Report, list[Found], int]:
    """Check the programs of ``first, first + step, ...`` until one of the limits, and return the last seed too."""
    report, found = Report(), []
    seen: dict[str, int] = {}
    end, seed = time.monotonic() + seconds, first
    for i in range(count):
        if time.monotonic() > end:
            break
        seed = first + i * step
        for finding in run(program_of(seed), report)[:3]:
            known = seen.get(finding.kind, 0)
            seen[finding.kind] = known + 1
            found.append(described(finding, reduce=known < MAX_SHRUNK))
        if i % CLEAR_EVERY == CLEAR_EVERY - 1:
            # The compiled code of 300 programs takes about 2 GB.
            jax.clear_caches()
    return report, found, seed


def run_scripts(kind: str, seeds: Iterable[int]) -> tuple[Report, list[Found]]:
    """Check tensor scripts, schedules, programs that write, branch or loop, and calls at borders in the same way."""
    report, found = Report(), []
    if kind == "writes":
        return report, [Found(*each) for each in writing.checked(seeds, report)]
    look = LOOKS[kind]
    for seed in seeds:
        found += look(seed, report)
    return report, found


def run_kind(kind: str, first: int, count: int) -> tuple[Report, list[Found], int]:
    """Check the programs of one kind for consecutive seeds, and return the last seed too."""
    # The modules are never garbage. Without these lines the search for garbage takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    if kind == "general":
        return run_seeds(first, 1, count, math.inf)
    report, found = run_scripts(kind, range(first, first + count))
    # Processes run many of these ranges.
    jax.clear_caches()
    return report, found, first + count - 1


def of_script(seed: int, report: Report) -> list[Found]:
    whole = script_of(seed)
    reduced = [tensors.shrunk(whole, what) for what in tensors.findings(whole, report)[:1]]
    return [Found(seed, f"tensors: {what.partition(':')[0]}", f"# {what}\n{s.text()}") for s, what in reduced]


def of_schedule(seed: int, report: Report) -> list[Found]:
    schedule = schedules.schedule_of(seed)
    found = schedules.findings(schedule, report)[:1]
    return [Found(seed, f"schedules: {what.partition(':')[0]}", f"# {what}\n{schedule.text()}") for what in found]


def of_lines(kind: str, draw: Callable[[int], Any], findings: lines.Find) -> Callable[[int, Report], list[Found]]:
    """Return the check of programs that are lines of Python."""

    def look(seed: int, report: Report) -> list[Found]:
        program = draw(seed)
        reduced = [lines.shrunk(program, what, findings) for what in findings(program, report)[:1]]
        return [Found(seed, f"{kind}: {what.partition(':')[0]}", f"# {what}\n{p.text()}") for p, what in reduced]

    return look


def looping_of(seed: int) -> loops.Looping:
    return loops.carried_of(seed) if seed % 3 == 0 else loops.looping_of(seed)


def of_border(seed: int, report: Report) -> list[Found]:
    return _of_call("borders", borders.call_of(seed), report)


def of_special(seed: int, report: Report) -> list[Found]:
    return _of_call("specials", borders.special_of(seed), report)


def _of_call(kind: str, call: borders.Call, report: Report) -> list[Found]:
    found = borders.findings(call, report)[:1]
    return [Found(call.seed, f"{kind}: {what.partition(':')[0]}", f"# {what}\n{call.text()}") for what in found]


LOOKS = {
    "tensors": of_script,
    "schedules": of_schedule,
    "branches": of_lines("branches", branches.branching_of, branches.findings),
    "loops": of_lines("loops", looping_of, loops.findings),
    "windows": of_lines("windows", windows.windows_of, loops.findings),
    "slices": of_lines("slices", windows.slices_of, loops.findings),
    "states": of_lines("states", states.states_of, loops.findings),
    "mixtures": of_lines("mixtures", mixtures.mixture_of, mixtures.findings),
    "borders": of_border,
    "specials": of_special,
}


KINDS = ("general", "writes", *LOOKS)


def described(finding: Finding, reduce: bool = True) -> Found:
    seed = finding.program.seed
    if reduce:
        finding = shrunk(finding, SHRINK_SECONDS)
    ops = ",".join(sorted({s.op for s in finding.program.statements})) if reduce else "not reduced"
    return Found(seed, f"{finding.kind} | {ops}", script(finding))


def script(finding: Finding) -> str:
    """Return a text with a program to paste and its fault."""
    p = finding.program
    return "\n".join([f"# seed {p.seed}, check {finding.check!r}: {finding.what}", p.text()])
