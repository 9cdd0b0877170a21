"""Run the gallery's programs, each in a process of its own, and keep their pictures.

python examples/run_gallery.py kalman_filter lens_design
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

GALLERY = Path(__file__).parent / "gallery"
OUTPUT = Path(__file__).parent / "output" / "gallery"


def scripts() -> list[Path]:
    """The gallery's programs."""
    return sorted(GALLERY.glob("*/*.py"))


def run_here(script: Path, output: Path) -> list[Path]:
    """Run a program in this process, and return the pictures that it drew."""
    mpl.use("Agg")
    plt.style.use(GALLERY / "gallery.mplstyle")
    runpy.run_path(str(script), run_name="__main__")
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / f"{script.stem}_{number}.png" for number in plt.get_fignums()]
    for number, path in zip(plt.get_fignums(), paths, strict=True):
        plt.figure(number).savefig(path)
    plt.close("all")
    return paths


def main() -> None:
    """Run those that are named, or all, one after the other; a failure does not keep the others from running."""
    parser = argparse.ArgumentParser(description="Run the gallery's programs.")
    parser.add_argument("names", nargs="*", help="which; all where none is named")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the pictures go")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        run_here(args.here, args.output)
        return
    if unknown := set(args.names) - {script.stem for script in scripts()}:
        parser.error(f"the gallery has no {', '.join(sorted(unknown))}: it has {', '.join(s.stem for s in scripts())}")
    failed = []
    # A program that shows a figure on a screen would wait for it to be closed.
    environment = {**os.environ, "MPLBACKEND": "Agg", "DISPLAY": ""}
    for script in scripts():
        if args.names and script.stem not in args.names:
            continue
        print(f"--- {script.stem}", flush=True)
        start = time.perf_counter()
        command = [sys.executable, __file__, "--here", str(script), "--output", str(args.output)]
        done = subprocess.run(command, check=False, env=environment)
        print(f"--- {script.stem}: {time.perf_counter() - start:.1f} s", flush=True)
        if done.returncode:
            failed.append(script.stem)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
