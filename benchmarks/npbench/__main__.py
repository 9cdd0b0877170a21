"""Run the gradients of NPBench's programs: `python -m benchmarks.npbench CHECKOUT`, where spcl/npbench was cloned.

Each program runs in a process of its own for each contender, which is ended after `--limit` seconds. A run of some
programs keeps the rows of the others in the output, if these come from the same machine with the same versions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import RESULTS, environment
from benchmarks.npbench import _table
from benchmarks.npbench._programs import DACE, NOT_DIFFERENTIABLE, SIZES, read
from benchmarks.npbench._run import CLOCKS, CONTENDERS, OURS, TOO_LARGE, apart, write

# Starts a process for each contender and program. It has imported the libraries, so that a process begins at once.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["benchmarks.npbench._run", "funcgrad.numpy", "jax.numpy", "numba"])

# float64 and float32. A difference of JAX's from ours below this is rounding.
CLOSE = 1e-6
CLOSE_SINGLE = 1e-3
ROUNDING = 1e-15


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; the exit status tells whether a gradient was wrong."""
    options = _parser().parse_args(arguments)
    names = (
        options.programs
        or (DACE if options.dace else None)
        or [name for name in read(options.checkout) if name not in NOT_DIFFERENTIABLE]
    )
    options.output = options.output or RESULTS / f"{stored(options.size, options.clock)}.json"
    part, parts = map(int, options.part.split("/"))
    about = {
        "size": options.size,
        "clock": options.clock,
        "limit": options.limit,
        "remark": options.remark,
        "environment": environment(),
    }
    found = kept(options.output, about)
    with _one_core() if options.clock == "processor" else contextlib.nullcontext():
        for name in names[part - 1 :: parts]:
            found[name] = run(options, name)
            print(_table.markdown([found[name]]).splitlines()[2], flush=True)
            rows = [found[each] for each in sorted(found)]
            options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    rows = [found[each] for each in sorted(found)]
    print(_table.markdown(rows))
    return int(any("wrong" in row["check"] for row in rows))


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Let the processes that start inside run on one core: threads that wait for each other take processor time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def stored(size: str, clock: str) -> str:
    """Return the name of the results of a size: ``npbench`` for S, ``npbench_m_processor`` for M by processor time."""
    of_size = "" if size == "S" else f"_{size.lower()}"
    return f"npbench{of_size}" + ("" if clock == "wall" else f"_{clock}")


def kept(output: Path, about: dict[str, Any]) -> dict[str, _table.Row]:
    """Return the rows of an earlier run with the same size, machine and versions, so that a run has parts."""
    if not output.exists():
        return {}
    content = json.loads(output.read_text())
    content.setdefault("clock", "wall")
    same = all(_undated(content[key]) == _undated(about[key]) for key in ("size", "clock", "environment"))
    return {row["program"]: row for row in content["rows"]} if same else {}


def _undated(value: Any) -> Any:
    return {key: each for key, each in value.items() if key != "date"} if isinstance(value, dict) else value


def run(options: argparse.Namespace, name: str) -> _table.Row:
    """Return what every contender did with one program, and whether the gradients agree."""
    with tempfile.TemporaryDirectory() as scratch:
        reference = _contender(options, name, "reference", scratch)
        if reference["status"] == "failed":
            return {
                "program": name,
                "reference": reference,
                "contenders": dict.fromkeys(CONTENDERS, reference),
                "check": "none",
            }
        found = {each: _contender(options, name, each, scratch) for each in CONTENDERS if each not in options.without}
        found |= {each: {"status": "failed", "error": "not run"} for each in options.without}
        check = _check(Path(scratch), found)
    return {"program": name, "reference": reference, "contenders": found, "check": check}


def _contender(options: argparse.Namespace, name: str, contender: str, scratch: str) -> dict[str, Any]:
    asked = (str(options.checkout.resolve()), name, options.size, contender, scratch)
    process = _PROCESSES.Process(
        target=write, args=(*asked, options.seconds, options.clock, options.limit, options.memory)
    )
    process.start()
    # The system ends a process by its processor's time.
    process.join(options.limit if options.clock == "wall" else None)
    if process.is_alive():
        process.kill()
        process.join()
        return {"status": "failed", "error": f"> {options.limit} s"}
    if options.clock == "processor" and process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"status": "failed", "error": f"> {options.limit} s"}
    if process.exitcode == TOO_LARGE:
        return {"status": "failed", "error": f"> {options.memory} MiB"}
    if process.exitcode:
        lines = (Path(scratch) / f"{contender}.txt").read_text().strip().splitlines()
        print(f"{name}, {contender}: status {process.exitcode}\n" + "\n".join(lines[-5:]), file=sys.stderr, flush=True)
        return {"status": "failed", "error": "crash" if process.exitcode < 0 else "error"}
    return json.loads((Path(scratch) / f"{contender}.json").read_text())


def _check(scratch: Path, found: dict[str, Any]) -> str:
    """Return how the gradients compare: ours with each other, with JAX's, and with a central difference."""
    gradients = {name: _saved(scratch, name) for name in CONTENDERS if found[name]["status"] == "ok"}
    ours = [name for name in OURS if name in gradients]
    if not ours:
        return "none"
    first = gradients[ours[0]]
    close = CLOSE_SINGLE if any(each.dtype.name in ("float32", "complex64") for each in first) else CLOSE
    wrong = [name for name in ours[1:] if not _equal(gradients[name], first, close)]
    if wrong:
        return f"wrong: {', '.join(wrong)} beside {ours[0]}"
    if "jax" in gradients and _equal(first, gradients["jax"], close):
        return "JAX's"
    difference = found.get("eager", {}).get("difference")
    if difference is not None and difference < 1e-3:
        return "the differences'" + (", not JAX's" if "jax" in gradients else "")
    return "wrong, or not smooth" if "jax" in gradients or difference is not None else "not compared"


def _equal(a: list[np.ndarray], b: list[np.ndarray], close: float) -> bool:
    """Tell whether two values with gradients agree. Gradients below ROUNDING of the value count as 0."""
    zero = ROUNDING * abs(float(b[0]))
    return len(a) == len(b) and all(
        apart(x, y) < close or max(np.max(np.abs(x)), np.max(np.abs(y))) < zero for x, y in zip(a, b, strict=True)
    )


def _saved(scratch: Path, name: str) -> list[np.ndarray]:
    with np.load(scratch / f"{name}.npz") as file:
        return [file[key] for key in file.files]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("checkout", type=Path, help="where spcl/npbench was cloned")
    parser.add_argument("programs", nargs="*", help="names of files in bench_info (default: all with a derivative)")
    parser.add_argument("--dace", action="store_true", help="the programs whose gradients the tests of DaCe check")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only the I-th of N parts of the programs")
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one program by one contender")
    parser.add_argument("--memory", type=int, default=12_000, help="MiB that one contender may hold")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="processor: one core's, where other programs run"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a gradient's runs are repeated")
    parser.add_argument("--without", nargs="*", choices=CONTENDERS, default=[], help="contenders to leave out")
    parser.add_argument("--remark", default="", help="what a reader of the numbers has to know of this run")
    parser.add_argument(
        "--output", type=Path, help="default: npbench.json among the results; npbench_xs.json for XS, and so on"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
