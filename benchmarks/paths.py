"""Functions that branch, compiled by ``fg.jit(f, paths=n)``, beside their straight programs and the eager function."""

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks._timing import Case, Check, Effort, Suite, interleave, interleave_once

# A known path may cost so many times its straight program.
ENGINES = {"numpy": 1.2, "numba": 1.2, "xla": 1.5}
SIZES = (10, 1_000, 10_000)
# A known path of Newton's iteration may cost so much of the eager gradient.
NEWTON = 0.2
ROUNDS = 9


def begin(x: Any, limit: Any) -> Any:
    """Ask for a number that is known at the beginning."""
    if x[0] > limit:
        return np.sum(np.tanh(np.sin(x) * x + 0.5) * np.exp(-x * x))
    return np.sum(x * x)


def middle(x: Any, limit: Any) -> Any:
    """Ask for a number in the middle of the work."""
    y = np.sin(x) * x + 0.5
    return np.sum(np.tanh(y) * np.exp(-x * x)) if y[0] > limit else np.sum(np.cos(y) * x)


def _straight(f: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the two straight programs of a function, without its branch."""
    if f is begin:
        return (
            lambda x, limit: np.sum(np.tanh(np.sin(x) * x + 0.5) * np.exp(-x * x)),
            lambda x, limit: np.sum(x * x),
        )
    return (
        lambda x, limit: np.sum(np.tanh(np.sin(x) * x + 0.5) * np.exp(-x * x)),
        lambda x, limit: np.sum(np.cos(np.sin(x) * x + 0.5) * x),
    )


def known(suite: Suite, effort: Effort) -> None:
    """Time the gradient along a known path, and along two paths in turn."""
    for engine, size in itertools.product(ENGINES, SIZES[:1] if effort.quick else SIZES):
        x = np.random.default_rng(0).uniform(0.5, 1.5, size)
        for f in (begin, middle):
            compiled = fg.jit(fg.grad(f), paths=4, engine=engine)
            both = [fg.jit(fg.grad(g), engine=engine) for g in _straight(f)]
            for limit, program in zip((0.0, 9.0), both, strict=True):
                np.testing.assert_allclose(compiled(x, limit), program(x, limit), 1e-12)
            title = f"{engine}, {size:,} numbers, guard at the {'beginning' if f is begin else 'middle'}"
            contenders = {"funcgrad": partial(compiled, x, 0.0), "straight": partial(both[0], x, 0.0)}
            limits = {"straight": ENGINES[engine]}
            suite.cases.append(Case(title, interleave(contenders, effort), limits=limits))
            contenders = {
                "funcgrad": lambda x=x, compiled=compiled: (compiled(x, 0.0), compiled(x, 9.0)),
                "straight": lambda x=x, both=both: (both[0](x, 0.0), both[1](x, 9.0)),
            }
            suite.cases.append(Case(f"{title}, two paths in turn", interleave(contenders, effort)))


def without(suite: Suite, effort: Effort) -> None:
    """Time a function that asks for nothing: the option alone."""
    f = _straight(middle)[0]
    for engine, size in itertools.product(ENGINES, SIZES[:1] if effort.quick else SIZES[:2]):
        x = np.random.default_rng(0).uniform(0.5, 1.5, size)
        contenders = {
            "funcgrad": partial(fg.jit(fg.grad(f), paths=4, engine=engine), x, 0.0),
            "straight": partial(fg.jit(fg.grad(f), engine=engine), x, 0.0),
        }
        limits = {"straight": ENGINES[engine]}
        suite.cases.append(Case(f"{engine}, {size:,} numbers, no guard", interleave(contenders, effort), limits=limits))


def first(suite: Suite, effort: Effort) -> None:
    """Time the first call, and that of the second path, of functions made anew."""
    x = np.random.default_rng(0).uniform(0.5, 1.5, 10)
    for engine in ENGINES:
        cases: tuple[list[Callable[[], float]], list[Callable[[], float]]] = (
            [partial(_first, middle, 4, engine, x, ()), partial(_first, middle, 4, engine, x, (9.0,))],
            [partial(_first, f, 1, engine, x, ()) for f in _straight(middle)],
        )
        for what, ours, straight in zip(("first", "second"), *cases, strict=True):
            samples = interleave_once({"funcgrad": ours, "straight": straight}, effort.at_most(ROUNDS).rounds)
            suite.cases.append(Case(f"{engine}, first call on the {what} path", samples))
    suite.notes.append("Numba's kernels are kept on disk, so their first calls load them.")


def _first(f: Callable[..., Any], paths: int, engine: str, x: Any, before: Sequence[float]) -> float:
    compiled = fg.jit(fg.grad(f), paths=paths, engine=engine)
    for limit in before:
        compiled(x, limit)
    start = time.perf_counter()
    compiled(x, 0.0)
    return time.perf_counter() - start


def root(a: Any) -> Any:
    """Newton's iteration for a square root."""
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def system(a: Any) -> Any:
    """Newton's iteration for four equations."""
    x = np.ones(4)
    for _ in range(50):
        residual = x**3 + 0.5 * x[::-1] - a
        if np.max(np.abs(residual)) < 1e-12:
            break
        x = x - np.linalg.solve(3 * np.diag(x**2) + 0.5 * np.eye(4)[::-1], residual)
    return np.sum(x)


def newton(suite: Suite, effort: Effort) -> None:
    """Time a hundred gradients of iterations that end by a tolerance, whose numbers of rounds differ."""
    rng = np.random.default_rng(0)
    starts: dict[Callable[..., Any], list[Any]] = {
        root: list(rng.uniform(1.0, 50.0, 100)),
        system: list(rng.uniform(1.0, 5.0, (100, 4))),
    }
    for engine, (f, inputs) in itertools.product(ENGINES, starts.items()):
        compiled, eager = fg.jit(fg.grad(f), paths=32, engine=engine), fg.grad(f)
        for a in inputs:
            np.testing.assert_allclose(compiled(a), eager(a), 1e-9)
        contenders = {
            "funcgrad": lambda inputs=inputs, compiled=compiled: [compiled(a) for a in inputs],
            "eager": lambda inputs=inputs, eager=eager: [eager(a) for a in inputs],
        }
        title = f"{engine}, Newton's iteration for a {'number' if f is root else 'vector of four'}, 100 calls"
        samples = interleave(contenders, effort.at_most(ROUNDS))
        suite.cases.append(Case(title, samples, limits={"eager": NEWTON}))
        suite.checks.append(Check(f"{title}: paths", compiled.cache_size(), ""))


def backward(suite: Suite, effort: Effort) -> None:
    """Time staging and writing of a new number of rounds of a long loop, whose backward pass shares no code."""
    del effort
    for engine in ("numpy",):
        compiled = fg.jit(fg.grad(_halvings), paths=16, engine=engine)
        for rounds in (9, 20, 31, 42, 53, 64, 75, 85):
            start = time.perf_counter()
            compiled(2.0**rounds)
            elapsed = time.perf_counter() - start
            suite.checks.append(Check(f"{engine}, gradient of a loop, a first path of {rounds} rounds", elapsed, "s"))
        lines = float(compiled.source(2.0).count("\n"))
        suite.checks.append(Check(f"{engine}, gradient of a loop, 9 numbers of rounds: lines", lines, ""))


def _halvings(x: Any) -> Any:
    while x > 1.5:
        x = x * 0.5 + np.sin(x) * 1e-3
    return x


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "known": known,
    "without": without,
    "first": first,
    "newton": newton,
    "backward": backward,
}
