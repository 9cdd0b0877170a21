"""The checks of a program. A check yields findings. Refusals in our own words are counted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz import matrices
from tests.laws.fuzz.beside_jax import beside_jax
from tests.laws.fuzz.case import Case
from tests.laws.fuzz.compare import difference, numbers, same, sharing, snapshot, wrong_sharing, wrong_type
from tests.laws.fuzz.derivable import Derivable, at_a_kink, is_cancelled, jumps, slope_of
from tests.laws.fuzz.derivatives import (
    MODES,
    WRAPPERS,
    differences,
    directions,
    forward,
    nested,
    pairing,
    size_of_pairing,
)
from tests.laws.fuzz.faulty import CHECKS_ON_JAX, is_anothers, judged
from tests.laws.fuzz.modules import OURS
from tests.laws.fuzz.program import Program
from tests.laws.fuzz.routes import ROUTES, BatchError, Route

# The probabilities of the slow checks, besides the weights of the routes.
JAX_WEIGHT, DIFFERENCES_WEIGHT, NEST_WEIGHT, SECOND_WEIGHT, MATRICES_WEIGHT = 0.05, 0.5, 0.25, 0.2, 0.05


@dataclass(frozen=True)
class Finding:
    """A check that a program fails."""

    program: Program
    check: str
    what: str

    @property
    def kind(self) -> str:
        """The settings that stay the same when the program is reduced."""
        return f"{self.check}: {self.what.partition(':')[0]}"


class Report:
    """The numbers of programs and checks, and the refusals."""

    def __init__(self) -> None:
        self.programs = 0
        self.checks: Counter[str] = Counter()
        self.refusals: Counter[tuple[str, str, str]] = Counter()

    def add(self, other: Report) -> None:
        self.programs += other.programs
        self.checks += other.checks
        self.refusals += other.refusals


Check = Callable[[Case, Random], Iterator[str]]


def _checks() -> dict[str, tuple[float, Check]]:
    table: dict[str, tuple[float, Check]] = {"eager": (1.0, _eager)}
    for route in ROUTES:
        table[route.name] = (route.weight, _of_route(route))
    table["first derivative"] = (1.0, _first)
    table["differences"] = (DIFFERENCES_WEIGHT, _by_differences)
    table["nest"] = (NEST_WEIGHT, _nest)
    table["second derivative"] = (SECOND_WEIGHT, _second)
    table["sparse"] = (MATRICES_WEIGHT, matrices.sparse)
    table["taylor"] = (MATRICES_WEIGHT, matrices.taylor)
    table["jax"] = (JAX_WEIGHT, beside_jax)
    return table


def _eager(case: Case, rng: Random) -> Iterator[str]:
    """Compare our functions on plain values: NumPy's values, dtypes, types and views."""
    run = case.program.function(OURS, case.arguments)
    got = run(**{name: case.arguments[name] for name in case.program.traced})
    yield from _compared(case, got, 4)
    if not case.objects:
        for expected, y in zip(case.results, got, strict=True):
            if wrong := wrong_type(expected, y):
                yield wrong
        # A number shares no memory, and whether a function returns an array without axes is not checked.
        arrays = [isinstance(y, np.ndarray) for y in got]
        shares = [(of, i, k) for of, i, k in case.shares if arrays[i] and (of == "input" or arrays[k])]
        if wrong := wrong_sharing(shares, sharing(got, case.inputs), views=True):
            yield wrong


def _of_route(route: Route) -> Check:
    def check(case: Case, rng: Random) -> Iterator[str]:
        names = case.names("buifc" if route.all_leaves else "fc", arrays="vmap" in route.name)
        if not names:
            return
        f, tree = case.function(names, rng)
        got = route.run(f, tree, rng)
        # A value without a derivative is a plain array of JAX. Its mean of integers has 32 bits even in 64-bit mode.
        coarsest = 2.0**-23 if CHECKS_ON_JAX in route.name and case.integral else 0.0
        found = _compared(case, got, 64 if route.xla else 4, coarsest, turned=route.xla)
        yield from [w for w in found if not _is_anothers(case, route, w)]
        wrong = wrong_sharing(case.shares, sharing(got, case.inputs), views=False)
        # The memory layout decides whether these copy, and a traced value has no memory layout.
        if wrong and not any(word in case.program.source() for word in ("ravel(", "reshape(")):
            yield wrong

    return check


def _is_anothers(case: Case, route: Route, wrong: str) -> bool:
    """Return whether a difference comes from XLA or JAX itself.

    XLA takes a bool times a number for a choice between the number and 0, and has other powers of complex infinities;
    it has no subnormal numbers; plain arrays of JAX have JAX's dtypes, and of ``np.sum(x, initial=y)`` leave out ``y``.
    """
    if CHECKS_ON_JAX in route.name and (wrong.startswith("dtype") or "initial=" in case.program.source()):
        return True
    infinite = not case.finite or case.exceptional
    return route.xla and wrong.startswith("value") and (case.subnormal or (infinite and case.mixed))


def _compared(case: Case, got: list[Any], scale: float, coarsest: float = 0.0, turned: bool = False) -> Iterator[str]:
    for i, (expected, y) in enumerate(zip(case.results, got, strict=True)):
        wrong = difference(expected, y, coarsest=coarsest)
        if wrong is not None and wrong.startswith("dtype") and case.objects:
            # There are no objects here, so NumPy's result for no objects has another dtype here.
            continue
        if wrong is not None and not (wrong.startswith("value") and case.is_rounding(scale, coarsest, turned)):
            yield f"{wrong} (result {i})"


def _first(case: Case, rng: Random) -> Iterator[str]:
    """Compare the tangent with the cotangent. Gradients must not share memory."""
    d = Derivable(case, rng)
    if d.empty:
        return
    y_dots = fg.jvp(d.f, (d.tree,), (d.t_dot,))[1]
    (bars,) = fg.vjp(d.f, d.tree)[1](d.y_bars)
    for x, bar in zip(fg.tree.leaves(d.tree), fg.tree.leaves(bars), strict=True):
        if np.shape(x) != np.shape(bar) or np.asarray(x).dtype != np.asarray(bar).dtype:
            yield f"gradient type: {np.asarray(bar).dtype}{np.shape(bar)} of {np.asarray(x).dtype}{np.shape(x)}"
    for i, y_dot in zip(case.floats, y_dots, strict=True):
        expected = numbers(np.asarray(case.results[i]))
        if np.shape(y_dot) != expected.shape or np.asarray(y_dot).dtype != expected.dtype:
            yield f"tangent type: {np.asarray(y_dot).dtype}{np.shape(y_dot)} of result {i}"
    own = [*case.inputs, *fg.tree.leaves((d.t_dot, d.y_bars))]
    if wrong := wrong_sharing([], sharing(fg.tree.leaves(bars), own), views=False):
        yield f"gradient {wrong}"
    if case.finite:
        size = size_of_pairing(d.y_bars, y_dots) + size_of_pairing(bars, d.t_dot)
        pushed, pulled = pairing(d.y_bars, y_dots), pairing(bars, d.t_dot)
        found = list(_agree("jvp and vjp", pushed, pulled, size, case.eps))
        if found and not is_cancelled(d, float(pushed) - float(pulled)):
            yield from found


def _agree(what: str, expected: Any, got: Any, size: float, eps: float) -> Iterator[str]:
    allowed = 1e5 * eps * (size + 1e-3)
    if np.isfinite(expected) and np.isfinite(size) and not abs(float(expected) - float(got)) <= allowed:
        yield f"{what}: {float(got):.9g}, expected {float(expected):.9g}"


def _by_differences(case: Case, rng: Random) -> Iterator[str]:
    d = Derivable(case, rng)
    if d.empty or not case.double or not case.sloped:
        return
    slope = slope_of(case, d)
    if slope is not None:
        y_dots = fg.jvp(d.f, (d.tree,), (d.t_dot,))[1]
        found = list(_close("slope", slope, pairing(d.y_bars, y_dots), size_of_pairing(d.y_bars, y_dots)))
        kink = found and at_a_kink(
            forward(d.f, d.tree, d.t_dot, d.y_bars), lambda t: forward(d.f, t, d.t_dot, d.y_bars), d
        )
        if found and not kink and not jumps(d):
            yield from found


def _close(what: str, expected: float, got: Any, size: float) -> Iterator[str]:
    """Compare with finite differences, which are right to six digits."""
    if np.isfinite(got) and not abs(float(got) - expected) <= 1e-4 * (abs(expected) + size) + 1e-6:
        yield f"{what}: {float(got):.9g}, differences give {expected:.9g}"


def _draw_nest(rng: Random, most: int = 2) -> list[str]:
    return [rng.choice(list(WRAPPERS)) for _ in range(rng.randint(0, most))]


def _nest(case: Case, rng: Random) -> Iterator[str]:
    """Compute a derivative of a nest of transforms inside another transform."""
    d = Derivable(case, rng)
    if d.empty or not case.finite:
        return
    inner, outer, mode = _draw_nest(rng), _draw_nest(rng), rng.choice(list(MODES))
    y_dots = fg.jvp(d.f, (d.tree,), (d.t_dot,))[1]
    f = nested(d.f, inner)
    (got,) = nested(lambda t: [MODES[mode](f, t, d.t_dot, d.y_bars)], outer)(d.tree)
    name = f"{' '.join(outer)} [{mode}] {' '.join(inner)}"
    (bars,) = fg.vjp(d.f, d.tree)[1](d.y_bars)
    size = size_of_pairing(d.y_bars, y_dots) + size_of_pairing(bars, d.t_dot)
    found = list(_agree("number", pairing(d.y_bars, y_dots), got, size, case.eps))
    if found and not is_cancelled(d, float(pairing(d.y_bars, y_dots)) - float(got)):
        yield from (f"nest: {name}: {w}" for w in found)


def _second(case: Case, rng: Random) -> Iterator[str]:
    """Compute the derivative by finite differences of the derivative, by any mode under a nest."""
    d = Derivable(case, rng)
    if d.empty or not case.sloped or not case.double:
        return
    u = directions(d.tree, rng)
    first, second, inner, outer = (
        rng.choice(list(MODES)),
        rng.choice(list(MODES)),
        _draw_nest(rng, 1),
        _draw_nest(rng, 1),
    )
    f = nested(d.f, inner)
    once = lambda t: [MODES[first](f, t, d.t_dot, d.y_bars)]
    (got,) = nested(lambda t: [MODES[second](once, t, u, [np.float64(1.0)])], outer)(d.tree)
    treedef = fg.tree.structure(d.tree)
    slope = differences(
        lambda t: MODES["jvp"](d.f, fg.tree.unflatten(treedef, t), d.t_dot, d.y_bars),
        fg.tree.leaves(d.tree),
        fg.tree.leaves(u),
    )
    if slope is not None:
        found = list(_close(f"second: {' '.join(outer)} [{second}] [{first}] {' '.join(inner)}", slope, got, 1e-3))
        pushed = lambda t: forward(lambda t: [forward(d.f, t, d.t_dot, d.y_bars)], t, u, [np.float64(1.0)])
        if found and not at_a_kink(got, pushed, d):
            yield from found


CHECKS = _checks()


def run(program: Program, report: Report, only: str | None = None) -> list[Finding]:
    """Return the findings of a program. With ``only``, make this check instead of drawing checks."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), fg.full_tracebacks():
        warnings.simplefilter("ignore")
        case = Case(program)
        chosen = Random(f"checks {program.seed}")
        found: list[Finding] = []
        told: set[str] = set()
        for name, (weight, check) in CHECKS.items():
            drawn = chosen.random() < weight
            if drawn if only is None else name == only:
                found += [Finding(program, name, what) for what in _made(case, name, check, report) if what not in told]
                told |= {finding.what for finding in found}
        report.programs += 1
    return found


def _made(case: Case, name: str, check: Check, report: Report) -> list[str]:
    before = snapshot(case.arguments)
    report.checks[name] += 1
    try:
        found = list(check(case, Random(f"{name} {case.program.seed}")))
    except BatchError as error:
        # A narrow number between may have become a wide one.
        scale = 0.01 * case.eps / float(np.finfo(float).eps)
        found = [] if same(*error.pair, scale) else [f"batch: {error}"]
    except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
        refusal, bad = judged(error)
        bad = bad and not is_anothers(error, refusal, name, case.objects)
        found = [f"raised {refusal.error} in {refusal.place}: {refusal.text}"] if bad else []
        if not bad:
            report.refusals[name, refusal.error, f"{refusal.place} {refusal.text[:60]}"] += 1
    after = snapshot(case.arguments)
    return [*found, *[f"input: {name} was changed" for name in before if before[name] != after[name]]]
