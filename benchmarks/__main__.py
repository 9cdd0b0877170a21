"""Run the suites, print their tables and write JSON: see `python -m benchmarks --help` and README.md."""

import argparse
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import torch

from benchmarks import _plot, _report
from benchmarks._timing import FULL, QUICK, Effort, Suite

CORES = torch.get_num_threads()
SUITES = (
    "startup",
    "eager",
    "tapes",
    "writes",
    "surface",
    "compiled",
    "training_step",
    "data_parallel",
    "transforms",
    "taylor",
    "unrolled",
    "loops",
    "paths",
    "memory",
    "batching",
    "sgd",
    "adam",
    "imperative",
    "modules",
    "scipy",
    "sparse",
    "adbench",
)


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; the exit status tells whether every case ran, never how fast it was."""
    options = _parser().parse_args(arguments)
    effort = QUICK if options.quick else FULL
    suites: list[Suite] = []
    failed = False
    for name in options.suites or SUITES:
        suite, errors = run_suite(name, effort, options.only)
        failed = failed or errors
        suites.append(suite)
        print(_report.markdown(suite), flush=True)
        if not options.only:
            _report.write_json(suite, options.output / f"{name}.json")
    if options.plot:
        _plot.plot_ratios(suites, options.output / "ratios.png")
        print(f"picture: {options.output / 'ratios.png'}")
    return int(failed)


def run_suite(name: str, effort: Effort, only: str) -> tuple[Suite, bool]:
    """Run the cases of one suite whose name contains `only`; tell also whether any of them raised."""
    module = import_module(f"benchmarks.{name}")
    cases: Mapping[str, Callable[[Suite, Effort], None]] = module.CASES
    # All cores, unless the suite says otherwise: another one may have left one thread.
    torch.set_num_threads(getattr(module, "TORCH_THREADS", CORES))
    suite = Suite(name)
    failed = False
    for case, measure in cases.items():
        if only not in case:
            continue
        print(f"{name}: {case} ...", file=sys.stderr, flush=True)
        try:
            measure(suite, effort)
        except Exception as error:  # noqa: BLE001  (one broken case must not hide the numbers of the others)
            traceback.print_exc()
            suite.notes.append(f"**{case} failed**: {type(error).__name__}: {str(error).strip().splitlines()[-1]}")
            failed = True
    return suite, failed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure funcgrad and its peers side by side."
    )
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help=f"any of {', '.join(SUITES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="few rounds and small sizes: a check that everything runs")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases whose name contains TEXT; writes no JSON"
    )
    parser.add_argument("--plot", action="store_true", help="also draw the ratios")
    parser.add_argument(
        "--output", type=Path, default=_report.RESULTS, help="folder for the JSON files and the picture"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
