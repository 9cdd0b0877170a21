"""Runs random programs with fresh seeds: ``python -m tests.laws.fuzz --seconds 600``."""

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
from tests.laws.fuzz.runner import Found, run_scripts, run_seeds

CHUNK = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--first", type=int, default=None, help="the first seed; from the clock unless given")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.first is None else options.first
    say(f"seeds from {first}")
    start = time.monotonic()
    results: list[tuple[Report, list[Found], int]] = []
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=10) as pool:
        begin, end = first, first + options.programs
        while begin < end and time.monotonic() < start + options.seconds:
            ranges = chunks(begin, min(end, begin + 4 * CHUNK * options.workers))
            for result in pool.starmap(run_seeds, ranges, chunksize=1):
                results.append(result)
                for found in result[1]:
                    say(f"\n#### {found.key}\n{found.text}")
            begin = ranges[-1][0] + CHUNK
            say(f"{sum(report.programs for report, *_ in results)} programs, {time.monotonic() - start:.0f} s")
    results += beside_pytorch(first, sum(report.programs for report, *_ in results) // 10)
    return conclude(results, first, time.monotonic() - start)


def chunks(begin: int, end: int) -> list[tuple[int, int, int, float]]:
    """Return the arguments of `run_seeds` for consecutive ranges."""
    return [(seed, 1, min(CHUNK, end - seed), math.inf) for seed in range(begin, end, CHUNK)]


def beside_pytorch(first: int, count: int) -> list[tuple[Report, list[Found], int]]:
    """Run scripts of tensors if PyTorch is installed, schedules of SGD, and programs that write, branch or loop."""
    results = []
    for kind in ("tensors", "schedules", "writes", "branches", "loops", "borders"):
        if kind != "tensors" or tensors.peers() is not None:
            report, found = run_scripts(kind, range(first, first + count))
            say(f"{report.programs} {kind}")
            only = Report()
            only.refusals.update(report.refusals)
            results.append((only, found, first))
            for f in found:
                say(f"\n#### {f.key}\n{f.text}")
    return results


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
