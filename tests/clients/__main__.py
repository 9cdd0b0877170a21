"""Run the suites of packages written for autograd, with autograd and with ``funcgrad.interop.autograd`` instead.

``make clients`` runs it in an environment of its own: ``python -m tests.clients [--repeat N] [package ...]``. What
passes with autograd must pass with ours, but for what ``suites.py`` lists with a reason. Times are the
processor's, of the tests that pass with both, the shorter of ``--repeat`` runs each, the two in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.clients.suites import SUITES, Suite

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SIDES = {"autograd": [], "funcgrad": ["-p", "as_autograd"]}
LIMIT = 1.2

Times = dict[str, float | None]  # The seconds of CPU time of each test; None if it did not pass.


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def sources(suite: Suite, folder: Path) -> Path:
    """Return the folder with a package's tests: of its source distribution, or of its repository at that release."""
    place = folder / f"{suite.package}-{suite.version}"
    if place.exists():
        return place
    if suite.repository:
        tag = ["--depth", "1", "--branch", suite.tag.format(version=suite.version)]
        subprocess.run(["git", "clone", "--quiet", *tag, suite.repository, str(place)], check=True)
        return place
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        str(folder),
    ]
    subprocess.run([*pip, f"{suite.package}=={suite.version}"], check=True)
    with tarfile.open(folder / f"{place.name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return place


def run(suite: Suite, place: Path, side: str) -> Times:
    """Run the tests of a suite with one of the two."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        plugins = ["-p", "no:cacheprovider", "-p", "no:warnings", "-p", "measured", *SIDES[side]]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, "-c", os.devnull, "--rootdir", ".", *suite.options]
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        settings = {"PYTHONPATH": path, "CLIENTS_REPORT": str(report), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, *suite.tests], cwd=place, env=os.environ | settings, capture_output=True, text=True, check=False
        )
        if not report.exists() or done.returncode not in (0, 1):
            raise SystemExit(f"{suite.package} with {side} did not run:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return json.loads(report.read_text())


def shorter(a: Times, b: Times) -> Times:
    """Return the shorter time of two runs for each test that passed in both."""
    return {name: None if t is None or (u := b.get(name)) is None else min(t, u) for name, t in a.items()}


def compared(suite: Suite, theirs: Times, ours: Times) -> list[str]:
    """Print a suite's line, and return the tests that pass with autograd only and are not known."""
    passed = {name for name, t in theirs.items() if t is not None}
    passed_here = {name for name, t in ours.items() if t is not None}
    both = passed & passed_here
    seconds, seconds_here = (sum(side[name] or 0 for name in both) for side in (theirs, ours))
    ratio = seconds_here / max(seconds, 1e-9)
    say(
        f"{suite.package} {suite.version}: {len(passed)} pass with autograd, {len(passed_here)} with ours; "
        f"{seconds:.1f} s and {seconds_here:.1f} s for {len(both)}, ratio {ratio:.2f} (limit {LIMIT})"
    )
    lost = []
    for name in sorted(passed - passed_here):
        reason = suite.differs.get(name.rpartition("::")[2])
        say(f"  with autograd only: {name}{f' ({reason})' if reason else ''}")
        lost += [] if reason else [name]
    return lost if suite.proof else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=[name for name, suite in SUITES.items() if suite.proof])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each side")
    parser.add_argument("--sources", type=Path, default=ROOT / ".venv-clients" / "sources", help="where tests are kept")
    options = parser.parse_args()
    options.sources.mkdir(parents=True, exist_ok=True)
    lost = []
    for package in options.packages:
        suite = SUITES[package]
        try:
            place = sources(suite, options.sources)
        except subprocess.CalledProcessError as error:
            # The remaining suites still run.
            failed = " ".join(error.cmd[:2])
            say(f"{package} {suite.version}: its tests were not had, {failed} ended with {error.returncode}")
            lost.append(package)
            continue
        found = {side: run(suite, place, side) for side in SIDES}
        for _ in range(options.repeat - 1):
            found = {side: shorter(found[side], run(suite, place, side)) for side in SIDES}
        lost += compared(suite, found["autograd"], found["funcgrad"])
    sys.exit(f"pass with autograd only, or not run: {', '.join(lost)}" if lost else 0)


if __name__ == "__main__":
    main()
