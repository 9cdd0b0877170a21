"""Speak GradBench's protocol on standard input and output: `python -m benchmarks.gradbench`, in the project's root."""

import argparse
import os
import sys
from functools import partial

import funcgrad as fg
from benchmarks.gradbench._protocol import Tool


def main(arguments: list[str] | None = None) -> None:
    """Answer messages until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradbench", description=__doc__)
    parser.add_argument("--engine", choices=("xla", "numpy", "numba"), default="xla", help="what compiles the programs")
    parser.add_argument("--multithreaded", action="store_true", help="use all cores (default: the first one)")
    options = parser.parse_args(arguments)
    if not options.multithreaded and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for response in Tool(partial(fg.jit, engine=options.engine)).answers(sys.stdin):
        print(response, flush=True)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the evaluation ended before it read the last response
        sys.stderr.close()
