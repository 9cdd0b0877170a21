"""Sixteen programs with Python loops and their gradients, beside the same by hand in ``lax.scan``; and `fg.scan`."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

import funcgrad as fg
from benchmarks import _loops_jax
from benchmarks._loops import PROGRAMS
from benchmarks._timing import QUICK, Case, Effort, Samples, Suite, interleave

ENGINES = ("numpy", "numba", "xla")
# The most that a first call and a run may take, as a multiple of the peer's.
FIRST_LIMITS = {"numpy": 2.0, "numba": 4.0, "xla": 3.0}
RUN_LIMITS = {"numpy": 40.0, "numba": 1.0, "xla": 1.3}
QUICK_ROUNDS = 20
ROUNDS = 15


def loops(suite: Suite, effort: Effort) -> None:
    """Time the first call (staging and compiling) and a run of each program at its published size."""
    # Imports and JAX's own start happen once in a process. They belong to no program.
    _program(Suite("start"), QUICK, "ar2")
    for name in PROGRAMS:
        _program(suite, effort, name)


def _program(suite: Suite, effort: Effort, name: str) -> None:
    program = PROGRAMS[name]
    arguments = program.arguments(QUICK_ROUNDS if effort.quick else program.rounds)
    numbers = tuple(range(len(arguments)))
    gradient = fg.value_and_grad(program.f, argnums=numbers)
    with jax.enable_x64(True):
        theirs = jax.jit(jax.value_and_grad(_loops_jax.PROGRAMS[name], argnums=numbers))
        held = jax.tree.map(jax.numpy.asarray, arguments)
        jax.clear_caches()
        first = {"lax.scan": _first(theirs, held)}
        wanted = jax.tree.map(np.asarray, theirs(*held))
        runs: dict[str, Callable[[], object]] = {"lax.scan": partial(_run, theirs, held)}
        for engine in ENGINES:
            ours, given = fg.jit(gradient, engine=engine), held if engine == "xla" else arguments
            first[engine] = _first(ours, given)
            runs[engine] = partial(_run, ours, given)
            for a, b in zip(fg.tree.leaves(ours(*given)), fg.tree.leaves(wanted), strict=True):
                np.testing.assert_allclose(np.asarray(a), b, 1e-6, 1e-9)
        samples = interleave(runs, effort.at_most(ROUNDS))
    for engine in ENGINES:
        both = {engine: Samples((first[engine],)), "lax.scan": Samples((first["lax.scan"],))}
        suite.cases.append(Case(f"{name}: first call", both, engine, {"lax.scan": FIRST_LIMITS[engine]}))
        both = {engine: samples[engine], "lax.scan": samples["lax.scan"]}
        suite.cases.append(Case(f"{name}: run", both, engine, {"lax.scan": RUN_LIMITS[engine]}))


def _first(f: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    _run(f, arguments)
    return time.perf_counter() - start


def _run(f: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    jax.block_until_ready(f(*arguments))


def scans(suite: Suite, effort: Effort) -> None:
    """Time the gradient of `fg.scan` over 10,000 numbers on Numba and on XLA."""
    bodies: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
        "products": lambda c, x: (0.99 * c + 0.01 * x * c, c * c),
        "sqrt": lambda c, x: (np.sqrt(0.9 * c * c + x * x + 1.0), 0.5 * c),
        "tanh": lambda c, x: (np.tanh(0.9 * c + x), c),
    }
    rows = np.random.default_rng(0).standard_normal(QUICK_ROUNDS if effort.quick else 10_000)
    for name, body in bodies.items():
        gradient = fg.grad(partial(_scanned, body))
        runs = {engine: partial(_run, fg.jit(gradient, engine=engine), (rows,)) for engine in ("numba", "xla")}
        for run in runs.values():
            run()
        suite.cases.append(
            Case(f"fg.scan, {name}: run", interleave(runs, effort.at_most(ROUNDS)), "numba", {"xla": 1.0})
        )


def _scanned(body: Callable[[Any, Any], tuple[Any, Any]], rows: Any) -> Any:
    last, values = fg.scan(body, 0.1, rows)
    return last + np.sum(values)


CASES: dict[str, Callable[[Suite, Effort], None]] = {"loops": loops, "scans": scans}
