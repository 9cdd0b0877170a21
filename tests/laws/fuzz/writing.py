"""The checks of programs that write: each variable has NumPy's value and the right slope, in each way of running."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad._core.bind import Tracer
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged
from tests.laws.fuzz.noise import Noise
from tests.laws.fuzz.writes import Program, program_of
from tests.laws.fuzz.writes_case import ARGNUMS, Case, differences

__all__ = ["checked", "findings", "program_of"]

# The frequency of each check.
WEIGHTS = {
    "eager": 1.0,
    "forward": 1.0,
    "numpy engine": 0.3,
    "xla": 0.06,
    "graph": 0.2,
    "grad of jit": 0.15,
    "checkpoint": 0.3,
    "second": 0.5,
    "nested": 0.3,
    "vmap": 0.4,
    "in vmap": 0.2,
    "branch": 0.2,
    "scan": 0.2,
    "fori_loop": 0.1,
}
# Calls that may be refused: a shape, a branch or an integer that would depend on numbers. Also a complex value written
# to no elements of a float array, and all elements of an empty array.
REFUSED = (
    "Make the array of a complex dtype",
    "Error setting single item",
    "Cannot insert from an empty array",
    "the mask is traced",
    "indexed by a traced mask",
    "bool() was asked",
    "boolean index did not match",
    # A number that no traced value went into is a plain one, and so is its copy.
    "[] of plain numbers",
)
# Findings that do not compare slopes.
KEPT = ("value", "type", "leaks")
# The slope of a program that writes NaN.
_IS_NAN = re.compile(r": nan, expected \S+$")
INTO_INTEGERS = ("its derivative would be cut", "an array of plain numbers", "same_kind")


def _dot(a: Any, b: Any) -> float:
    return sum(float(np.sum(np.asarray(x, float) * y)) for x, y in zip(a, b, strict=True))


def _close(what: str, got: float, expected: float | None, tolerance: float) -> Iterator[str]:
    if expected is not None and not abs(got - expected) <= tolerance * (1 + abs(expected)):
        yield f"{what}: {got:.9g}, expected {expected:.9g}"


def _same(case: Case, got: dict[str, Any], scale: float = 1.0) -> Iterator[str]:
    """Return the values of the variables."""
    for name, expected in case.values.items():
        y = got[name]
        if isinstance(y, Tracer):
            yield f"leaks: {name} is {y!r}"
            continue
        y, x = np.asarray(y), np.asarray(expected)
        if y.dtype != x.dtype or y.shape != x.shape:
            yield f"type: {name} is {y.dtype}{y.shape}, NumPy's {x.dtype}{x.shape}"
        elif not np.allclose(
            y, x, rtol=case.tolerance * scale, atol=case.tolerance * scale, equal_nan=True
        ) and not case.is_rounding(
            name, float(np.max(np.abs(y - x.astype(complex)), where=case.known[name], initial=0))
        ):
            yield f"value: {name} is\n{y}\nNumPy's\n{x}"


def _gradient(case: Case, what: str, bars: Any) -> Iterator[str]:
    for x, bar in zip(case.given, bars, strict=True):
        if np.shape(bar) != x.shape or np.asarray(bar).dtype != x.dtype:
            yield f"{what} type: {np.asarray(bar).dtype}{np.shape(bar)}"
            return
    yield from _close(what, _dot(bars, case.directions), case.slope, max(case.tolerance, 1e-5))


def _eager(case: Case) -> Iterator[str]:
    (_, values), bars = fg.value_and_grad(case.loss, ARGNUMS, has_aux=True)(*case.given)
    yield from _same(case, values)
    yield from _gradient(case, "gradient", bars)


def _forward(case: Case) -> Iterator[str]:
    values, dots = fg.jvp(case.run, case.given, case.directions)
    yield from _same(case, values)
    out, _, aux = fg.vjp(case.loss, *case.given, has_aux=True)
    yield from _same(case, aux)
    del out, dots
    _, dot = fg.jvp(case.number, case.given, case.directions)
    yield from _close("tangent", float(dot), case.slope, max(case.tolerance, 1e-5))


def _compiled(engine: str) -> Callable[[Case], Iterator[str]]:
    def check(case: Case) -> Iterator[str]:
        (_, values), bars = fg.jit(fg.value_and_grad(case.loss, ARGNUMS, has_aux=True), engine=engine)(*case.given)
        if not case.by_strides and not case.by_rounding:
            yield from _same(case, values, 100.0)
            yield from _gradient(case, "gradient", bars)

    return check


def _on_way(way: Callable[[Case], Any]) -> Callable[[Case], Iterator[str]]:
    """Compute the gradient in another way."""

    def check(case: Case) -> Iterator[str]:
        bars = way(case)
        if not case.by_strides:
            yield from _gradient(case, "gradient", bars)

    return check


def _second(case: Case) -> Iterator[str]:
    """Compute the slope of the gradient along the directions, by each pair of modes."""
    if case.narrow:
        return

    def along(t: float) -> float:
        moved = [x + t * d for x, d in zip(case.given, case.directions, strict=True)]
        return _dot(fg.grad(case.number, ARGNUMS)(*moved), case.directions)

    def paired(x: Any, z: Any) -> Any:
        bars = fg.grad(case.number, ARGNUMS)(x, z)
        return sum(np.sum(bar * d) for bar, d in zip(bars, case.directions, strict=True))

    def pushed(x: Any, z: Any) -> Any:
        return fg.jvp(case.number, (x, z), case.directions)[1]

    slope = differences(along) if case.slope is not None else None
    for name, inner in (("reverse", paired), ("forward", pushed)):
        yield from _close(
            f"reverse of {name}", _dot(fg.grad(inner, ARGNUMS)(*case.given), case.directions), slope, 1e-5
        )
        dot = fg.jvp(inner, case.given, case.directions)[1]
        yield from _close(f"forward of {name}", float(dot), slope, 1e-5)


def _nested(case: Case) -> Iterator[str]:
    """Compute a gradient inside the function, of values that the outer transform traces too."""

    def outer(x: Any, z: Any) -> Any:
        inner = fg.grad(lambda t: case.number(x * t, z * t))(1.0)
        return inner + case.number(x, z) * np.sum(x)

    def along(t: float) -> float:
        return float(outer(*[x + t * d for x, d in zip(case.given, case.directions, strict=True)]))

    if not case.narrow and case.slope is not None:
        got = _dot(fg.grad(outer, ARGNUMS)(*case.given), case.directions)
        yield from _close("nested", got, differences(along), 1e-5)


def _vmap(case: Case) -> Iterator[str]:
    x, z = case.given
    batch = np.stack([x * 0.9, x])
    many = fg.vmap(fg.value_and_grad(case.loss, ARGNUMS, has_aux=True), in_axes=(0, None))
    (_, values), bars = many(batch, z)
    if not case.by_strides:
        yield from _same(case, {name: np.asarray(v)[1] for name, v in values.items()}, 10.0)
        yield from _gradient(case, "gradient", [bar[1] for bar in bars])


def _under_vmap(case: Case) -> Any:
    """Differentiate around a batch in which only one argument has a batch axis."""
    number = fg.vmap(case.number, in_axes=(0, None))
    return fg.grad(lambda x, z: number(np.stack([x, x * 0.9]), z * 1)[0], ARGNUMS)(*case.given)


def _in_branch(case: Case) -> Any:
    """Run the program as a known branch, on arrays that must not change."""

    def number(x: Any, z: Any) -> Any:
        loss = fg.cond(True, case.number, case.number, x, z)
        return loss + np.sum(x) - np.sum(x * 1) + 0 * np.sum(z)

    return fg.grad(number, ARGNUMS)(*case.given)


def _loop(case: Case, looped: Callable[..., Any]) -> Iterator[str]:
    """Run the program as the body of a loop, which also changes the carried values."""

    def body(carry: Any, t: Any, run: Any = None) -> tuple[Any, Any]:
        x, z = carry
        loss = case.loss(x * t, z, run)[0]
        x[...] = np.tanh(x) + loss * 0.01
        z *= 0.9
        return (x, z), loss

    def unrolled(x: Any, z: Any, noise: Any = np.copy) -> Any:
        carry, total = (x, z), 0.0
        run = case.run if noise is np.copy else case.program.function(noise)
        for t in (1.0, 0.5):
            # With noise, numbers that a round has made equal differ in the next one.
            carry, loss = body((noise(carry[0]), noise(carry[1])), t, run)
            total = total + loss
        return total + np.sum(carry[0])

    if not case.by_strides:
        whole = lambda x, z: looped(body, x, z)
        value, expected = float(whole(*case.given)), float(unrolled(*case.given))
        bars, others = fg.grad(whole, ARGNUMS)(*case.given), fg.grad(unrolled, ARGNUMS)(*case.given)
        allowed = 1e2 * case.tolerance
        near = lambda a, b: np.allclose(a, b, rtol=allowed, atol=allowed, equal_nan=case.has_nan)
        found = [] if near(value, expected) else [f"value: {value}, unrolled {expected}"]
        found += [f"gradient: {a}, unrolled {b}" for a, b in zip(bars, others, strict=True) if not near(a, b)]
        if found and not _is_chosen(case, lambda noise: lambda x, z: unrolled(x, z, noise), (expected, *others)):
            yield from found


def _is_chosen(case: Case, function: Callable[[Any], Any], expected: tuple[Any, ...]) -> bool:
    """Return whether the value or the gradient of a function moves far if all new values change in their last places.

    Equal numbers are sorted in this case, and NumPy's sort is not stable.
    """
    noise = Noise(np.random.default_rng(0), 16)
    allowed = 1e-2 if case.narrow else 1e-6
    near = lambda a, b: np.allclose(a, b, rtol=allowed, atol=allowed, equal_nan=case.has_nan)
    for _ in range(8):
        try:
            value, bars = fg.value_and_grad(function(noise), ARGNUMS)(*case.given)
        except (ValueError, TypeError, IndexError):
            return True
        if not all(map(near, expected, (value, *bars))):
            return True
    return False


def _scanned(body: Any, x: Any, z: Any) -> Any:
    carry, losses = fg.scan(body, (x, z), np.array([1.0, 0.5]))
    return np.sum(losses) + np.sum(carry[0])


def _counted(body: Any, x: Any, z: Any) -> Any:
    def step(k: Any, carry: Any) -> Any:
        (x, z), total = carry
        carry, loss = body((x, z), 1.0 - 0.5 * k)
        return carry, total + loss

    carry, total = fg.fori_loop(0, 2, step, ((x, z), 0.0))
    return total + np.sum(carry[0])


CHECKS: dict[str, Callable[[Case], Iterator[str]]] = {
    "eager": _eager,
    "forward": _forward,
    "numpy engine": _compiled("numpy"),
    "xla": _compiled("xla"),
    "graph": _on_way(lambda case: fg.make_graph(fg.grad(case.number, ARGNUMS))(*case.given)(*case.given)),
    "grad of jit": _on_way(lambda case: fg.grad(fg.jit(case.number, engine="numpy"), ARGNUMS)(*case.given)),
    "checkpoint": _on_way(lambda case: fg.grad(fg.checkpoint(case.number), ARGNUMS)(*case.given)),
    "second": _second,
    "nested": _nested,
    "vmap": _vmap,
    "in vmap": _on_way(_under_vmap),
    "branch": _on_way(_in_branch),
    "scan": lambda case: _loop(case, _scanned),
    "fori_loop": lambda case: _loop(case, _counted),
}


def findings(program: Program, report: Report, only: str | None = None) -> list[str]:
    """Return the faults of a program, each with the name of its check."""
    found: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"), fg.full_tracebacks():
        warnings.simplefilter("ignore")
        case = Case(program)
        chosen = Random(f"writes {program.seed}")
        for name, check in CHECKS.items():
            drawn = chosen.random() < WEIGHTS[name]
            if drawn if only is None else name == only:
                report.checks[name] += 1
                found += [f"{name}: {what}" for what in _made(case, name, check, report)]
    report.programs += 1
    return found


def _made(case: Case, name: str, check: Callable[[Case], Iterator[str]], report: Report) -> list[str]:
    before = [x.copy() for x in case.given]
    try:
        found = [what for what in check(case) if not (case.has_nan and _IS_NAN.search(what))]
        slopes = [what for what in found if not what.startswith(KEPT)]
        # Equal numbers may be sorted in another order than NumPy's unstable sort has: other elements are then chosen.
        found = [what for what in found if what not in slopes] if slopes and case.by_rounding else found
    except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
        refusal, bad = judged(error)
        integers = any(np.asarray(v).dtype.kind == "i" for v in case.values.values())
        known = (*REFUSED, *INTO_INTEGERS) if integers else REFUSED
        bad = bad or not any(words in str(error) for words in known)
        found = [f"raised {refusal.error} in {refusal.place}: {refusal.text}"] if bad else []
        if not bad:
            report.refusals[name, refusal.error, f"{refusal.place} {refusal.text[:60]}"] += 1
    changed = [i for i, x in enumerate(before) if not np.array_equal(x, case.given[i])]
    for i in changed:
        case.given[i][...] = before[i]
    return [*found, *[f"input: argument {i} was changed" for i in changed]]


def key_of(what: str) -> str:
    """The settings that stay the same when the program is reduced."""
    return ":".join(what.split(":")[:2])


def shrunk(program: Program, what: str) -> tuple[Program, str]:
    """Return the program without the lines that the finding does not need."""
    name, key = what.split(":", maxsplit=1)[0], key_of(what)
    i = 0
    while i < len(program.lines):
        shorter = Program(program.shapes, (*program.lines[:i], *program.lines[i + 1 :]), program.seed)
        try:
            now = [w for w in findings(shorter, Report(), name) if key_of(w) == key]
        except Exception:  # noqa: BLE001  (NumPy refuses it)
            now = []
        if now:
            program, what = shorter, now[0]
        else:
            i += 1
    return program, what


def checked(seeds: Iterable[int], report: Report, most: int = 12) -> list[tuple[int, str, str]]:
    """Return the findings for these seeds: seed, kind and text, reduced for the first of each kind."""
    found: list[tuple[int, str, str]] = []
    seen: dict[str, int] = {}
    for seed in seeds:
        program = program_of(seed)
        for what in findings(program, report)[:1]:
            key = f"writes: {key_of(what)}"
            seen[key] = seen.get(key, 0) + 1
            least, text = shrunk(program, what) if seen[key] <= most else (program, what)
            found.append((seed, key, f"# {text}\n{least.text()}"))
    return found
