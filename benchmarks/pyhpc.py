"""pyhpc-benchmarks: three parts of an ocean model and their gradients, `python -m benchmarks.pyhpc CHECKOUT`.

The programs are read from a checkout of dionhaefner/pyhpc-benchmarks. Ours are its NumPy versions, run inside of
`fg.intercept()`, because they make arrays with `np.zeros`. The one change is a tridiagonal solve by LAPACK's `dgtsv`,
which is given as elimination over the last axis.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

import funcgrad as fg
from benchmarks._report import RESULTS, markdown, write_json
from benchmarks._timing import FULL, QUICK, Case, Effort, Suite, interleave
from benchmarks.npbench._run import apart

ENGINES = ("numpy", "numba", "xla")
OURS = "funcgrad, XLA"
CLOSE = 1e-6  # the largest difference from the first contender, over the largest number
LABELS = {"numpy": "funcgrad, NumPy", "numba": "funcgrad, Numba", "xla": OURS}

Runs = dict[str, Callable[[], Any]]


class Program(NamedTuple):
    """A part of the model.

    Args:
        folder: its folder in the checkout.
        stem: the beginning of its files' names.
        entry: its function.
        by: positions of the arguments to differentiate by.
        kept: how many of the last arguments are the results, if the function returns none.
    """

    folder: str
    stem: str
    entry: str
    by: tuple[int, ...]
    kept: int = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """Positions of the arguments of a loss that takes only those to differentiate by."""
        return tuple(range(len(self.by)))

    def filled(self, inputs: Sequence[Any], chosen: Sequence[Any]) -> list[Any]:
        """Return all arguments, with the chosen ones in their places."""
        given = list(inputs)
        for i, each in zip(self.by, chosen, strict=True):
            given[i] = each
        return given


PROGRAMS = {
    "equation of state": Program("equation_of_state", "eos", "gsw_dHdT", (0, 1, 2)),
    "isoneutral mixing": Program("isoneutral_mixing", "isoneutral", "isoneutral_diffusion_pre", (12, 13, 15), 7),
    "turbulent kinetic energy": Program("turbulent_kinetic_energy", "tke", "integrate_tke", (0, 1, 2, 15, 16, 17, 19)),
}


def solve_tridiag(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Solve systems with the diagonals a, b, c along the last axis: elimination, then substitution (Thomas)."""
    n = a.shape[-1]
    slopes, rests = [c[..., 0] / b[..., 0]], [d[..., 0] / b[..., 0]]
    for i in range(1, n):
        pivot = b[..., i] - a[..., i] * slopes[-1]
        slopes.append(c[..., i] / pivot)
        rests.append((d[..., i] - a[..., i] * rests[-1]) / pivot)
    found = [rests[-1]]
    for i in range(n - 2, -1, -1):
        found.append(rests[i] - slopes[i] * found[-1])
    return np.stack(found[::-1], axis=-1)


def total(np: Any, results: Any) -> Any:
    """Return the sum over all results of the mean of their squares."""
    each = results if isinstance(results, (tuple, list)) else [results]
    sums = [np.mean(one * one) for one in each]
    return sum(sums[1:], start=sums[0])


def measure(suite: Suite, effort: Effort, checkout: Path, name: str, size: int) -> None:
    """Time a program's value and its gradient for each contender that has them."""
    program = PROGRAMS[name]
    inputs = tuple(_module(checkout, program, "__init__").generate_inputs(size))
    values: Runs = {}
    gradients: Runs = {}
    plain = _plain(checkout, program)
    held = [inputs[i] for i in program.by]

    def loss(*chosen: Any) -> Any:
        return total(np, plain(*program.filled(inputs, chosen)))

    for engine in ENGINES:
        value, gradient = fg.jit(loss, engine=engine), fg.jit(fg.value_and_grad(loss, program.numbers), engine=engine)
        given = [jax.numpy.asarray(each) for each in held] if engine == "xla" else held
        values[LABELS[engine]] = _staged(value, given)
        gradients[LABELS[engine]] = _staged(gradient, given)
    values["NumPy"] = partial(loss, *held)
    gradients["funcgrad, eager"] = partial(_intercepted, fg.value_and_grad(loss, program.numbers), held)
    values["Numba"] = _by_numba(checkout, program, inputs)
    _add_jax(checkout, program, inputs, values, gradients)
    _add_torch(checkout, program, inputs, values, gradients)
    for what, contenders in (("value", values), ("gradient", gradients)):
        working = _working(suite, f"{name}, {what}", contenders)
        if OURS in working:
            times = interleave(working, effort.at_most(15))
            suite.cases.append(Case(f"{name}, {what}, {size:,} points", times, OURS))


def _working(suite: Suite, case: str, contenders: Runs) -> Runs:
    """Return the contenders that run and agree with the first; note the others."""
    wanted, found = None, {}
    for name, run in contenders.items():
        try:
            result = [np.asarray(leaf, np.float64) for leaf in fg.tree.leaves(run())]
        except Exception as error:  # noqa: BLE001  (what a contender cannot do is a line of the report)
            suite.notes.append(f"{case}: {name} does not run: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        wanted = result if wanted is None else wanted
        first = next(iter(contenders))
        missing, agrees = _beside(result, wanted)
        if agrees and missing:
            count = sum(each.size for each in result)
            suite.notes.append(f"{case}: {name} gives NaN for {missing:,} of {count:,} numbers, else those of {first}")
        if agrees:
            found[name] = run
        else:
            suite.notes.append(f"{case}: {name} gives other numbers than {first}")
    return found


def _beside(result: list[np.ndarray], wanted: list[np.ndarray]) -> tuple[int, bool]:
    """Return how many numbers of a result are NaN where the wanted ones are not, and whether all others agree."""
    if [each.shape for each in result] != [each.shape for each in wanted]:
        return 0, False
    missing = [np.isnan(a) & ~np.isnan(b) for a, b in zip(result, wanted, strict=True)]
    filled = [np.where(mask, b, a) for mask, a, b in zip(missing, result, wanted, strict=True)]
    count = sum(int(mask.sum()) for mask in missing)
    return count, all(apart(a, b) <= CLOSE for a, b in zip(filled, wanted, strict=True))


def _intercepted(f: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    with fg.intercept():
        return jax.block_until_ready(f(*arguments))


def _staged(f: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], Any]:
    """Return a run of a compiled function. Only its first call, which stages, needs `fg.intercept()`: 0.1 ms a call."""
    first: list[Any] = []

    def run() -> Any:
        if not first:
            first.append(_intercepted(f, arguments))
        return jax.block_until_ready(f(*arguments))

    return run


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pyhpc", description=__doc__)
    parser.add_argument("checkout", type=Path, help="where dionhaefner/pyhpc-benchmarks was cloned")
    parser.add_argument("--size", type=int, default=65536, help="grid points, as pyhpc-benchmarks counts them")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name contains TEXT")
    parser.add_argument("--quick", action="store_true", help="few rounds and a small size")
    parser.add_argument("--output", type=Path, default=RESULTS / "pyhpc.json")
    options = parser.parse_args(arguments)
    suite = Suite("pyhpc")
    with jax.enable_x64(True):
        for name in PROGRAMS:
            if options.only in name:
                size = 4096 if options.quick else options.size
                measure(suite, QUICK if options.quick else FULL, options.checkout, name, size)
                write_json(suite, options.output)  # The times so far, if the run is ended early.
    print(markdown(suite))
    return 0


def _module(checkout: Path, program: Program, name: str) -> ModuleType:
    path = checkout / "benchmarks" / program.folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"pyhpc_{program.stem}_{name}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Numba looks the module up by its name
    spec.loader.exec_module(module)
    return module


def _plain(checkout: Path, program: Program) -> Callable[..., Sequence[Any]]:
    """Return the NumPy version as a function that leaves its arguments as they are."""
    module = _module(checkout, program, f"{program.stem}_numpy")
    if hasattr(module, "solve_tridiag"):
        vars(module)["solve_tridiag"] = solve_tridiag
    entry = getattr(module, program.entry)

    def run(*arguments: Any) -> Sequence[Any]:
        own = [np.copy(each) for each in arguments]  # inside of `fg.intercept()` arrays that take traced values
        returned = entry(*own)
        return own[-program.kept :] if program.kept else returned

    return run


def _by_numba(checkout: Path, program: Program, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    entry = getattr(_module(checkout, program, f"{program.stem}_numba"), program.entry)

    def run() -> Any:
        own = [each.copy() for each in inputs]
        returned = entry(*own)
        return total(np, own[-program.kept :] if program.kept else returned)

    return run


def _add_jax(checkout: Path, program: Program, inputs: tuple[Any, ...], values: Runs, gradients: Runs) -> None:
    entry = getattr(_module(checkout, program, f"{program.stem}_jax"), program.entry)
    given = [jax.numpy.asarray(each) for each in inputs]
    held = [given[i] for i in program.by]

    def loss(*chosen: Any) -> Any:
        return total(jax.numpy, entry(*program.filled(given, chosen)))

    value, gradient = jax.jit(loss), jax.jit(jax.value_and_grad(loss, program.numbers))
    values["JAX"] = lambda: jax.block_until_ready(value(*held))
    gradients["JAX"] = lambda: jax.block_until_ready(gradient(*held))


def _add_torch(checkout: Path, program: Program, inputs: tuple[Any, ...], values: Runs, gradients: Runs) -> None:
    if importlib.util.find_spec("torch") is None:
        return
    torch: Any = import_module("torch")
    entry = getattr(_module(checkout, program, f"{program.stem}_pytorch"), program.entry)
    given = [torch.as_tensor(each) for each in inputs]

    def loss(*chosen: Any) -> Any:
        own = [each.clone() for each in program.filled(given, chosen)]
        return total(torch, entry(*own))

    def value() -> Any:
        with torch.no_grad():
            return loss(*(given[i] for i in program.by))

    def gradient() -> Any:
        held = [given[i].detach().clone().requires_grad_(True) for i in program.by]
        found = loss(*held)
        return found, torch.autograd.grad(found, held)

    values["PyTorch"] = value
    gradients["PyTorch"] = gradient


if __name__ == "__main__":
    sys.exit(main())
