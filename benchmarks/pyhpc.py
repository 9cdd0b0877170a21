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
from itertools import product
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
SIZES = {"cpu": (65536,), "gpu": (65536, 1048576)}
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
    """Time a program's value and its gradient for each contender that has them. On a GPU those that compute on it."""
    program = PROGRAMS[name]
    inputs = tuple(_module(checkout, program, "__init__").generate_inputs(size))
    values: Runs = {}
    gradients: Runs = {}
    loss = _plain(checkout, program)
    for engine in ENGINES if suite.accelerator is None else ("xla",):
        value, gradient = fg.jit(loss, engine=engine), fg.jit(fg.value_and_grad(loss, program.by), engine=engine)
        given = [jax.numpy.asarray(each) for each in inputs] if engine == "xla" else inputs
        values[LABELS[engine]] = _staged(value, given)
        gradients[LABELS[engine]] = _staged(gradient, given)
    values["NumPy"] = partial(loss, *inputs)
    if suite.accelerator is None:
        gradients["funcgrad, eager"] = partial(_intercepted, fg.value_and_grad(loss, program.by), inputs)
        values["Numba"] = _by_numba(checkout, program, inputs)
    _add_jax(checkout, program, inputs, values, gradients)
    _add_torch(checkout, program, inputs, suite, values, gradients)
    for what, contenders in (("value", values), ("gradient", gradients)):
        case = f"{name}, {what}, {size:,} points"
        working = _working(suite, case, contenders)
        if OURS in working:
            suite.cases.append(Case(case, interleave(working, effort.at_most(15)), OURS))


def _working(suite: Suite, case: str, contenders: Runs) -> Runs:
    """Return the contenders that run and agree with the first; note the others."""
    wanted, found = None, {}
    for name, run in contenders.items():
        try:
            result = [_on_host(leaf) for leaf in fg.tree.leaves(run())]
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


def _on_host(leaf: Any) -> np.ndarray:
    return np.asarray(leaf.detach().cpu() if hasattr(leaf, "detach") else leaf, np.float64)


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
    parser.add_argument("--size", type=int, nargs="+", help="grid points, as pyhpc-benchmarks counts them")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name contains TEXT")
    parser.add_argument("--quick", action="store_true", help="few rounds and a small size")
    parser.add_argument("--device", choices=tuple(SIZES), help="where to compute; without it, JAX's default device")
    parser.add_argument("--output", type=Path, help="results/pyhpc.json on the CPU, results/pyhpc_gpu.json on a GPU")
    options = parser.parse_args(arguments)
    device = options.device or jax.default_backend()
    suite = Suite("pyhpc", accelerator=None if device == "cpu" else jax.devices(device)[0].device_kind)
    output = options.output or RESULTS / ("pyhpc.json" if device == "cpu" else f"pyhpc_{device}.json")
    sizes = (4096,) if options.quick else options.size or SIZES[device]
    with jax.enable_x64(True), jax.default_device(jax.devices(device)[0]):
        for name, size in product(PROGRAMS, sizes):
            if options.only in name:
                measure(suite, QUICK if options.quick else FULL, options.checkout, name, size)
                write_json(suite, output)  # The times so far, if the run is ended early.
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


def _plain(checkout: Path, program: Program) -> Callable[..., Any]:
    """Return the loss of the NumPy version, as a function that leaves its arguments as they are."""
    module = _module(checkout, program, f"{program.stem}_numpy")
    if hasattr(module, "solve_tridiag"):
        vars(module)["solve_tridiag"] = solve_tridiag
    entry = getattr(module, program.entry)

    def loss(*arguments: Any) -> Any:
        own = [np.copy(each) for each in arguments]  # inside of `fg.intercept()` arrays that take traced values
        returned = entry(*own)
        return total(np, own[-program.kept :] if program.kept else returned)

    return loss


def _by_numba(checkout: Path, program: Program, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    run = _module(checkout, program, f"{program.stem}_numba").run
    return lambda: total(np, run(*(each.copy() for each in inputs)))


def _add_jax(checkout: Path, program: Program, inputs: tuple[Any, ...], values: Runs, gradients: Runs) -> None:
    entry = getattr(_module(checkout, program, f"{program.stem}_jax"), program.entry)
    given = [jax.numpy.asarray(each) for each in inputs]

    def loss(*arguments: Any) -> Any:
        return total(jax.numpy, entry(*arguments))

    value, gradient = jax.jit(loss), jax.jit(jax.value_and_grad(loss, program.by))
    values["JAX"] = lambda: jax.block_until_ready(value(*given))
    gradients["JAX"] = lambda: jax.block_until_ready(gradient(*given))


def _add_torch(
    checkout: Path, program: Program, inputs: tuple[Any, ...], suite: Suite, values: Runs, gradients: Runs
) -> None:
    if importlib.util.find_spec("torch") is None:
        return
    torch: Any = import_module("torch")
    on_gpu = suite.accelerator is not None
    if on_gpu and not torch.cuda.is_available():
        suite.notes.append("PyTorch has no CUDA here")
        return
    entry = getattr(_module(checkout, program, f"{program.stem}_pytorch"), program.entry)
    given = [torch.as_tensor(each, device="cuda" if on_gpu else "cpu") for each in inputs]

    def loss(held: Sequence[Any]) -> Any:
        return total(torch, entry(*(each.clone() for each in held)))

    def value() -> Any:
        with torch.no_grad():
            return _arrived(torch, on_gpu, loss(given))

    def gradient() -> Any:
        held = list(given)
        for i in program.by:
            held[i] = given[i].detach().clone().requires_grad_(True)
        found = loss(held)
        return _arrived(torch, on_gpu, (found, torch.autograd.grad(found, [held[i] for i in program.by])))

    values["PyTorch"] = value
    gradients["PyTorch"] = gradient


def _arrived(torch: Any, on_gpu: bool, results: Any) -> Any:
    """Return results of PyTorch once the GPU has computed them."""
    if on_gpu:
        torch.cuda.synchronize()
    return results


if __name__ == "__main__":
    sys.exit(main())
