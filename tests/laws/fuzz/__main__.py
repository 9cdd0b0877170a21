"""Runs random programs with fresh seeds: ``python -m tests.laws.fuzz --seconds 600``.

Without ``--kind`` these are general programs, and then a tenth as many of each other kind. ``--kind writes --programs
20000`` runs so many of one kind. Each finding is printed as a program to paste.

Each program runs eagerly, and on the NumPy engine, where that is cheap; compilers run for some:

| kind | each program | some programs |
|---|---|---|
| general | value, vjp, first derivative | NumPy engine 60 %, differences 50 %, nests 25 %, XLA 7 %, JAX 5 % |
| tensors, schedules | beside PyTorch, step by step | |
| writes | value, gradient, tangent | second derivative 50 %, vmap 40 %, NumPy engine 30 %, loops 30 %, XLA 6 % |
| branches | value and gradient on the NumPy engine, nine calls | Numba 5 %, XLA 5 % |
| loops, states, windows, slices | value and gradient: eagerly, rolled, on the NumPy engine | one derivative more 50 % |
| | | rolled early 25 %, Numba 5 %, XLA 5 % |
| mixtures | value, derivatives to second order, batches: eagerly, on the NumPy engine | Numba 7 %, XLA 7 % |
| borders, specials | value: eagerly, on the NumPy engine, with derivatives | XLA 8 % |

One process checks about this many programs a second: writes 25, branches 9, loops 12, mixtures 15, borders 100,
specials 180.
``python -m tests.laws.fuzz.branches numba`` runs small programs that branch on one engine.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
from collections import Counter
from typing import Any

from tests.laws.fuzz import tensors
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.runner import KINDS, Found, run_kind

CHUNK, LARGE_CHUNK = 50, 500
# Calls that take milliseconds. A process checks ten ranges and is then replaced, which takes seconds.
SHORT = ("borders", "specials")


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=None, help="60, or no limit if --programs is given")
    parser.add_argument("--programs", type=int, default=10**9, help="of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append", help="may be given several times")
    parser.add_argument("--first", type=int, default=None, help="the first seed; from the clock unless given")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.first is None else options.first
    limit = options.seconds if options.seconds is not None else (60.0 if options.programs == 10**9 else math.inf)
    say(f"seeds from {first}")
    start = time.monotonic()
    results: list[tuple[Report, list[Found], int]] = []
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=10) as pool:
        for kind in options.kind or ["general"]:
            results += run_one(pool, kind, range(first, first + options.programs), limit, options.workers)
        if not options.kind:
            count = sum(report.programs for report, *_ in results) // 10
            for kind in KINDS[1:]:
                results += run_one(pool, kind, range(first, first + count), math.inf, options.workers)
    return conclude(results, first, time.monotonic() - start)


def run_one(pool: Any, kind: str, seeds: range, limit: float, workers: int) -> list[tuple[Report, list[Found], int]]:
    """Run the programs of one kind until the limit of seconds, and print what they find."""
    if kind == "tensors" and tensors.peers() is None:
        say("no tensors: PyTorch is not installed")
        return []
    results: list[tuple[Report, list[Found], int]] = []
    start, at, shown = time.monotonic(), seeds.start, 0
    while at < seeds.stop and time.monotonic() < start + limit:
        ranges = chunks(kind, at, min(seeds.stop, at + 4 * size_of(kind) * workers))
        for result in pool.starmap(run_kind, ranges, chunksize=1):
            results.append(result)
            for found in result[1]:
                say(f"\n#### {found.key}\n{found.text}")
        at = ranges[-1][1] + ranges[-1][2]
        done = sum(report.programs for report, *_ in results)
        if done >= shown + 1000 or at >= seeds.stop or kind == "general":
            shown = done
            say(f"{done} {kind} programs, {time.monotonic() - start:.0f} s")
    return results


def chunks(kind: str, begin: int, end: int) -> list[tuple[str, int, int]]:
    """Return the arguments of `run_kind` for consecutive ranges."""
    size = size_of(kind)
    return [(kind, seed, min(size, end - seed)) for seed in range(begin, end, size)]


def size_of(kind: str) -> int:
    """Return the number of programs of a range."""
    return LARGE_CHUNK if kind in SHORT else CHUNK


def conclude(results: list[tuple[Report, list[Found], int]], first: int, seconds: float) -> int:
    total, found = Report(), {}
    for report, findings, _ in results:
        total.add(report)
        for f in findings:
            found.setdefault(f.key, []).append(f)
    for key, group in sorted(found.items(), key=lambda item: -len(item[1])):
        say(f"{len(group):4d}x {key} (seeds {[f.seed for f in group][:8]})")
    last = max(last for *_, last in results)
    rate, checks, count = total.programs / seconds, sum(total.checks.values()), sum(map(len, found.values()))
    say(f"\n{total.programs} programs, seeds {first} to {last}, {checks} checks, {rate:.1f} programs a second")
    say(f"{count} findings of {len(found)} kinds")
    refused: Counter[Any] = Counter()
    for (_, error, place), n in total.refusals.items():
        refused[error, place] += n
    say(f"{sum(refused.values())} checks refused in our own words; the most frequent:")
    for (error, place), n in refused.most_common(40):
        say(f"  {n:6d}  {error}  {place}")
    return bool(found)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
