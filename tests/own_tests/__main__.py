"""Runs the test suites in NumPy's and SciPy's wheels, each call of a public function made once more on traced values.

``python -m tests.own_tests [words ...]``, or ``make own-tests``. Words choose files: one of them stands in the path.
The exit status is 1 where a call differs from NumPy's or SciPy's and ``known.py`` has no reason for it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from tests.own_tests.known import KNOWN

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("numpy/_core", "numpy/lib", "numpy/linalg", "numpy/fft", "numpy/polynomial"),
    *("scipy/special", "scipy/linalg", "scipy/ndimage", "scipy/integrate", "scipy/interpolate", "scipy/optimize"),
    *("scipy/signal", "scipy/spatial", "scipy/stats", "scipy/sparse", "scipy/sparse/linalg/_isolve"),
)
# Tests of text, dates, memory, files and of C code; of searches that call no function of ours, or take minutes.
LEFT_OUT = """
    _datasource _iotools _version abc abstract_interface argparse array_interface array_utils arrayobject arrayprint
    arrayterator casting_unittests conversion_utils cpu_dispatcher cpu_features custom_dtypes cython datetime
    defchararray deprecations dlpack dtype errstate extint128 finfo format function_base_errors getlimits hashtable
    limited_api longdouble machar memmap mixins multiprocessing multithreading nditer overrides print protocols records
    recfunctions simd simd_module stringdtype strings umath_accuracy unicode utils io loadtxt _shgo _dual_annealing
    _differential_evolution _linprog_clean_inputs linprog milp kdtree qhull spherical_voronoi hausdorff qmc sampling
    mstats_basic mstats_extras kdeoth fast_gen_inversion resampling crosstab survival contingency fit
    continuous_fit_censored blas lapack fblas cython_blas cython_lapack decomp_update interpolative
""".split()  # noqa: SIM905  (a table of names)
# The files of the sample in make test-long.
SAMPLE = (
    *("numpy/linalg/tests/test_linalg.py", "numpy/lib/tests/test_shape_base.py", "numpy/fft/tests/test_pocketfft.py"),
    *("numpy/_core/tests/test_einsum.py", "scipy/integrate/tests/test_quadrature.py"),
)
# Lines of tests that one process runs; a process takes some seconds to start.
_LINES = 6_000


def files(words: list[str]) -> list[Path]:
    """The test files that are run."""
    found = []
    for folder in FOLDERS:
        package, _, rest = folder.partition("/")
        home = Path({"numpy": np, "scipy": scipy}[package].__path__[0]) / rest / "tests"
        found += [path for path in sorted(home.glob("test_*.py")) if path.stem.removeprefix("test_") not in LEFT_OUT]
    return [path for path in found if not words or any(word in path.as_posix() for word in words)]


def batches(paths: list[Path]) -> list[list[Path]]:
    """The files in groups of some thousand lines, the longest group first."""
    found: list[tuple[int, list[Path]]] = []
    for path in sorted(paths, key=lambda path: (path.parent, -_lines(path))):
        size = _lines(path)
        if found and found[-1][1][0].parts[-3] == path.parts[-3] and found[-1][0] + size <= _LINES:
            found[-1] = found[-1][0] + size, [*found[-1][1], path]
        else:
            found.append((size, [path]))
    return [group for _, group in sorted(found, key=lambda each: -each[0])]


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def run(paths: list[Path], settings: dict[str, Any]) -> str:
    """Run some files in a process of its own; the last line that pytest printed."""
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "OWN_TESTS": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "MPLBACKEND": "Agg",
    }
    options = ["-q", "-p", "tests.own_tests.plugin", "-p", "no:cacheprovider", "--assert=plain", "-W", "ignore"]
    options += [
        "-m",
        "not slow and not xslow and not fail_slow",
        # XLA compiles an accumulation, written out element by element, for minutes, which no alarm interrupts.
        "-k",
        "not memoverlap_accumulate",
        "-c",
        os.devnull,
        "--rootdir",
        str(paths[0].parents[2]),
        "--tb=no",
    ]
    words = [sys.executable, "-m", "pytest", *options, *map(str, paths)]
    done = subprocess.run(words, cwd=settings["folder"], env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[-1] if lines else f"ended with {done.returncode}"


def read(folder: Path) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The differences, and the counts of all processes."""
    found: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.jsonl")):
        for text in path.read_text().splitlines():
            line = json.loads(text)
            counts.update(line.pop("counts", {}))
            if line:
                found.append(line)
    return found, counts


def grouped(found: list[dict[str, Any]]) -> list[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """The differences by kind, function and class of error."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in found:
        error = line["text"].partition(":")[0] if line["kind"] in {"refusal", "crash", "error", "answer"} else ""
        groups.setdefault((line["kind"], line["function"], error), []).append(line)
    return sorted(groups.items())


def report(found: list[dict[str, Any]], counts: Counter[str], *, whole: bool) -> int:
    """Print the counts and what is new; the number of groups that are new."""
    reasons = [next((known for known in KNOWN if known.covers(line)), None) for line in found]
    new = grouped([line for line, reason in zip(found, reasons, strict=True) if reason is None])
    if counts["tests not run, out of time"]:
        _say(f"own-tests: not whole, {counts['tests not run, out of time']} tests were not run for lack of time")
    functions = [name for name in counts if name.startswith("function ")]
    ways = ", ".join(f"{counts[f'made on {way}']} {words}" for way, words in _WAYS.items())
    _say(
        f"own-tests: {counts['tests']} tests, {counts['calls']} calls of {len(functions)} functions ({ways}), "
        f"{counts['derivatives']} derivatives compared with differences, "
        f"{counts['errors alike']} errors of the same class"
    )
    for known in KNOWN:
        number = sum(reason is known for reason in reasons)
        if number:
            _say(f"  known, {number}: {known.functions}: {known.reason}")
        elif whole:
            _say(f"  known, but not found: {known.functions}: {known.reason}")
    for (kind, function, error), lines in new:
        made = ", ".join(f"{number} {way}" for way, number in Counter(line["way"] for line in lines).items())
        first = lines[0]
        _say(f"NEW {kind} {function} {error} ({made})\n    {first['call']}\n    {first['text']}\n    {first['test']}")
    _say(f"own-tests: {len(new)} new findings, {sum(reason is not None for reason in reasons)} known differences")
    return len(new)


_WAYS = {"eager": "eagerly", "numpy": "on the NumPy engine", "xla": "on XLA"}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the suites and print what is new."""
    parser = argparse.ArgumentParser(prog="python -m tests.own_tests", description=__doc__)
    parser.add_argument("words", nargs="*", help="run the files in whose path one of these stands")
    parser.add_argument("--sample", action="store_true", help="run a few files, with few calls of each function")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=20.0, help="when no further test is run")
    parser.add_argument("--per-function", type=int, default=60, help="calls of a function in each file")
    parser.add_argument("--per-kind", type=int, default=3, help="of these, calls with arguments of the same types")
    parser.add_argument("--every-for-xla", type=int, default=40, help="one in so many calls is made on XLA too")
    parser.add_argument("--lines", type=Path, help="a folder for all differences, a line each")
    options = parser.parse_args()
    if options.sample:
        options.words, options.per_function, options.per_kind = list(SAMPLE), 8, 1
    start = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        settings = {
            "folder": scratch,
            "per_function": options.per_function,
            "per_kind": options.per_kind,
            "every_for_xla": options.every_for_xla,
            "until": start + 60 * options.minutes,
        }
        groups = batches(files(options.words))
        with ThreadPoolExecutor(options.workers) as pool:
            for group, last in zip(groups, pool.map(lambda group: run(group, settings), groups), strict=True):
                _say(f"{', '.join('/'.join(path.parts[-3:]) for path in group)}: {last}")
        if options.lines:
            shutil.copytree(scratch, options.lines, dirs_exist_ok=True)
        found, counts = read(Path(scratch))
    new = report(found, counts, whole=not options.words)
    _say(f"own-tests: {time.time() - start:.0f} s")
    return int(new > 0)


if __name__ == "__main__":
    sys.exit(main())
