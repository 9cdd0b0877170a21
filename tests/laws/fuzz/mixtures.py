"""Random mixtures of transforms, compared with the same functions written plainly.

A program calls transforms by a namespace ``T``. In one run ``T`` has the library's; in the other one it has plain
Python: a loop for ``scan``, a stack of calls for ``vmap``, the function itself for ``jit`` and ``checkpoint``. There,
derivatives inside the program are computed in the other mode, by columns of a Jacobian.

    def f(x, s, m):
        y = T.checkpoint(lambda v1: np.tanh(T.vmap(lambda v2: v2 * s + v1)(m)[0]))(x)
        return np.sum(y * T.grad(lambda v1: np.sum(T.scan(...)[0]))(y))

Value, derivatives of first and second order, batches and compiled forms must agree.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged

SIZE = 3
# Each program runs eagerly and on the NumPy engine; one in this many on each compiler.
_COMPILED = 15
# Differences beyond this share of the largest number are findings. Programs have derivatives of up to third order.
_CLOSE = 1e-7
# The most characters of a program. Each level of a nest calls the levels inside several times.
_LONGEST = 400


@dataclass(frozen=True)
class Mixture:
    """The source of a function of a vector, a number and a matrix, and of the namespace ``T``."""

    seed: int
    source: str

    def text(self) -> str:
        return f"# tests.laws.fuzz.mixtures.mixture_of({self.seed})\n{self.source}"

    def made(self, transforms: SimpleNamespace) -> Callable[..., Any]:
        scope: dict[str, Any] = {"np": np, "T": transforms}
        exec(compile(self.source, f"<mixtures {self.seed}>", "exec"), scope)
        return scope["f"]

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal(SIZE) * 0.7, np.float64(rng.standard_normal()), rng.standard_normal((SIZE, SIZE))


def mixture_of(seed: int) -> Mixture:
    rng = Random(f"mixtures {seed}")
    lines, body = ["def f(x, s, m):", "    y = x * 0.5 + 0.1"], [" " * _LONGEST]
    while sum(map(len, body)) >= _LONGEST:
        body = [line for _ in range(rng.randint(1, 3)) for line in _statement(rng)]
    result = rng.choice(("np.sum(y * y)", "np.sum(y) * s", "np.sum(np.sin(y) * x) + s", "y[0] * y[1] + np.sum(m * s)"))
    lines += [f"    {line}" for line in _named_once([*body, f"return {result}"])]
    return Mixture(seed, "\n".join(lines) + "\n")


def _named_once(lines: list[str]) -> list[str]:
    """Give each ``y`` and ``s`` a name of its own. A rule that runs later must not read a name that was bound anew."""
    counts, made = {"y": 0, "s": 0}, []
    named = lambda text: re.sub(r"\b[ys]\b", lambda found: f"{found[0]}{counts[found[0]] or ''}", text)
    for line in lines:
        name, is_bound, value = line.partition(" = ")
        if is_bound and name in counts:
            value = named(value)
            counts[name] += 1
            made.append(f"{name}{counts[name]} = {value}")
        else:
            made.append(named(line))
    return made


def _statement(rng: Random) -> list[str]:
    kind = rng.random()
    if kind < 0.6:
        return [f"y = ({_function(rng, 1, ['x', 'y'])})({rng.choice(('x', 'y', 'y * s'))})"]
    if kind < 0.75:
        return [f"g = {_function(rng, 1, ['x', 'y'])}", "y = g(y) + 0.3 * g(x)"]
    if kind < 0.85:
        return [f"y = np.mean(T.vmap({_function(rng, 1, ['x', 'y'])})(m), 0)"]
    if kind < 0.93:
        return ["y = y.copy()", f"y[{rng.choice(('0', '1:', '::2'))}] *= s", f"s = s + 0.1 * {_number(rng, 'y')}"]
    return [f"s = np.tanh(s) * {_number(rng, 'y')}"]


def _number(rng: Random, v: str) -> str:
    return rng.choice((f"np.sum({v})", f"{v}[1]", f"np.mean({v} * {v})", "s", f"np.dot({v}, x)"))


def _vector(rng: Random, outer: Sequence[str]) -> str:
    """Draw a vector of bounded numbers."""
    v, w = rng.choice(outer), outer[-1]
    return rng.choice(
        (
            f"np.tanh({w} * s + {v})",
            f"np.sin({w}) * {v}",
            f"0.5 * {w} + 0.3 * {v} ** 2",
            f"np.tanh(m @ {w}) + 0.1 * {v}",
            f"{w} / (1.0 + np.sum({w} * {w}))",
            f"np.cumsum({w})[::-1] * 0.5",
            f"np.exp(-{w} ** 2) * {_number(rng, v)}",
            f"np.where({w} > 0.2, {w} * 0.3, np.sin({v}))",
        )
    )


def _condition(rng: Random, v: str) -> str:
    return f"{rng.choice((f'np.sum({v})', 's', f'{v}[0]'))} > {rng.choice(('0.0', '0.3', '-0.4'))}"


def _function(rng: Random, depth: int, outer: list[str]) -> str:
    """Draw a function of a vector that returns one. It reads the vectors around it."""
    v = f"v{depth}"
    inside = lambda: _function(rng, depth + 1, [*outer, v])
    if depth > 3 or rng.random() < 0.12 * depth:
        return f"lambda {v}: {_vector(rng, [*outer, v])}"
    return rng.choice(_FORMS)(rng, v, inside, [*outer, v])


def _repeated(rng: Random, v: str, body: str) -> str:
    if rng.random() < 0.6:
        # The library refuses reverse mode of `while_loop`, so this form is rarer.
        return f"lambda {v}: ({body})(({body})({v}))"
    goes_on, goes = "(np.sum(c[0] * c[0]) > 0.5) & (c[1] < 4)", f"(0.5 * ({body})(c[0]) * s, c[1] + 1)"
    return f"lambda {v}: T.while_loop(lambda c: {goes_on}, lambda c: {goes}, ({v}, 0))[0]"


# Each form draws a function of the vector ``v``.
_FORMS: tuple[Callable[[Random, str, Callable[[], str], list[str]], str], ...] = (
    lambda r, v, f, o: f"lambda {v}: {_vector(r, o)}",
    lambda r, v, f, o: f"lambda {v}: ({f()})({_vector(r, o)})",
    lambda r, v, f, o: f"T.{r.choice(('checkpoint', 'jit_numpy', 'jit_paths', 'identity'))}(lambda {v}: ({f()})({v}))",
    lambda r, v, f, o: (
        f"T.jit_xla(lambda {v}: ({f()})({v}))" if r.random() < 0.1 else f"lambda {v}: T.checkpoint({f()})({v})"
    ),
    lambda r, v, f, o: (
        f"lambda {v}: T.custom_{r.choice(('vjp', 'jvp'))}(lambda {v}, s, m: {_vector(r, [v])})({v}, s, m)"
    ),
    lambda r, v, f, o: f"lambda {v}: T.custom_{r.choice(('vjp', 'jvp'))}({f()})({v})",
    lambda r, v, f, o: f"lambda {v}: np.mean(T.vmap({f()})(np.outer({v}, {r.choice(o)})), 0)",
    lambda r, v, f, o: f"lambda {v}: T.vmap(lambda a, b: np.dot(({f()})(a), {v}) * b, (1, None), 0)(m, s)",
    lambda r, v, f, o: f"lambda {v}: T.vmap({f()}, 1, 1)(m) @ {v}",
    lambda r, v, f, o: (
        f"lambda {v}: T.scan(lambda c, r: (np.tanh(({f()})(c) + r), np.sum(c * r)), {v}, m)[{r.choice('01')}]"
    ),
    lambda r, v, f, o: f"lambda {v}: T.scan(lambda c, r: (({f()})(c), c * r), {v}, {r.choice(o)}, True)[1][0]",
    lambda r, v, f, o: f"lambda {v}: T.fori_loop({r.randint(0, 3)}, lambda i, c: ({f()})(c) + 0.1 * i, {v})",
    lambda r, v, f, o: _repeated(r, v, f()),
    lambda r, v, f, o: f"lambda {v}: T.cond({_condition(r, v)}, {f()}, {f()}, {v})",
    lambda r, v, f, o: (
        f"lambda {v}: T.switch((np.sum({v}) > 0).astype(int) + {r.choice('01')}, [{f()}, {f()}, {f()}], {v})"
    ),
    lambda r, v, f, o: f"lambda {v}: T.grad(lambda u: np.sum(({f()})(u) * {r.choice(o)}))({v})",
    lambda r, v, f, o: f"lambda {v}: T.jvp({f()}, {v}, {r.choice(o)})",
    lambda r, v, f, o: f"lambda {v}: T.pulled({f()}, {v}, {r.choice(o)})",
    lambda r, v, f, o: f"lambda {v}: T.linear({f()}, {v}, {r.choice(o)})",
    lambda r, v, f, o: f"lambda {v}: T.hvp(lambda u: np.sum(np.tanh(({f()})(u))), {v}, {r.choice(o)})",
    lambda r, v, f, o: f"lambda {v}: T.jacobian({f()})({v}) @ {r.choice(o)}",
    lambda r, v, f, o: f"lambda {v}: T.associative_scan(lambda a, b: a * b * s, np.tanh(({f()})({v})))",
    lambda r, v, f, o: f"lambda {v}: T.stopped({r.choice(o)}) * ({f()})({v})",
)


def _custom_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    made = fg.custom_vjp(f)
    made.defvjp(lambda *args: (f(*args), args), lambda args, y_bar: fg.vjp(f, *args)[1](y_bar))
    made.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    return made


def _custom_jvp(f: Callable[..., Any]) -> Callable[..., Any]:
    made = fg.custom_jvp(f)
    made.defjvp(lambda primals, tangents: fg.jvp(f, primals, tangents))
    return made


def _linear(f: Callable[..., Any], v: Any, t: Any) -> Any:
    return fg.linearize(f, v)[1](t)


OURS = SimpleNamespace(
    checkpoint=fg.checkpoint,
    identity=lambda f: f,
    jit_numpy=lambda f: fg.jit(f, engine="numpy"),
    jit_paths=lambda f: fg.jit(f, engine="numpy", paths=4),
    jit_xla=fg.jit,
    custom_vjp=_custom_vjp,
    custom_jvp=_custom_jvp,
    vmap=fg.vmap,
    scan=lambda f, init, xs, reverse=False: fg.scan(f, init, xs, reverse=reverse),
    fori_loop=lambda n, body, init: fg.fori_loop(0, n, body, init),
    while_loop=fg.while_loop,
    cond=fg.cond,
    switch=fg.switch,
    grad=fg.grad,
    jvp=lambda f, v, t: fg.jvp(f, (v,), (t,))[1],
    pulled=lambda f, v, t: fg.vjp(f, v)[1](t)[0],
    linear=_linear,
    hvp=lambda f, v, t: fg.hvp(f, (v,), (t,)),
    jacobian=fg.jacrev,
    associative_scan=fg.associative_scan,
    stopped=fg.stop_gradient,
)


def _stacked(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        (count,) = {x.shape[a] for x, a in zip(args, axes, strict=True) if a is not None}
        take = lambda x, a, i: x if a is None else (x[i] if a == 0 else x[:, i])
        results = [f(*[take(x, a, i) for x, a in zip(args, axes, strict=True)]) for i in range(count)]
        return np.stack(results, out_axes)

    return run


def _scan(f: Callable[..., Any], carry: Any, xs: Any, reverse: bool = False) -> Any:
    ys = []
    for i in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, y = f(carry, xs[i])
        ys.append(y)
    return carry, np.stack(ys[::-1] if reverse else ys)


def _fori_loop(n: int, body: Callable[..., Any], c: Any) -> Any:
    for i in range(n):
        c = body(i, c)
    return c


def _while_loop(cond: Callable[..., Any], body: Callable[..., Any], c: Any) -> Any:
    while cond(c):
        c = body(c)
    return c


def _associative_scan(f: Callable[..., Any], x: Any) -> Any:
    made = [x[0]]
    for i in range(1, len(x)):
        made.append(f(made[-1], x[i]))
    return np.stack(made)


def _itself(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


def _columns(f: Callable[..., Any], v: Any, t: Any) -> Any:
    return fg.jacrev(f)(v) @ t


PLAIN = SimpleNamespace(
    checkpoint=_itself,
    identity=_itself,
    jit_numpy=_itself,
    jit_paths=_itself,
    jit_xla=_itself,
    custom_vjp=_itself,
    custom_jvp=_itself,
    vmap=_stacked,
    scan=_scan,
    fori_loop=_fori_loop,
    while_loop=_while_loop,
    cond=lambda p, f, g, *args: f(*args) if p else g(*args),
    switch=lambda i, branches, *args: branches[int(fg.stop_gradient(i))](*args),
    grad=fg.jacfwd,
    jvp=_columns,
    pulled=lambda f, v, t: t @ fg.jacfwd(f)(v),
    linear=_columns,
    hvp=lambda f, v, t: fg.jacfwd(fg.jacrev(f))(v) @ t,
    jacobian=fg.jacfwd,
    associative_scan=_associative_scan,
    stopped=fg.stop_gradient,
)


def _outer(f: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the ways to call a function of a vector, a number and a matrix."""
    gradient = fg.grad(f, (0, 1, 2))
    pushed = lambda g: lambda x, s, m: fg.jvp(lambda x, s: g(x, s, m), (x, s), (x * 0.3 + 1.0, s * 0.5))
    return {
        "value": f,
        "gradient": gradient,
        "tangent": pushed(f),
        "tangent of gradient": pushed(gradient),
        "hessian": fg.hessian(f),
    }


def findings(program: Mixture, report: Report) -> list[str]:
    """Return the differences between the program with transforms and the plain one."""
    report.programs += 1
    args, found = program.arguments(), []
    ours, plain = _outer(program.made(OURS)), _outer(program.made(PLAIN))
    with warnings.catch_warnings(), np.errstate(all="ignore"), fg.full_tracebacks():
        warnings.simplefilter("ignore")
        for name, f in ours.items():
            try:
                expected = fg.tree.leaves(plain[name](*args))
            except Exception as error:  # noqa: BLE001  (a program that is refused plainly is none)
                report.refusals["mixtures: plain", type(error).__name__, str(error)[:60]] += 1
                continue
            for way, run in _ways(program.seed, name, f).items():
                found += _compared(f"{name}, {way}", run, args, expected, report)
        found += _batched(ours, plain, args, report)
    return found


def _ways(seed: int, name: str, f: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    ways: dict[str, Callable[..., Any]] = {"eager": f}
    if name in ("value", "gradient") or seed % 3 == 0:
        ways["jit numpy"] = fg.jit(f, engine="numpy")
    if name in ("gradient", "hessian"):
        ways |= {f"jit {e}": fg.jit(f, engine=e) for k, e in enumerate(("numba", "xla")) if seed % _COMPILED == k}
    return ways


def _batched(ours: Any, plain: Any, args: tuple[Any, ...], report: Report) -> list[str]:
    """Compare batches of three vectors with a call for each."""
    x, s, m = args
    xs, found = np.stack([x, -x, x[::-1] * 0.5]), []
    for name in ("value", "gradient"):
        try:
            each = [plain[name](x, s, m) for x in xs]
            expected = fg.tree.leaves(fg.tree.map(lambda *rows: np.stack(rows), *each))
        except Exception as error:  # noqa: BLE001  (a program that is refused plainly is none)
            report.refusals["mixtures: plain", type(error).__name__, ""] += 1
            continue
        run = fg.vmap(ours[name], (0, None, None))
        found += _compared(f"vmap of {name}", run, (xs, s, m), expected, report)
        found += _compared(f"jit of vmap of {name}", fg.jit(run, engine="numpy"), (xs, s, m), expected, report)
    return found


def _compared(
    name: str, run: Callable[..., Any], args: tuple[Any, ...], expected: list[Any], report: Report
) -> list[str]:
    report.checks[f"mixtures: {name}"] += 1
    try:
        got = fg.tree.leaves(run(*args))
    except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
        refusal, bad = judged(error)
        report.refusals["mixtures", refusal.error, f"{refusal.place} {refusal.text[:60]}"] += not bad
        return [f"{name}: raised {refusal.error} in {refusal.place}: {refusal.text}"] if bad else []
    for a, b in zip(map(np.asarray, got), map(np.asarray, expected), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return [f"{name}: type: {a.dtype}{a.shape} for {b.dtype}{b.shape}"]
        large = max(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
        if not np.allclose(a, b, _CLOSE, _CLOSE * large, equal_nan=True):
            return [f"{name}: value: {a.ravel()[:6]} for {b.ravel()[:6]}"]
    return []
