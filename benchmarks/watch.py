"""Compare this working tree with an earlier commit: ``python -m benchmarks.watch [COMMIT]`` (``make bench-watch``).

Each row runs in fresh processes, which alternate between the two trees. The table has the first call (processor time,
with what it loads) and a later call, as ratios to the earlier commit. A ratio above 1.1 is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._watched import ROWS

ROOT = Path(__file__).parent.parent
SLOWER = 1.1


def main() -> None:
    """Print the table and store it in ``benchmarks/results/watch.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=2, help="how often each row runs on each side")
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        _git("worktree", "add", "--detach", str(before), options.commit)
        try:
            lines = [_line(row, before, options.rounds) for row in ROWS if options.only in row]
        finally:
            _git("worktree", "remove", "--force", str(before))
    name = _git("rev-parse", "--short", options.commit).strip()
    head = [
        f"# Beside {name}",
        "",
        "| program | first call, s | ratio | later call, ms | ratio |",
        "|---|---|---|---|---|",
    ]
    text = "\n".join([*head, *lines, ""])
    if not options.only:
        (ROOT / "benchmarks" / "results" / "watch.md").write_text(text, encoding="utf-8")
    print("\n".join(head))
    print("\n".join(lines))


def _line(row: str, before: Path, rounds: int) -> str:
    """Time a row in both trees, in turns, and return its line."""
    found: dict[Path, list[tuple[float, float]]] = {ROOT: [], before: []}
    for turn in range(rounds):
        for tree in (ROOT, before) if turn % 2 else (before, ROOT):
            found[tree].append(_run(row, tree))
    # What else the machine does only ever adds to a time.
    (first, later), (first_before, later_before) = [
        [min(times) for times in zip(*found[tree], strict=True)] for tree in (ROOT, before)
    ]
    ratios = _marked(first / first_before), _marked(later / later_before)
    line = f"| {row} | {first:.2f} | {ratios[0]} | {1e3 * later:.4g} | {ratios[1]} |"
    print(line, file=sys.stderr, flush=True)
    return line


def _marked(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio > SLOWER else f"{ratio:.2f}"


def _run(row: str, tree: Path) -> tuple[float, float]:
    """Run a row in a fresh process that imports funcgrad from a tree and finds no kernels on disk."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(tree), "FUNCGRAD_CACHE_DIR": cache}
        command = [sys.executable, "-P", str(ROOT / "benchmarks" / "_watched.py"), row]
        done = subprocess.run(command, env=environment, cwd=cache, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{row}: a process ended with status {done.returncode}\n{done.stderr[-2000:]}")
    first, later = json.loads(done.stdout.splitlines()[-1])
    return first, later


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
