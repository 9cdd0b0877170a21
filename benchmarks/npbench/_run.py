"""One program's gradient by one contender, in a process of its own.

The process ends with an error, or is ended by its caller, where a contender does not manage the program. The first
contender, "reference", runs the NumPy version and JAX's version and finds which results belong together.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
from benchmarks.npbench._programs import Program, differentiable, read

OURS = ("eager", "numpy", "numba", "xla")
CONTENDERS = ("jax", *OURS)
MOST_RUNS = 30
# The paths of programs that branch on a number.
PATHS = 8
# The clocks of times. Processor time says something also where other programs run meanwhile.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
STEPS = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)  # of central differences: some programs are ill-conditioned
SAME = 1e-5  # the programs of `deep_learning` compute in float32
# Ticks of the processor's clock are up to 10 ms long: a longer time has many.
_TICKS = 0.1
Arrays = tuple[Any, ...]
# The status of a process that held too much memory, and the seconds between two looks.
TOO_LARGE = 75
_WATCHED = 0.2


class Asked(NamedTuple):
    """One contender's task.

    Args:
        contender: one of CONTENDERS.
        folder: where gradients are saved, for the comparison.
        seconds: how long runs are repeated; at least three runs are made.
        clock: one of CLOCKS.
    """

    contender: str
    folder: Path
    seconds: float
    clock: str = "wall"

    @property
    def saved(self) -> Path:
        """The file of the value and the gradient."""
        return self.folder / f"{self.contender}.npz"


def write(  # noqa: PLR0917  (a process is started with them)
    checkout: str,
    name: str,
    size: str,
    contender: str,
    scratch: str,
    seconds: float,
    clock: str,
    limit: int,
    memory: int,
) -> None:
    """Write what one contender did, and what it prints on standard error, into files of the folder `scratch`.

    With the clock of the processor, the system ends the process after ``limit`` seconds of it. The process ends by
    itself with the status TOO_LARGE once it holds more than ``memory`` MiB.
    """
    threading.Thread(target=_watch, args=(memory,), daemon=True).start()
    if clock == "processor":
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    # From the descriptor on, because compilers print too.
    with (Path(scratch) / f"{contender}.txt").open("w") as errors:
        os.dup2(errors.fileno(), sys.stderr.fileno())
    warnings.simplefilter("ignore")  # the programs' own warnings of arithmetic
    found = answer(checkout, name, size, contender, scratch, seconds, clock)
    (Path(scratch) / f"{contender}.json").write_text(json.dumps(found))


def _watch(memory: int) -> None:
    """End the process once it holds too much memory: a limit of the system would also count what JAX only reserves."""
    while held() <= memory:
        time.sleep(_WATCHED)
    os._exit(TOO_LARGE)


def held() -> int:
    """Return the memory that this process holds, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


def answer(  # noqa: PLR0917  (as `write`)
    checkout: str, name: str, size: str, contender: str, scratch: str, seconds: float, clock: str = "wall"
) -> dict[str, Any]:
    """Return what one contender did: its times, or what the first contender found about results."""
    program, folder = read(Path(checkout))[name], Path(scratch)
    given = program.inputs(size)
    if contender == "reference":
        return _reference(program, given, folder)
    return _gradient(program, given, Asked(contender, folder, seconds, clock))


def results_of(program: Program, arguments: dict[str, Any], names: tuple[str, ...], returned: Any) -> list[Any]:
    """Return a program's results: what it returns or, if that is None, the arguments that it wrote into.

    NPBench does not name these for every program; then they are all arrays of floats, `names`.
    """
    if returned is None:
        return [arguments[name] for name in program.outputs or names]
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def total(np: Any, results: Sequence[Any], chosen: Sequence[int]) -> Any:
    """Return the sum over all results of real part plus half the imaginary part, each element with a weight of its own.

    A plain sum is constant where the elements are shares, as those of softmax.
    """
    sums: list[Any] = []
    for index in chosen:
        value = results[index]
        if isinstance(value, (list, tuple)):
            value = np.stack(value)
        weights = 1.0 + 0.5 * np.cos(np.arange(value.size, dtype=np.float64)).reshape(value.shape)
        if np.iscomplexobj(value):
            value = np.real(value) + 0.5 * np.imag(value)
        sums.append(np.sum(weights * value))
    return sum(sums[1:], start=sums[0])


def _reference(program: Program, given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run the plain versions, and save which result of JAX's version is which result of NumPy's."""
    arguments = _copied(given)
    start = time.perf_counter()
    returned = program.function("numpy")(**_by_position(program, arguments))
    seconds = time.perf_counter() - start
    ours = [np.asarray(each) for each in results_of(program, arguments, differentiable(given), returned)]
    floats = [i for i, each in enumerate(ours) if each.dtype.kind in "fc"]
    pairs = _pairs(program, given, ours, floats)
    (folder / "pairs.json").write_text(json.dumps({"pairs": pairs, "ours": [i for i, _ in pairs] or floats}))
    return {"status": "ok", "seconds": seconds, "results": len(floats), "paired": len(pairs)}


def _pairs(program: Program, given: dict[str, Any], ours: list[Any], floats: list[int]) -> list[tuple[int, int]]:
    """Return pairs of a result of NumPy's version and the equal one of JAX's; none where JAX's version fails."""
    jax = _jax()
    try:
        returned = _jax_function(program, given)(*_jax_arrays(jax, given))
        theirs = [np.asarray(each) for each in (returned if isinstance(returned, (tuple, list)) else [returned])]
    except Exception as error:  # noqa: BLE001  (a program of the peer that does not run is a row of the table)
        print(f"{program.name}: JAX's version: {type(error).__name__}: {error}", file=sys.stderr)
        return []
    pairs: list[tuple[int, int]] = []
    for i in floats:
        for j, other in enumerate(theirs):
            if j not in [taken for _, taken in pairs] and apart(other, ours[i]) < SAME:
                pairs.append((i, j))
                break
    return pairs


def apart(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays over the largest element of the second; infinity for other shapes."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or np.any(np.isnan(a) != np.isnan(b)):
        return float("inf")
    return float(np.nanmax(np.abs(a - b), initial=0.0)) / max(float(np.nanmax(np.abs(b), initial=0.0)), 1e-300)


def _gradient(program: Program, given: dict[str, Any], asked: Asked) -> dict[str, Any]:
    names = differentiable(given)
    arrays = tuple(given[each] for each in names)
    chosen = json.loads((asked.folder / "pairs.json").read_text())
    if asked.contender == "jax":
        if not chosen["pairs"]:
            return {"status": "failed", "error": "JAX's version does not run, or returns other results"}
        jax = _jax()
        function = _jax_function(program, given)
        order = [j for _, j in chosen["pairs"]]

        def their_loss(*values: Any) -> Any:
            returned = function(*values)
            return total(jax.numpy, returned if isinstance(returned, (tuple, list)) else [returned], order)

        compiled = jax.jit(jax.value_and_grad(their_loss, argnums=tuple(range(len(names)))))
        held = tuple(map(jax.numpy.asarray, arrays))
        return _timed(lambda: jax.block_until_ready(compiled(*held)), asked)

    numpy_version = program.function("numpy")

    def loss(*values: Any) -> Any:
        arguments = given | {name: value.copy() for name, value in zip(names, values, strict=True)}
        returned = numpy_version(**_by_position(program, arguments))
        return total(np, results_of(program, arguments, names, returned), chosen["ours"])

    gradient = fg.value_and_grad(loss, argnums=tuple(range(len(names))))
    compiled: Callable[..., Any] = gradient
    if asked.contender != "eager":
        compiled = fg.jit(gradient, engine=asked.contender)
    named: tuple[Any, ...] | None = None
    paths = False
    while True:
        run = compiled if named is None else fg.intercept(*named)(compiled)
        try:
            found = _timed(lambda run=run: _ready(run(*arrays)), asked)
            break
        except (TypeError, ValueError) as error:
            print(f"{program.name}: {type(error).__name__}: {error}", file=sys.stderr)
            if isinstance(error, fg.errors.ConcretizationTypeError) and not paths and asked.contender != "eager":
                paths, compiled = True, fg.jit(gradient, engine=asked.contender, paths=PATHS)
            elif named is None:
                named = (numpy_version,)
            else:
                raise
    difference = _difference(loss, arrays, asked.saved) if asked.contender == "eager" else None
    return found | {"intercept": named is not None, "paths": paths, "difference": difference}


def _timed(run: Callable[[], Any], asked: Asked) -> dict[str, Any]:
    """Return the seconds of the first call and of the next ones; save the value and the gradient.

    The next ones are the best of some calls. Of short ones by the processor's clock, which has long ticks, the mean.
    """
    clock = CLOCKS[asked.clock]
    start = clock()
    value, gradients = run()
    first = clock() - start
    np.savez(asked.saved, np.asarray(value), *map(np.asarray, gradients))
    seconds: list[float] = []
    most = MOST_RUNS if asked.clock == "wall" else 100 * MOST_RUNS
    begin = clock()
    while len(seconds) < 3 or (clock() - begin < asked.seconds and len(seconds) < most):
        start = clock()
        run()
        seconds.append(clock() - start)
        if seconds[0] > 10:
            break
    mean = (clock() - begin) / len(seconds)
    taken = mean if asked.clock == "processor" and mean < _TICKS else min(seconds)
    return {"status": "ok", "first": first, "run": taken, "value": float(value)}


def _difference(loss: Callable[..., Any], arrays: Arrays, saved: Path) -> float | None:
    """Return how far the gradient is from the nearest of the central differences along a random direction, relative."""
    if any(a.dtype not in (np.float64, np.complex128) for a in arrays):
        return None
    rng = np.random.default_rng(0)
    directions = [(rng.standard_normal(a.shape) * (np.abs(a).mean() + 1e-3)).astype(a.dtype) for a in arrays]
    with np.load(saved) as file:
        gradients = [file[f"arr_{i + 1}"] for i in range(len(arrays))]
    along = sum(float(np.sum((g * d).real)) for g, d in zip(gradients, directions, strict=True))
    found: list[float] = []
    for step in STEPS:
        moved = [[a + sign * step * d for a, d in zip(arrays, directions, strict=True)] for sign in (1, -1)]
        with contextlib.suppress(np.linalg.LinAlgError):
            up, down = (float(loss(*values)) for values in moved)
            slope = (up - down) / (2 * step)
            found.append(abs(along - slope) / max(abs(slope), abs(along), 1e-300))
    return min(found, default=None)


def _by_position(program: Program, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments under the names that the function gives them: NPBench passes them by position."""
    function = program.function("numpy")
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dict(zip(names, arguments.values(), strict=False))


def _jax() -> Any:
    import jax  # only the process that measures JAX loads it

    jax.config.update("jax_enable_x64", True)
    return jax


def _jax_function(program: Program, given: dict[str, Any]) -> Callable[..., Any]:
    """Return JAX's version as a function of the arrays to differentiate by; the rest is held.

    The outermost `jax.jit` of a version is taken off: it would trace the number of steps, and JAX has no reverse mode
    for loops of unknown length. The gradient is compiled as a whole anyway.
    """
    function, names = program.function("jax"), differentiable(given)
    function = getattr(function, "__wrapped__", function)

    def run(*values: Any) -> Any:
        return function(*(given | dict(zip(names, values, strict=True))).values())

    return run


def _jax_arrays(jax: Any, given: dict[str, Any]) -> Arrays:
    return tuple(jax.numpy.asarray(given[name]) for name in differentiable(given))


def _copied(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}


def _ready(results: Any) -> Any:
    return fg.tree.map(np.asarray, results)
