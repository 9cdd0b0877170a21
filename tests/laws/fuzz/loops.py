"""Random functions with Python loops, rolled and unrolled: the same numbers on each engine, bit for bit on NumPy.

The rounds of a loop do alike, or almost: some programs change a round in the middle, a number, a type, or the array
that is read. Loops stand one after another and in each other; they read and write rows, slices and lists, forward and
backward. One program in three carries vectors, and reads them by elements, slices, index arrays and products
(`carried_of`). `tests.laws.fuzz.windows` has loops over windows and loops that write to slices.

Each program runs by its rolled graph and on the NumPy engine; one in twenty on Numba and XLA too; one in four rolls
before it is differentiated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.rolling import moved
from funcgrad._transforms.base import shortening
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged

ROUNDS = 9
# In so many rounds programs roll before they are differentiated. One program in this many runs them.
_MANY_ROUNDS, _EACH = 30, 4
# A function's program of any length rolls before it is differentiated.
_ANY_LENGTH = 1000
# The NumPy engine runs all programs, and each other engine one in this many: a loop takes Numba seconds to compile.
_ENGINES = (("numpy", 1), ("numba", 20), ("xla", 20))
_VALUES = (
    "v",
    "v * a",
    "np.sin(v)",
    "w",
    "v + w",
    "0.5 * v - w",
    "np.tanh(v * w)",
    "v * 0.9 + 0.1",
    "x[t]",
    "x[t] * v",
)
_ROWS = (
    "x[t]",
    "x[t - 1]",
    "x[-t - 1]",
    "x[n - 1 - t]",
    "m[t, 0]",
    "m[t] @ m[0]",
    "x[2]",
    "np.sum(m[t])",
    "np.sum(m[:, 1])",
)


# How a program reads a vector of four elements, except by products of matrices, whose rounding is not fixed.
_PARTS = (
    "{0}",
    "{0}[::-1]",
    "{0}[1:2]",
    "{0}[0]",
    "{0}[[1, 0, 3, 2]]",
    "{0}[k]",
    "np.sum({0}[None, :] * {0}[:, None], 0)",
)
_PARTS += ("{0} * 0.9", "{0}[1:][[2, 0, 0, 1]]", "{0}[-1:]", "{0}.reshape(2, 2)[:, ::-1].ravel()", "np.roll({0}, 1)")
_PRODUCTS = ("({0}[:2] @ {0}[2:])", "np.outer({0}, {0})[t % 4]", "np.dot({0}, {0}[::-1])")
# Programs with this comment take arrays of this type.
_FLOAT32 = "# float32"
_CARRIED = ("u", "v", "w", "x[t]", "x[t - 1]", "a")


@dataclass(frozen=True)
class Looping:
    """The source of a function of arrays.

    Args:
        seed: the seed.
        source: the source.
        drawn: the module and the function that drew it.
        size: the number of elements of a window, or the shape of the arrays whose slices it writes.
    """

    seed: int
    source: str
    drawn: str = "loops.looping_of"
    size: int | tuple[int, ...] = 4

    def text(self) -> str:
        return f"# tests.laws.fuzz.{self.drawn}({self.seed})\n{self.source}"

    @property
    def exact(self) -> bool:
        """Return whether the order of all sums is fixed: products of matrices and arrays in Fortran order have none."""
        if self._is_fortran:
            return False
        return not any(word in self.source for word in ("@", "np.dot", "np.outer", "jacobian", "hessian"))

    @property
    def _is_fortran(self) -> bool:
        return self.drawn == "states.states_of" and self.seed % 5 == 1

    @property
    def tolerances(self) -> tuple[float, float]:
        """Return the relative and the absolute difference that rounding may make."""
        return (1e-4, 1e-4) if _FLOAT32 in self.source else (1e-9, 1e-12)

    def arguments(self, rounds: int) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        if self.drawn == "windows.windows_of":
            return rng.standard_normal(self.size), *rng.standard_normal((2, 2 * rounds + 20))
        if self.drawn == "windows.slices_of":
            drawn = [rng.standard_normal(self.size) for _ in range(3)]
            return tuple([np.where(rng.random(self.size) < 0.1, -0.0, x) for x in drawn])
        if self.drawn == "loops.carried_of":
            return rng.standard_normal((3, 4)), rng.standard_normal((rounds, 4)), np.float64(rng.standard_normal())
        x, m, a = rng.standard_normal(rounds), rng.standard_normal((rounds, 3)), np.float64(rng.standard_normal())
        if self.drawn != "states.states_of":
            return x, m, a
        if self._is_fortran:
            x, m = x[::-1], np.asfortranarray(m)
        elif self.seed % 5 == 2:
            x, m = [np.where(rng.random(each.shape) < 0.3, -0.0, each) for each in (x, m)]
        return tuple([each.astype(np.float32) for each in (x, m, a)]) if _FLOAT32 in self.source else (x, m, a)

    def made(self, rounds: int = ROUNDS) -> Callable[..., Any]:
        scope: dict[str, Any] = {"np": np, "fg": fg, "n": rounds, "deque": deque, "Namespace": SimpleNamespace}
        exec(compile(self.source, f"<loops {self.seed}>", "exec"), scope)
        return scope["f"]


def looping_of(seed: int) -> Looping:
    rng = Random(seed)
    lines = ["def f(x, m, a):", "    v, w, ys, total = a * 0.5, x[0], [], 0.0", "    y = np.zeros(n, like=x)"]
    lines += ["    z = m * 0.1", "    y[0] = x[0]"]
    for _ in range(rng.randint(1, 3)):
        lines += [f"    {line}" for line in _loop(rng, 0)]
    results = ["v", "w", "total", "np.sum(y * y)", "y[n - 1]", "np.sum(z ** 2)", "np.sum(np.sin(y[1:4]))"]
    lines += ["    if ys:", "        total = total + np.sum(np.stack(ys) ** 2)"]
    return Looping(seed, "\n".join([*lines, f"    return {' + '.join(rng.sample(results, rng.randint(2, 5)))}"]) + "\n")


def carried_of(seed: int) -> Looping:
    """Draw a function of three vectors that loops carry, of rows, and of a number."""
    rng = Random(f"carried {seed}")
    parts = (*_PARTS, *_PRODUCTS, *_PRODUCTS) if rng.random() < 0.3 else _PARTS
    lines = ["def f(carried, x, a):", "    (u, v, w), ys, total, k = carried, [], 0.0, np.array([3, 1, 1, 0])"]
    if rng.random() < 0.4:
        lines += [f"    {name} = {_of_carried(rng, parts, 'x[0]')}" for name in "uvw"]
    for _ in range(1 if rng.random() < 0.8 else 2):
        lines += [f"    for t in {rng.choice(('range(n)', 'range(1, n)', 'range(n - 1, -1, -1)'))}:"]
        lines += [f"        {_carrying(rng, parts)}" for _ in range(rng.randint(1, 3))]
    lines += ["    if ys:", "        total = total + np.sum(np.stack(ys) ** 2)"]
    last = f" + np.sum({_of_carried(rng, parts, 'x[0]')})" if rng.random() < 0.6 else ""
    lines += [f"    return total + np.sum(u + v * 2.0) + np.sum(w) * 0.5{last}"]
    return Looping(seed, "\n".join(lines) + "\n", "loops.carried_of")


def _of_carried(rng: Random, parts: tuple[str, ...], row: str = "") -> str:
    """Draw a vector of four elements, computed from parts of the carried ones."""
    factors = lambda: [rng.choice(parts).format(_carried(rng)) for _ in range(rng.randint(1, 2))]
    terms = [f"0.3 * {' * '.join(factors())}" for _ in range(rng.randint(1, 3))]
    drawn = f"np.tanh({' + '.join(terms)} + 0.1 * np.ones(4))"
    return drawn.replace("x[t - 1]", row).replace("x[t]", row).replace("t % 4", "1") if row else drawn


def _carried(rng: Random) -> str:
    name = rng.choice(_CARRIED)
    return "(a * u)" if name == "a" else name


def _carrying(rng: Random, parts: tuple[str, ...]) -> str:
    """Draw a statement of a loop that carries vectors."""
    kind, value = rng.random(), _of_carried(rng, parts)
    if kind < 0.5:
        return f"{rng.choice('uvw')} = {value}"
    if kind < 0.65:
        return f"u, v, w = {value}, u, v"
    if kind < 0.75:
        return f"u = u.copy(); u[{rng.choice(('0', '1:3', '[2, 0]', 't % 4', '::2', 'k[:1]'))}] = np.sum({value}) * 0.1"
    return f"total = total + np.sum({value})" if kind < 0.88 else f"ys.append({value})"


def _loop(rng: Random, depth: int) -> list[str]:
    ranges = ("range(1, n)", "range(1, n)", "range(n - 1, 0, -1)", "range(1, n - 1)", "range(2, n)", "range(1, n, 2)")
    body: list[str] = []
    for _ in range(rng.randint(1, 4)):
        body += _statement(rng, depth)
    return [f"for t in {rng.choice(ranges)}:", *[f"    {line}" for line in body]]


def _value(rng: Random) -> str:
    first = rng.choice((*_VALUES, *_ROWS))
    return first if rng.random() < 0.5 else f"{first} * {rng.choice(('0.5', 'a', '0.25', 'w', '0.1 * t', '(1.0 / t)'))}"


def _statement(rng: Random, depth: int) -> list[str]:
    if depth < 1 and rng.random() < 0.06:
        inner = [line for _ in range(rng.randint(1, 2)) for line in _statement(rng, depth + 1)]
        return [f"for s in range({rng.randint(4, 6)}):", *[f"    {line}" for line in inner]]
    (statement,) = rng.choices(_STATEMENTS, _WEIGHTS)
    for mark in ("A", "B"):
        statement = statement.replace(mark, _value(rng))
    statement = statement.replace("OP", rng.choice(("+=", "*=", "-="))).replace("WHEN", rng.choice(_WHEN))
    return statement.split("\n")


# A and B are replaced by values, OP by an update, and WHEN by a condition on the round.
_WEIGHTS, _STATEMENTS = zip(
    (22, "v = np.tanh(A + B)"),
    (10, "w, v = v, 0.5 * np.cos(w) + A * 0.1"),
    (10, "total = total + A"),
    (13, "y[t] = A + 0.3 * y[t - 1]"),
    (7, "y[t] OP A"),
    (8, "ys.append(A)"),
    (6, "z[1:-1] = 0.5 * z[:-2] + 0.25 * z[2:] + 0.01 * A"),
    (4, "z[t] = z[t - 1] * 0.5 + A"),
    (4, "z = z @ (np.eye(3) + 0.01 * A)"),
    (2, "z = z @ np.linalg.inv(np.eye(3) + 0.1 * z[:3] @ z[3:6].T) + 0.01 * A"),
    (2, "v = v + 0.1 * np.linalg.slogdet(np.eye(3) * (1.0 + A ** 2) + z[:3].T @ z[:3])[1]"),
    (2, "v = v + 0.1 * np.sum(np.linalg.cholesky(np.eye(3) + z.T @ z) @ z[t]) * B"),
    (5, "v = v + 0.1 * np.stack([z, z * A])[1][2]"),
    (6, "if WHEN:\n    v = A * 0.7"),
    (3, "w = np.sum(y) * 0.1"),
    (2, "w = np.maximum(w, ys[-1]) if ys else w"),
    strict=True,
)
_WHEN = ("t == 4", "t % 2", "t < 3", "t > 6")


def findings(program: Looping, report: Report) -> list[str]:
    """Return the differences between a rolled program and the plain one."""
    f, args = program.made(), program.arguments(ROUNDS)
    report.programs += 1
    wrong = []
    for name, g in _forms(program, f, len(args)).items():
        report.checks[f"loops: {name}"] += 1
        try:
            graph = fg.make_graph(g)(*args)
            expected = fg.tree.leaves(graph(*args))
        except Exception as error:  # noqa: BLE001  (what the plain program refuses is not looked at here)
            report.refusals["loops", type(error).__name__, ""] += 1
            continue
        try:
            rolled = graph.roll()
            fg.extend.check_graph(rolled)
            report.checks["loops: rolled"] += rolled is not graph
            engines = [engine for engine, each in _ENGINES if program.seed % each == 0]
            found = fg.tree.leaves(rolled(*args))
            with pytest.MonkeyPatch.context() as patch:
                _split_all(patch)
                for engine in engines:
                    found += fg.tree.leaves(fg.jit(rolled, engine=engine)(*args))
        except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
            refusal, _ = judged(error)
            wrong.append(f"{name}: raised {refusal.error} in {refusal.place}: {refusal.text}")
            continue
        found += _eager(g, args, expected, report)
        # The first results are NumPy's: evaluated, then compiled. Matrix products may be rounded differently.
        exact = 2 * len(expected) if program.exact else 0
        expected = expected * (len(found) // len(expected))
        wrong += [f"{name}: {text}" for text in _differences(found, expected, exact, program.tolerances)]
    return wrong or (_early_findings(program, report) if program.seed % _EACH == 0 else [])


def _eager(g: Callable[..., Any], args: tuple[Any, ...], expected: list[Any], report: Report) -> list[Any]:
    """Return the results of the function without staging; the expected ones where it is refused."""
    try:
        return fg.tree.leaves(g(*args))
    except Exception as error:
        refusal, bad = judged(error)
        if bad:
            raise
        report.refusals["loops, eager", refusal.error, refusal.place] += 1
        return expected


def _forms(program: Looping, f: Callable[..., Any], count: int) -> dict[str, Callable[..., Any]]:
    """Return the functions that are compared: value and gradient, and another derivative of one program in two."""
    gradient = fg.grad(f, argnums=tuple(range(count)))
    forms: dict[str, Callable[..., Any]] = {"value": f, "gradient": gradient}
    several = lambda *args: fg.vmap(gradient)(*[np.stack([x, x * 0.5, -x]) for x in args])
    others = {
        "tangent": lambda *args: fg.jvp(f, args, tuple([x * 0.3 + 0.1 for x in args]))[1],
        "tangent of gradient": lambda *args: fg.jvp(gradient, args, tuple([x * 0.3 + 0.1 for x in args]))[1],
        "gradient of gradient": fg.grad(lambda *args: sum([np.sum(np.sin(x)) for x in gradient(*args)])),
        "batch of gradients": several,
        "hessian": lambda *args: fg.hessian(lambda p: f(*[x * p[k] for k, x in enumerate(args)]))(np.ones(count)),
        "gradient of a compiled function": fg.grad(fg.jit(f, engine="numpy"), argnums=tuple(range(count))),
    }
    for k, name in enumerate(others):
        if program.seed % (2 * len(others)) == 2 * k:
            forms[name] = others[name]
    return forms


def _split_all(patch: pytest.MonkeyPatch) -> None:
    """Let the NumPy engine split every loop, also where nothing is gained."""
    patch.setattr(moved, "_LEAST_ROUNDS", 2)
    patch.setattr(moved, "_LEAST_SAVED", -1e9)
    patch.setattr(moved, "_CALL", 0.0)


def _early_findings(program: Looping, report: Report) -> list[str]:
    """Return the differences between a program that may roll before it is differentiated, and the plain one."""
    args, wrong = program.arguments(_MANY_ROUNDS), []
    forms = _forms(program, program.made(_MANY_ROUNDS), len(args))
    for name in [each for each in forms if each != "value"]:
        report.checks[f"loops: {name}, rolled early"] += 1
        try:
            expected = fg.tree.leaves(fg.make_graph(forms[name])(*args)(*args))
        except Exception as error:  # noqa: BLE001  (what the plain program refuses is not looked at here)
            report.refusals["loops", type(error).__name__, ""] += 1
            continue
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(shortening, "_EQUATIONS_OF_GRADIENT", _ANY_LENGTH)
                _split_all(patch)
                found = fg.tree.leaves(fg.jit(forms[name], engine="numpy")(*args))
        except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
            refusal, _ = judged(error)
            wrong.append(f"early {name}: raised {refusal.error} in {refusal.place}: {refusal.text}")
            continue
        wrong += [f"early {name}: {text}" for text in _differences(found, expected, 0, program.tolerances)]
    return wrong


def _differences(found: list[Any], expected: list[Any], exact: int, tolerances: tuple[float, float]) -> list[str]:
    """Compare results. The first ``exact`` ones agree to the last bit."""
    wrong = []
    for k, (a, b) in enumerate(zip(map(np.asarray, found), map(np.asarray, expected), strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            wrong.append(f"type {a.dtype}{a.shape} for {b.dtype}{b.shape}")
        elif not (_same_bits(a, b) if k < exact else np.allclose(a, b, *tolerances, equal_nan=True)):
            wrong.append(f"value: result {k} differs by {np.max(np.abs(a - b)):.2e}")
    return wrong


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether the numbers are the same to the last bit. A NaN equals each other NaN."""
    signs = [np.signbit(x) & ~np.isnan(x) for x in (a, b)]
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(signs[0], signs[1])
