"""Random functions that branch on numbers: compiled by paths on every engine, compared with the plain function.

A program is Python source. Its statements compute, write rows, branch, loop until a number is small, leave loops early,
take indices and lengths from numbers, and choose elements by masks. Values must equal the plain function's, gradients
those of `fg.grad` without compilation, and a program prints each of its lines once in each call.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import numpy as np

import funcgrad as fg
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged

SIZE = 4
CALLS = 6
PATHS = 4
_SCALARS = ("s", "np.sum(x)", "x[0]", "np.max(x)", "np.mean(y)", "y[-1]", "x[1] * s", "np.dot(x, y)")
_VECTORS = ("x", "y", "np.sin(x)", "x * s", "y + x", "np.abs(y)", "x[::-1]", "np.cumsum(y) * 0.1", "np.tanh(y - x)")
# The function makes these arrays anew in each call.
_VECTORS += ("x * np.array([0.5, -0.3, 1.0, 0.2])", "y + np.linspace(-1.0, 1.0, 4)")
_ROUNDED = ("round(np.tanh(s) * 3.0) % 4", "math.floor(y[0]) % 4", "np.argsort(y).tolist()[1]")
# Questions about the type of a number, and comparisons of numbers that are counted.
_KINDS = (
    "s = s * 0.5 if isinstance(s, float) else s + 3.0",
    "s = s + (0.1 if np.isscalar(y[0]) and not np.isscalar(y) else 2.0)",
    "s = s + (2.0 if hasattr(s, '__len__') or not hasattr(y, '__len__') else 0.1)",
    "s = s * (0.3 if isinstance(np.sum(x), np.floating) else 2.0)",
    "s = s + sum([y[0] > 0.0, s > 0.5, x[1] > y[1]]) * 0.1",
)
_LIMITS = ("0.0", "0.5", "-0.7", "1.5")
# A line that begins so asks for a number.
_ASKING = ("if", "while", "for", "n =", "s = max", "s = min", "s = sorted", "m =", "u, c =", "y = fg.checkpoint")

# A result, or an error, and the lines that were printed.
Outcome = tuple[Any, BaseException | None, list[str]]
# Outcomes of the plain function: whether it is the value alone, and the number of the call.
Known = dict[tuple[bool, int], Outcome]


@dataclass(frozen=True)
class Branching:
    """Draw the source of a function of a vector and a number."""

    seed: int
    source: str

    def text(self) -> str:
        return f"# tests.laws.fuzz.branches.branching_of({self.seed})\n{self.source}"

    def made(self) -> Callable[..., Any]:
        scope: dict[str, Any] = {"np": np, "fg": fg, "math": math}
        exec(compile(self.source, f"<branches {self.seed}>", "exec"), scope)
        return scope["f"]


def branching_of(seed: int) -> Branching:
    rng = Random(seed)
    return _ended(seed, rng, _block(rng, 0, rng.randint(2, 5)))


def small_of(seed: int) -> Branching:
    """Draw a function of one or two statements, at least one of which asks for a number. It is built in a second."""
    rng = Random(seed)
    while True:
        body = _block(rng, 1, rng.randint(1, 2))
        if any(line.lstrip().startswith(_ASKING) for line in body):
            return _ended(seed, rng, body)


def _ended(seed: int, rng: Random, body: list[str]) -> Branching:
    body = ["y = x * 0.5 + 0.1", *body]
    result = rng.choice(("np.sum(y) + s", "np.sum(y * y)", "np.sum(np.cos(y)) * s", "y[0] * s + np.sum(x)"))
    lines = ["def f(x, s):", *[f"    {line}" for line in body], f"    return {result}"]
    return Branching(seed, "\n".join(lines) + "\n")


def _block(rng: Random, depth: int, count: int) -> list[str]:
    lines: list[str] = []
    for _ in range(count):
        lines += rng.choice(_STATEMENTS if depth < 3 else _STATEMENTS[:5])(rng, depth)
    return lines


def _condition(rng: Random) -> str:
    first = f"{rng.choice(_SCALARS)} {rng.choice(('>', '<', '>=', '<='))} {rng.choice(_LIMITS)}"
    kind = rng.random()
    if kind < 0.15:
        return f"{first} and {rng.choice(_SCALARS)} > {rng.choice(_LIMITS)}"
    if kind < 0.25:
        return f"not {first}"
    if kind < 0.35:
        return f"np.any({rng.choice(_VECTORS)} > {rng.choice(_LIMITS)})"
    if kind < 0.4:
        return f"-1.0 < {rng.choice(_SCALARS)} < 1.0"
    return first


def _compute(rng: Random, depth: int) -> list[str]:
    del depth
    return [f"y = {rng.choice(_VECTORS)} * {rng.choice(('0.5', '0.9', '-0.3'))} + {rng.choice(_VECTORS)} * 0.2"]


def _scalar(rng: Random, depth: int) -> list[str]:
    del depth
    return [f"s = np.tanh({rng.choice(_SCALARS)}) + {rng.choice(('0.1', 's * 0.5', '0.0'))}"]


def _write(rng: Random, depth: int) -> list[str]:
    del depth
    where = rng.choice(("0", "-1", "1:3", "::2"))
    return ["y = y.copy()", f"y[{where}] {rng.choice(('=', '+=', '*='))} {rng.choice(('s', '0.5', 'np.sum(x) * 0.1'))}"]


def _index(rng: Random, depth: int) -> list[str]:
    del depth
    n = rng.choice(("int(np.argmax(y))", "int(abs(np.tanh(s)) * 2.9)", "int(np.sum(x > 0.0)) % 4", *_ROUNDED))
    use = rng.choice(
        (
            "s = s + y[n]",
            "s = s + np.sum(y[: n + 1])",
            "y = y * (n + 1.0) * 0.3",
            "s = s + np.ones(n + 1)[n]",
            "s = s + math.prod([y[0] * 0.5] * n)",
            "s = s + 0.1 * len((n + 1) * 'ab')",
        )
    )
    return [f"n = {n}", use]


def _choice(rng: Random, depth: int) -> list[str]:
    del depth
    return [rng.choice(("s = max(s, y[0])", "s = min(s, np.sum(x), 2.0)", "s = sorted([s, y[0], y[1]])[1]", *_KINDS))]


def _mask(rng: Random, depth: int) -> list[str]:
    del depth
    mask = f"{rng.choice(_VECTORS)} > {rng.choice(_LIMITS)}"
    use = rng.choice(("y[m] = np.cos(y[m])", "y[m] *= 0.5", "s = s + np.sum(y[m])", "s = s + np.sum(np.unique(y[m]))"))
    return [f"m = {mask}", "y = y.copy()", use]


def _counts(rng: Random, depth: int) -> list[str]:
    del rng, depth
    return ["u, c = np.unique(np.round(y), return_counts=True)", "s = s * 0.9 + np.sum(u * c) * 0.1"]


def _checkpoint(rng: Random, depth: int) -> list[str]:
    del depth
    asked = f"{rng.choice(('v[0]', 'np.sum(v)', 's'))} > {rng.choice(_LIMITS)}"
    return [f"y = fg.checkpoint(lambda v: np.sin(v) * s if {asked} else v * 0.5)(y)"]


def _effect(rng: Random, depth: int) -> list[str]:
    del depth
    return ['fg.debug_print("{}", s)'] if rng.random() < 0.3 else ["s = s * 0.9"]


def _error(rng: Random, depth: int) -> list[str]:
    del depth
    matrix = f"np.outer(y, y) * 0.1 + np.eye(4) * {rng.choice(_SCALARS)}"
    use = rng.choice(
        ("s = s + np.linalg.cholesky(k)[3, 0]", "y = np.linalg.cholesky(k) @ y * 0.5", "np.linalg.cholesky(k)")
    )
    return [f"k = {matrix}", "try:", f"    {use}", "except np.linalg.LinAlgError:", "    s = s * 0.5 - 0.1"]


def _if(rng: Random, depth: int) -> list[str]:
    lines = [f"if {_condition(rng)}:", *_inner(rng, depth)]
    if rng.random() < 0.6:
        lines += ["else:", *_inner(rng, depth)]
    return lines


def _while(rng: Random, depth: int) -> list[str]:
    body = _inner(rng, depth)
    limit, k = rng.choice(("0.3", "0.1")), f"k{depth}"
    return [f"{k} = 0", f"while abs(s) > {limit} and {k} < 7:", *body, "    s = s * 0.5", f"    {k} += 1"]


def _for(rng: Random, depth: int) -> list[str]:
    return [f"for j in range({rng.randint(2, 4)}):", *_inner(rng, depth), f"    if {_condition(rng)}: break"]


def _return(rng: Random, depth: int) -> list[str]:
    del depth
    return [f"if {_condition(rng)}:", f"    return {rng.choice(_SCALARS)} * 1.5"]


def _raise(rng: Random, depth: int) -> list[str]:
    del depth
    if rng.random() < 0.7:
        return _compute(rng, 0)
    return [f"if {rng.choice(_SCALARS)} > 2.5:", "    raise ArithmeticError('too large')"]


_STATEMENTS = (_compute, _scalar, _write, _index, _choice, _if, _if, _if, _while, _for, _return, _raise, _effect, _mask)
_STATEMENTS += (_counts, _checkpoint, _error)


def _inner(rng: Random, depth: int) -> list[str]:
    return [f"    {line}" for line in _block(rng, depth + 1, rng.randint(1, 2))]


def findings(program: Branching, report: Report) -> list[str]:
    """Return the differences between a compiled function and the plain one, in several forms."""
    f = program.made()
    rng = Random(program.seed + 1)
    engines = ["numpy", *(["numba"] if rng.random() < 0.05 else []), *(["xla"] if rng.random() < 0.05 else [])]
    names: list[tuple[str, str]] = []
    for engine in engines:
        names += [(form, engine) for form in ("jit", "jit of grad")]
        names += [("grad of jit", engine)] if engine == "numpy" else []
        names += [("grad of a closure", engine)] if rng.random() < 0.1 else []
    report.programs += 1
    known: Known = {}
    return [what for name in names for what in _found(f, program.seed, *name, report, known)]


def findings_on(program: Branching, engine: str, report: Report) -> list[str]:
    """Return the differences on one engine, in one form, which the seed chooses."""
    (form,) = Random(program.seed + 1).choices(("jit of grad", "jit", "grad of jit", "grad of a closure"), (8, 3, 1, 1))
    report.programs += 1
    return _found(program.made(), program.seed, form, engine, report, {})


def _found(f: Callable[..., Any], seed: int, form: str, engine: str, report: Report, known: Known) -> list[str]:
    numbers = np.random.default_rng(seed)
    calls = [(numbers.standard_normal(SIZE) * 1.2, np.float64(numbers.standard_normal())) for _ in range(CALLS)]
    gradient = fg.value_and_grad(f, argnums=(0, 1))
    compiled, plain = {
        "jit": lambda: (fg.jit(f, paths=PATHS, engine=engine), f),
        "jit of grad": lambda: (fg.jit(gradient, paths=PATHS, engine=engine), gradient),
        "grad of jit": lambda: (fg.value_and_grad(fg.jit(f, paths=PATHS, engine=engine), (0, 1)), gradient),
        "grad of a closure": lambda: (fg.value_and_grad(_closing(f, engine), (0, 1)), gradient),
    }[form]()
    for k, (x, s) in enumerate([*calls, *calls[:3]]):
        report.checks[f"paths: {form} {engine}"] += 1
        got, key = _outcome(compiled, x, s), (form == "jit", k % CALLS)
        if key not in known:
            known[key] = _outcome(plain, x, s)
        if (what := _difference(got, known[key], report)) is not None:
            return [f"{form} {engine}: call {k}: {what}"]
    closed = [types.closed for types in getattr(compiled, "_types", {}).values()]
    return [f"{form} {engine}: {why}" for why in closed if why.startswith("it did something else")]


def _closing(f: Callable[..., Any], engine: str) -> Callable[..., Any]:
    """Return the function with a compiled function inside that closes over both arguments."""
    return lambda x, s: fg.jit(lambda one: f(one * x, s), paths=PATHS, engine=engine)(1.0)


def _outcome(f: Callable[..., Any], x: np.ndarray, s: Any) -> Outcome:
    """Return the result, or the error, and the lines that were printed."""
    printed = io.StringIO()
    result, raised = None, None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = f(x.copy(), s)
            fg.tree.map(np.asarray, result)
        except Exception as error:  # noqa: BLE001  (what is raised is compared)
            raised = error
    return result, raised, printed.getvalue().split()


def _difference(got: Any, expected: Any, report: Report) -> str | None:
    (y, error, lines), (z, plain_error, plain_lines) = got, expected
    if error is not None or plain_error is not None:
        # A program that printed does not run again if one of its operations fails.
        fails = isinstance(error, np.linalg.LinAlgError) and len(plain_lines) > 0
        if type(error) is type(plain_error) or fails or _is_refused(error, report):
            return None
        return f"error: {error!r}, and the plain function {plain_error!r}"
    if len(lines) != len(plain_lines):
        return f"effects: {len(lines)} prints, and the plain function {len(plain_lines)}"
    for a, b in zip(map(np.asarray, fg.tree.leaves(y)), map(np.asarray, fg.tree.leaves(z)), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"type: {a.dtype}{a.shape}, and the plain function {b.dtype}{b.shape}"
        if not np.allclose(a, b, 1e-9, 1e-11, equal_nan=True):
            return f"value: {a}, and the plain function {b}"
    return None


def _is_refused(error: BaseException | None, report: Report) -> bool:
    """Return whether the library refused in its own words."""
    if error is None:
        return False
    refusal, bad = judged(error)
    report.refusals["branches", refusal.error, refusal.place] += not bad
    return not bad


def main() -> int:
    """Check small programs on one engine: ``python -m tests.laws.fuzz.branches numba --first 0 --programs 100``."""
    parser = argparse.ArgumentParser(prog="branches")
    parser.add_argument("engine", choices=("numpy", "numba", "xla"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--programs", type=int, default=100)
    options = parser.parse_args()
    report, found = Report(), 0
    for seed in range(options.first, options.first + options.programs):
        program = small_of(seed)
        for what in findings_on(program, options.engine, report):
            found += 1
            sys.stdout.write(f"#### seed {seed}: {what}\n{program.source}")
        if report.programs % 100 == 0:
            # The compiled code of thousands of programs would not fit into memory.
            jax.clear_caches()
    last, checks, refused = options.first + options.programs - 1, sum(report.checks.values()), report.refusals.total()
    sys.stdout.write(
        f"{report.programs} programs on {options.engine}, seeds {options.first} to {last}: {checks} calls, "
    )
    sys.stdout.write(f"{refused} refused in our own words, {found} findings\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
